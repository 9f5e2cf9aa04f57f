"""The picture of the architecture page: layers, their rooms, and the life of one instance through them.

``python docs/architecture_picture.py`` draws `_static/architecture.svg` anew. Layers come from the import contract, so
the picture cannot show an order that the code does not have; a test says where the file is not what is drawn here.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from fairlane.pictures.svg import BLACK, BLUE, FONT, GREY, VERMILLION, safe

DOCS = Path(__file__).parent
FILE = DOCS / "_static" / "architecture.svg"

WIDTH = 1060
LEFT = 130
GAP = 8
ROW = 30


class Room(NamedTuple):
    """A part of a layer: its name, and the steps of an instance's life that happen there."""

    name: str
    steps: tuple[int, ...] = ()
    prices_age: bool = False


# rows of rooms by layer, from what the contract calls the top
ROOMS: dict[str, tuple[tuple[Room, ...], ...]] = {
    "cli": ((Room("verify, solve, evaluate, check, export, simulate, ...", (1, 9)),),),
    "testing": ((Room("assert_within, instances: for users' own test suites"),),),
    "proofs": ((Room("identities"), Room("claims: the engine behind the notes")),),
    "pictures": ((Room("decision graphs, timelines, reports, Perfetto"),),),
    "simulator": (
        (Room("event loop, draws, ledger"), Room("replay", (8,)), Room("traces"), Room("metrics"), Room("learning")),
    ),
    "search": ((Room("counterexamples: propose, enumerate, minimise"),),),
    "policies": ((Room("one file a policy: what is decided in a view", (7,)),),),
    "oracle": (
        (Room("batch"), Room("policy_value", (7,)), Room("average"), Room("explicit"), Room("certificate", (6,))),
        (
            Room("problem, backends, solve", (3, 5)),
            Room("rational", (4,)),
            Room("sweeps", (4,)),
            Room("kernels", (4,), True),
            Room("encoding", (4,)),
        ),
    ),
    "suite": ((Room("bundled instances"),),),
    "reference": (
        (
            Room("model/pricing", (), True),
            Room("model: graph, request, objective, state, step, codec", (2,)),
            Room("prefill"),
            Room("allocation"),
            Room("checker", (6,), True),
        ),
    ),
    "compiling": ((Room("flags of compiled code, its cache, and the notice while it is made"),),),
}

LIFE = (
    "A command names a file.",
    "The codec reads it exactly; the data classes check it.",
    "It becomes a problem, and the first backend that takes it is asked.",
    "The backend sweeps backwards: in rationals, or packed and compiled.",
    "Its table answers for any state: value, bounds, best actions.",
    "A certificate of the table is judged by a checker that shares no code.",
    "A policy decides in the same states; its losses sum to its gap.",
    "The simulator, replayed over every outcome, gives the same value.",
    "The command prints the value with its evidence.",
)


def layers() -> tuple[str, ...]:
    """The layers of the import contract, the top one first."""
    contracts = tomllib.loads((DOCS.parent / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]
    (ordered,) = (c["layers"] for c in contracts["contracts"] if c["type"] == "layers")
    return tuple(name.removeprefix("fairlane.") for name in ordered)


def _text(x: float, y: float, text: str, *, size: int = 13, fill: str = BLACK, more: str = "") -> str:
    return f'<text x="{x:g}" y="{y:g}" font-size="{size}" fill="{fill}" {more}>{safe(text)}</text>'


def _mark(x: float, y: float, step: int) -> str:
    number = f'<text x="{x:g}" y="{y + 4:g}" font-size="11" fill="#fff" text-anchor="middle">{step}</text>'
    return f'<circle cx="{x:g}" cy="{y:g}" r="9" fill="{BLUE}"/>{number}'


def _row(rooms: tuple[Room, ...], top: float) -> Iterator[str]:
    free = WIDTH - LEFT - 12 - GAP * (len(rooms) - 1)
    # a room is as wide as what stands in it, and what is left over is shared
    needs = [7.2 * len(room.name) + 22 * len(room.steps) + 24 for room in rooms]
    spare = (free - sum(needs)) / len(rooms)
    assert spare >= 0, [room.name for room in rooms]
    x = float(LEFT)
    for room, need in zip(rooms, needs, strict=True):
        width = need + spare
        edge, thick = (VERMILLION, 2.5) if room.prices_age else (GREY, 1)
        yield (
            f'<rect x="{x:g}" y="{top:g}" width="{width:g}" height="{ROW - 6}" rx="4" fill="#fff" '
            f'stroke="{edge}" stroke-width="{thick}"/>'
        )
        yield _text(x + 10, top + 16, room.name)
        for k, step in enumerate(reversed(room.steps)):
            yield _mark(x + width - 14 - 22 * k, top + (ROW - 6) / 2, step)
        x += width + GAP


def picture() -> str:
    """The whole SVG."""
    parts: list[str] = []
    y = 14.0
    for layer in layers():
        rows = ROOMS[layer]
        height = ROW * len(rows) + 10
        parts.append(f'<rect x="6" y="{y:g}" width="{WIDTH - 12}" height="{height}" rx="6" fill="#f4f6f8"/>')
        parts.append(_text(18, y + height / 2 + 5, layer, size=14, more='font-weight="600"'))
        for k, row in enumerate(rows):
            parts += _row(row, y + 8 + ROW * k)
        y += height + 6
    arrow = WIDTH - 3
    parts.append(_text(18, y + 16, "A layer imports only from layers below it.", fill=GREY))
    parts.append(
        f'<path d="M{arrow} 20 V{y - 12:g} m-4 -8 l4 8 l4 -8" fill="none" stroke="{GREY}" stroke-width="1.5"/>'
    )
    frame = f'<rect x="{LEFT + 330}" y="{y + 5:g}" width="22" height="14" rx="3" fill="#fff" '
    parts.append(frame + f'stroke="{VERMILLION}" stroke-width="2.5"/>')
    parts.append(_text(LEFT + 360, y + 16, "an age price is computed, compiled and checked here", fill=GREY))
    y += 38
    half = (len(LIFE) + 1) // 2
    for k, line in enumerate(LIFE):
        x, at = (18.0, y + 24 * k) if k < half else (WIDTH / 2 + 8, y + 24 * (k - half))
        parts.append(_mark(x + 9, at, k + 1))
        parts.append(_text(x + 26, at + 5, line))
    bottom = y + 24 * half + 4
    body = "\n".join(parts)
    title = "Layers of fairlane and the life of one instance through them"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH + 6} {bottom:g}" font-family="{safe(FONT)}" '
        f'role="img" aria-label="{title}">\n<title>{title}</title>\n'
        f'<rect width="{WIDTH + 6}" height="{bottom:g}" fill="#fff"/>\n{body}\n</svg>\n'
    )


if __name__ == "__main__":
    FILE.write_text(picture(), encoding="utf-8")
