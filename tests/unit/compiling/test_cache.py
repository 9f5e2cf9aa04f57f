"""Machine code on disk: never that of older sources, in a place that can be written, and no pile of old folders."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from fairlane.compiling import cache
from tests.import_graph import imports

SOURCES = Path(cache.__file__).parents[1]

CALLEE = """
from fairlane.compiling.flags import {flag}


@{flag}
def grow(x):
    return x + {step}
"""
CALLER = """
from fairlane.compiling.flags import kernel
from fairlane.sample.callee import grow


@kernel
def twice(x):
    return grow(grow(x))
"""
RUN = """
from fairlane.compiling.notice import told
from fairlane.sample.caller import twice

seen = []
with told(seen.append):
    value = twice(1)
print(value, sum(what.begins for what in seen))
"""


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A copy of the package's compiling with two kernels of which one calls the other."""
    root = tmp_path / "copy" / "fairlane"
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(SOURCES / "compiling", root / "compiling", ignore=ignored)
    (root / "__init__.py").touch()
    (root / "sample").mkdir()
    (root / "sample" / "__init__.py").touch()
    (root / "sample" / "caller.py").write_text(CALLER)
    return root


def run(root: Path, home: Path, **more: str) -> tuple[int, int]:
    """What `twice(1)` gives in a new process, and how often a kernel was compiled for it."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("NUMBA_", "XDG_"))}
    environment |= {"PYTHONPATH": str(root.parent), "HOME": str(home), "PYTHONDONTWRITEBYTECODE": "1"} | more
    done = subprocess.run(
        [sys.executable, "-c", RUN], env=environment, capture_output=True, text=True, check=False, cwd=root.parent
    )
    assert done.returncode == 0, done.stderr
    value, compiled = done.stdout.split()
    return int(value), int(compiled)


@pytest.mark.parametrize("flag", ["callee", "inner", "part"])
def test_an_edited_callee_changes_its_cached_caller(package: Path, tmp_path: Path, flag: str) -> None:
    callee = package / "sample" / "callee.py"
    callee.write_text(CALLEE.format(flag=flag, step=1))
    # 1 + 1 + 1, compiled once and then read
    assert run(package, tmp_path) == (3, 1)
    assert run(package, tmp_path) == (3, 0)
    before = callee.stat()
    callee.write_text(CALLEE.format(flag=flag, step=5))
    # not even the times give the change away
    os.utime(callee, ns=(before.st_atime_ns, before.st_mtime_ns))
    # 1 + 5 + 5; with numba's own cache it stays 3
    assert run(package, tmp_path) == (11, 1)
    assert run(package, tmp_path) == (11, 0)


def test_numbas_own_cache_would_keep_the_stale_caller(package: Path, tmp_path: Path) -> None:
    # what the digest is for: the same two files under plain njit
    for name, text in (("callee", CALLEE.format(flag="kernel", step=1)), ("caller", CALLER)):
        text = text.replace("from fairlane.compiling.flags import kernel", "from numba import njit")
        (package / "sample" / f"{name}.py").write_text(text.replace("@kernel", "@njit(cache=True)"))
    assert run(package, tmp_path)[0] == 3
    callee = package / "sample" / "callee.py"
    callee.write_text(callee.read_text().replace("x + 1", "x + 5"))
    assert run(package, tmp_path)[0] == 3


def test_without_a_place_beside_the_sources_the_users_cache_is_taken(package: Path, tmp_path: Path) -> None:
    (package / "sample" / "callee.py").write_text(CALLEE.format(flag="callee", step=1))
    # a file where the folder would be: nobody can write there, the administrator neither
    (package / "sample" / "__pycache__").touch()
    assert run(package, tmp_path) == (3, 1)
    assert len(list((tmp_path / ".cache").rglob("kernels-*"))) == 1
    assert run(package, tmp_path) == (3, 0)
    # nor a folder for the user: every process compiles, and gives the same
    nobody = tmp_path / "file"
    nobody.touch()
    assert [run(package, nobody) for _ in range(2)] == [(3, 1), (3, 1)]


def test_what_was_compiled_beside_the_sources_is_read_by_all(package: Path, tmp_path: Path) -> None:
    (package / "sample" / "callee.py").write_text(CALLEE.format(flag="callee", step=1))
    assert run(package, tmp_path) == (3, 1)
    # another place of one's own comes first, and is empty
    assert run(package, tmp_path, NUMBA_CACHE_DIR=str(tmp_path / "own")) == (3, 0)


def test_of_older_folders_a_few_are_kept(package: Path, tmp_path: Path) -> None:
    callee = package / "sample" / "callee.py"
    for step in range(1, cache.OLDER_KEPT + 4):
        callee.write_text(CALLEE.format(flag="callee", step=step))
        assert run(package, tmp_path)[0] == 1 + 2 * step
    assert len(list((package / "sample" / "__pycache__").glob("kernels-*"))) == cache.OLDER_KEPT + 1


def test_an_unreadable_file_is_compiled_anew(package: Path, tmp_path: Path) -> None:
    (package / "sample" / "callee.py").write_text(CALLEE.format(flag="callee", step=1))
    assert run(package, tmp_path) == (3, 1)
    for file in (package / "sample").rglob("*.nbc"):
        file.write_bytes(file.read_bytes()[:10])
    assert run(package, tmp_path) == (3, 1)


def test_kernels_import_nothing_that_their_digest_does_not_cover() -> None:
    found = [i for i in imports(SOURCES.parent) if "kernels" in i.module.split(".")]
    assert len({i.module.rpartition(".")[0] for i in found}) >= 4, "the folders of kernels"
    for one in found:
        folder = one.module[: one.module.index("kernels") + len("kernels")]
        for target in one.targets:
            # numba itself only through the decorators, whose cache has the digest
            assert not target.startswith("numba"), one
            if target.startswith("fairlane."):
                assert target.startswith((f"{folder}.", "fairlane.compiling.")), one
