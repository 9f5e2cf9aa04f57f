"""Who imports whom in a source tree, function-level and type-only imports included, read from the syntax."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import networkx


@dataclass(frozen=True, slots=True, kw_only=True)
class Import:
    """One import statement; `targets` are modules, `explained` says that a comment stands on it or just above."""

    module: str
    line: int
    targets: tuple[str, ...]
    in_function: bool
    explained: bool


def modules(source: Path) -> dict[str, Path]:
    """Files of a source folder by the module's dotted name."""
    found = {}
    for path in sorted(source.rglob("*.py")):
        parts = path.relative_to(source).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imports(source: Path) -> Iterator[Import]:
    """Every import statement below a source folder."""
    files = modules(source)
    for module, path in files.items():
        text = path.read_text(encoding="utf-8")
        lines = text.splitlines()
        for node, in_function in _statements(ast.parse(text), in_function=False):
            if isinstance(node, ast.Import):
                targets = tuple(alias.name for alias in node.names)
            else:
                assert node.level == 0, f"{module}:{node.lineno} is relative"
                assert node.module is not None
                names = [f"{node.module}.{alias.name}" for alias in node.names]
                targets = tuple(dict.fromkeys(name if name in files else node.module for name in names))
            yield Import(
                module=module,
                line=node.lineno,
                targets=targets,
                in_function=in_function,
                explained=_explained(lines, node),
            )


def import_graph(source: Path) -> networkx.DiGraph[str]:
    """An edge from each module of the tree to each module of the tree that it names in an import."""
    graph: networkx.DiGraph[str] = networkx.DiGraph()
    files = modules(source)
    graph.add_nodes_from(files)
    for found in imports(source):
        graph.add_edges_from((found.module, target) for target in found.targets if target in files)
    graph.remove_edges_from(list(networkx.selfloop_edges(graph)))
    return graph


def circles(source: Path) -> list[list[str]]:
    """Modules that import one another, one list a circle."""
    return [sorted(part) for part in networkx.strongly_connected_components(import_graph(source)) if len(part) > 1]


def _statements(node: ast.AST, *, in_function: bool) -> Iterator[tuple[ast.Import | ast.ImportFrom, bool]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import | ast.ImportFrom):
            yield child, in_function
        else:
            inside = in_function or isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
            yield from _statements(child, in_function=inside)


def _explained(lines: list[str], node: ast.stmt) -> bool:
    """A comment on the statement, or above it with nothing but other imports between."""
    assert node.end_lineno is not None
    if any("#" in line for line in lines[node.lineno - 1 : node.end_lineno]):
        return True
    for line in reversed(lines[: node.lineno - 1]):
        text = line.strip()
        if text.startswith("#"):
            return True
        if not text.startswith(("import ", "from ")):
            return False
    return False
