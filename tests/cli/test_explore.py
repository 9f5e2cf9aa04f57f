"""``fairlane explore``: one page, whole or not at all, and one line where it cannot be."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fairlane.cli import run
from fairlane.oracle.policy_value.decision_book import decision_book

INSTANCE = {
    "graphs": [{"name": "p", "duration_ms": 4, "prefill_capacity": 256}],
    "requests": [{"id": "</script><b>", "prompt": 300, "limit": 1}],
    "objective": {"decode_value": 4, "time_price": "1/3"},
}


def test_the_page_is_self_contained_and_the_same_every_time(tmp_path: Path) -> None:
    (tmp_path / "it.json").write_text(json.dumps(INSTANCE))
    for name in ("a.html", "b.html"):
        assert run(["explore", str(tmp_path / "it.json"), "--html", str(tmp_path / name)]) == 0
    text = (tmp_path / "a.html").read_text(encoding="utf-8")
    assert text == (tmp_path / "b.html").read_text(encoding="utf-8")
    assert "http" not in text.replace("http-equiv", "")
    assert text.count("</script>") == 2, "a name cannot end the data"
    # 300 + 4 - 8/3
    assert '"904/3"' in text


def test_an_instance_too_large_for_a_page_is_refused_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(decision_book, "__kwdefaults__", {**(decision_book.__kwdefaults__ or {}), "max_pages": 1})
    file = tmp_path / "it.json"
    file.write_text(json.dumps(INSTANCE))
    assert run(["explore", str(file), "--html", str(tmp_path / "big.html")]) == 1
    said = capsys.readouterr().err.strip()
    assert "\n" not in said
    assert "more than 1 situations" in said
    assert not (tmp_path / "big.html").exists()
