"""A claim's code can end its own claim in any way it likes, and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from fairlane.proofs.claims.status import Colour
from tests.claim_texts import checked, claim_text, entry

SIDE = """
import fractions
import os
import signal
import sys
import threading


class Odd(BaseException):
    pass


def patches():
    fractions.Fraction.__eq__ = lambda self, other: True
    return fractions.Fraction(1) == fractions.Fraction(2)


def odd():
    raise Odd("a base exception")


def closes():
    raise GeneratorExit


def interrupts():
    raise KeyboardInterrupt


def exits():
    sys.exit(0)


def leaves():
    os._exit(0)


def killed():
    os.kill(os.getpid(), signal.SIGKILL)


def silences():
    sys.stdout = sys.stderr = None
    os.close(1)
    os.close(2)
    raise ValueError("nothing to print to")


def recurses():
    return recurses()


def hangs():
    while True:
        pass


def lingers():
    threading.Thread(target=hangs).start()
    return True
"""

RED = ("odd", "closes", "interrupts", "exits", "leaves", "killed", "silences", "recurses", "hangs")


@pytest.mark.parametrize("n_processes", [1, 2])
def test_however_a_claim_ends_it_is_red_and_the_others_stand(
    n_processes: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "claim_ends.py").write_text(SIDE)
    texts = [claim_text("exact", "patches()", claim_id="patches", import_="claim_ends:patches")]
    for name in RED:
        texts.append(claim_text("exact", f"{name}() == 1", claim_id=name, import_=f"claim_ends:{name}"))
        texts.append(claim_text("exact", "Fraction(1) == Fraction(2)", claim_id=f"after-{name}"))
    texts.append(claim_text("exact", "lingers()", claim_id="lingers", import_="claim_ends:lingers"))
    (tmp_path / "note.md").write_text("# Note\n\n" + "\n".join(texts), encoding="utf-8")
    report = checked(tmp_path, n_processes=n_processes, limit_s=5.0)
    assert [entry.claim.id for entry in report.entries if entry.colour is not Colour.RED] == ["patches", "lingers"]
    said = {name: entry(report, name).summary for name in RED}
    assert "Odd: a base exception" in said["odd"]
    assert "KeyboardInterrupt" in said["interrupts"]
    assert "ended with status 0 before it had an outcome" in said["leaves"]
    assert "ended with status -9" in said["killed"]
    assert "no end within the time limit of 5 s" in said["hangs"]
    assert not any("\n" in text for text in said.values())
