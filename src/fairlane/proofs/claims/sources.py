"""What a claim's evidence is made from: the source of every module it imports, files it reads, package versions.

Imports are read from the source text, transitively, inside fairlane and inside the user's own folders; everything
else counts by its version. Nothing is imported. What only a run shows, such as data that imported code opens or
modules imported by a computed name, is noted by that run and compared afterwards.
"""

from __future__ import annotations

import ast
import hashlib
import importlib.metadata
import json
import os
import shlex
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from fairlane.proofs.claims.cache import FOLDER
from fairlane.proofs.claims.claim import Claim, Kind
from fairlane.proofs.claims.kinds import spec_of
from fairlane.proofs.claims.program_names import import_targets, proof_module
from fairlane.proofs.claims.tracing import Reads
from fairlane.reference.errors import InvalidInstance

# Import names that differ from the name of the distribution.
_DISTRIBUTIONS = {
    "z3": "z3-solver",
    "flint": "python-flint",
    "markdown_it": "markdown-it-py",
    "mdit_py_plugins": "mdit-py-plugins",
    "yaml": "pyyaml",
}
# What runs in processes of its own, which no import statement shows.
_SOLVING = ("fairlane.proofs.claims._solver_worker", "z3", "cvc5")
_HIDDEN = {
    Kind.FORALL: _SOLVING,
    Kind.INDUCTION: _SOLVING,
    Kind.PROOF: _SOLVING,
}
# What runs every claim; a claim's own modules are loaded beside it.
_ENGINE = ("fairlane.proofs.claims.running", "fairlane.proofs.claims.program")
SCHEMA = 2


class Sources:
    """Digests of modules, with what each imports; every file is read once a run.

    Parameters
    ----------
    package : Path
        The folder of the ``fairlane`` package.
    roots : sequence of Path
        Folders of the user's own modules.
    known_imports : mapping
        Module names by digest of a source text, from an earlier run; saves parsing.
    """

    def __init__(self, *, package: Path, roots: Sequence[Path], known_imports: Mapping[str, Sequence[str]]) -> None:
        self.package = package
        self.roots = tuple(roots)
        self.known_imports = dict(known_imports)
        self.seen_imports: dict[str, tuple[str, ...]] = {}
        self._modules: dict[str, tuple[str, tuple[str, ...]] | None] = {}
        self._closures: dict[tuple[str, ...], dict[str, str]] = {}
        self._versions: dict[str, str] = {}
        self._files: dict[Path, str] = {}
        self._now: dict[str, str] = {}

    def find(self, module: str) -> Path | None:
        """The file of a module of ours or the user's, or None."""
        parts = module.split(".")
        bases = (self.package.parent,) if parts[0] == self.package.name else self.roots
        for base in bases:
            path = base.joinpath(*parts)
            for file in (path.with_suffix(".py"), path / "__init__.py"):
                if file.is_file():
                    return file
        return None

    def module(self, name: str) -> tuple[str, tuple[str, ...]] | None:
        """A module's digest and the modules it names, or None where it is not ours."""
        if name not in self._modules:
            file = self.find(name)
            self._modules[name] = self._read(name, file) if file is not None else None
        return self._modules[name]

    def _read(self, name: str, file: Path) -> tuple[str, tuple[str, ...]]:
        text = file.read_bytes()
        digest = hashlib.sha256(text).hexdigest()
        # The same text means other modules in another place where it imports relatively.
        label = f"{digest}:{name if file.name != '__init__.py' else name + '.'}"
        known = self.known_imports.get(label)
        found = tuple(known) if known is not None else imports_of(text, name, is_package=file.name == "__init__.py")
        self.seen_imports[label] = found
        return digest, found

    def closure(self, modules: Iterable[str]) -> dict[str, str]:
        """Digests of modules of ours and versions of the others, of these and of everything they import.

        A package that is only passed through on the way to a module counts by its own text; its imports matter only
        where the package itself is imported.
        """
        start = tuple(sorted(set(modules)))
        if start in self._closures:
            return self._closures[start]
        result: dict[str, str] = {}
        waiting = list(start)
        followed: set[str] = set()
        while waiting:
            name = waiting.pop()
            if name in followed:
                continue
            followed.add(name)
            found = self.module(name)
            if found is None:
                top = name.split(".")[0]
                if top not in sys.stdlib_module_names and top != self.package.name and self.find(top) is None:
                    result[top] = self.version(top)
                continue
            result[name] = found[0]
            waiting.extend(found[1])
            parts = name.split(".")
            for i in range(1, len(parts)):
                parent = self.module(".".join(parts[:i]))
                if parent is not None:
                    result[".".join(parts[:i])] = parent[0]
        self._closures[start] = result
        return result

    def version(self, top: str) -> str:
        """The installed version of the package that provides a module, "absent" without one."""
        if top not in self._versions:
            try:
                self._versions[top] = importlib.metadata.version(_DISTRIBUTIONS.get(top, top))
            except importlib.metadata.PackageNotFoundError:
                self._versions[top] = "absent"
        return self._versions[top]

    def file(self, path: Path) -> str:
        """A file's digest, "absent" without one."""
        if path not in self._files:
            try:
                self._files[path] = hashlib.sha256(path.read_bytes()).hexdigest()
            except OSError:
                self._files[path] = "absent"
        return self._files[path]

    def reads(self, seen: Reads, known: Mapping[str, str]) -> dict[str, str]:
        """Labels of what a claim's code was seen to read, beyond the modules that are known already, as they are now.

        Files of the interpreter and of installed packages count by the packages' versions, and what lies in hidden or
        temporary folders is nobody's evidence.
        """
        labels: list[str] = []
        for name in seen.modules:
            if self.find(name) is not None:
                labels += [f"module {name}"] if name not in known else []
            elif name.split(".")[0] not in sys.stdlib_module_names:
                top = name.split(".")[0]
                labels += [f"version {top}"] if top not in known and self.version(top) != "absent" else []
        labels += [f"file {self._spell(path)}" for path in seen.files if self._counts(path, files=True)]
        labels += [f"folder {self._spell(path)}" for path in seen.folders if self._counts(path, files=False)]
        found = {label: self.now(label) for label in dict.fromkeys(labels)}
        # the value that was seen, not the one of this process
        for name, value in seen.environment:
            found[f"variable {name}"] = _shown(value)
        return found

    def now(self, label: str) -> str:
        """What a label of :meth:`reads` stands for at present."""
        if label not in self._now:
            kind, _, name = label.partition(" ")
            if kind == "module":
                self._now[label] = _digest(sorted(self.closure((name,)).items()))
            elif kind == "version":
                self._now[label] = self.version(name)
            elif kind == "variable":
                self._now[label] = _shown(os.environ.get(name))
            elif kind == "folder":
                self._now[label] = _listing(self._unspell(name))
            else:
                self._now[label] = self.file(self._unspell(name))
        return self._now[label]

    def _counts(self, path: str, *, files: bool) -> bool:
        file = Path(path)
        if files and (file.suffix in (".py", ".pyc", ".nbi", ".nbc", ".so") or "__pycache__" in file.parts):
            return False  # code counts as a module, by its text
        if any(file.is_relative_to(base) for base in (self.package, *self.roots)):
            return FOLDER not in file.parts
        outside = (sys.prefix, sys.base_prefix, tempfile.gettempdir(), "/proc", "/dev", "/sys", "/etc", "/usr")
        return not any(file.is_relative_to(base) for base in outside) and not any(
            part.startswith(".") for part in file.parts
        )

    def _spell(self, path: str) -> str:
        """A path from the folder it lies in, so that a checkout can be moved."""
        for i, base in enumerate((self.package, *self.roots)):
            if Path(path).is_relative_to(base):
                return f"{i}:{Path(path).relative_to(base).as_posix()}"
        return path

    def _unspell(self, name: str) -> Path:
        number, colon, rest = name.partition(":")
        bases = (self.package, *self.roots)
        return bases[int(number)] / rest if colon and number.isdigit() and int(number) < len(bases) else Path(name)

    def inside(self, package: str) -> tuple[str, ...]:
        """Every module directly in a package of ours, for code that picks one by name."""
        file = self.find(package)
        if file is None:
            return ()
        return tuple(f"{package}.{path.stem}" for path in sorted(file.parent.glob("*.py")) if path.stem != "__init__")


def imports_of(text: bytes, module: str, *, is_package: bool) -> tuple[str, ...]:
    """Names that a source text may import, wherever in it the statement stands.

    ``from a import b`` gives both ``a`` and ``a.b``; names that are no modules are dropped when they are looked up.
    """
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return ()
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parts = module.split(".")
                keep = len(parts) - node.level + (1 if is_package else 0)
                base = ".".join([*parts[: max(keep, 0)], *([base] if base else [])])
            if base:
                found.add(base)
                found.update(f"{base}.{alias.name}" for alias in node.names)
    return tuple(sorted(found))


def roots_of(claim: Claim, sources: Sources) -> tuple[tuple[str, ...], tuple[Path, ...]]:
    """Modules and files that a claim's evidence starts from."""
    modules = [*_ENGINE, spec_of(claim.kind).module, *_HIDDEN.get(claim.kind, ())]
    files: list[Path] = []
    for option in claim.options:
        value = option.value.strip()
        if option.name in ("import", "sampler", "callable"):
            modules += import_targets(value)
        elif option.name == "policy":
            modules += import_targets(value) if ":" in value else sources.inside("fairlane.policies")
        elif option.name == "module":
            modules.append(proof_module(value))
        elif option.name == "table" or (option.name == "instance" and not value.startswith("{")):
            files.append(claim.folder / value)
        elif option.name == "command":
            modules += _command_modules(value)
        elif option.name == "depends":
            for name in value.replace(",", " ").split():
                if sources.find(name) is not None:
                    modules.append(name)
                else:
                    files.append(claim.folder / name)
    return tuple(modules), tuple(files)


def _command_modules(command: str) -> tuple[str, ...]:
    try:
        words = shlex.split(command)
    except ValueError:
        return ()
    if len(words) > 1 and words[0] == "fairlane":
        return (f"fairlane.cli.{words[1].replace('-', '_')}",)
    if len(words) > 2 and words[:2] == ["python", "-m"]:
        return (words[2], f"{words[2]}.__main__")
    return ()


def _digest(parts: object) -> str:
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def _shown(value: str | None) -> str:
    # a variable may hold a secret, and the cache is a plain file
    return "unset" if value is None else _digest(value)


def _listing(folder: Path) -> str:
    try:
        names = sorted(entry.name for entry in folder.iterdir() if entry.name not in (FOLDER, "__pycache__"))
    except OSError:
        return "absent"
    return _digest(names)


def modules_known(claim: Claim, sources: Sources) -> dict[str, str]:
    """Digests of the modules and versions of the packages that a claim's key holds."""
    try:
        modules, _ = roots_of(claim, sources)
    except InvalidInstance:
        return {}
    return sources.closure(modules)


def key_of(claim: Claim, parents: Mapping[str, str], sources: Sources) -> str:
    """Digest of everything an outcome depends on.

    Parameters
    ----------
    claim : Claim
        Counted by its text.
    parents : mapping
        Statement digests of the claims it uses, by id; their results do not count.
    sources : Sources
        Where modules and files are looked up.
    """
    try:
        modules, files = roots_of(claim, sources)
    except InvalidInstance:
        modules, files = (), ()
    parts = [
        SCHEMA,
        claim.content,
        sorted(parents.items()),
        sorted(sources.closure(modules).items()),
        [[file.name, sources.file(file)] for file in files],
        list(sys.version_info[:3]),
    ]
    return _digest(parts)
