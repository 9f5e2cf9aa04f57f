"""The command line starts fast because nothing heavy is imported for help."""

from __future__ import annotations

import subprocess
import sys

HEAVY = ("numpy", "scipy", "numba", "sympy", "z3", "cvxpy", "matplotlib", "networkx", "flint", "rich")


def test_help_imports_no_heavy_package() -> None:
    program = (
        "import sys; from fairlane.cli import run; status = run(['--help']); "
        f"print(status, [m for m in {HEAVY!r} if m in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "0 []"
    assert "verify" in done.stdout


def test_no_arguments_print_the_help() -> None:
    done = subprocess.run([sys.executable, "-m", "fairlane"], capture_output=True, text=True, check=False)
    assert done.returncode == 0
    assert "Usage: fairlane" in done.stdout
