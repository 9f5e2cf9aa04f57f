"""Sixteen named workloads: small sets of requests that show one effect each.

They have fixed arrivals, prompts and output lengths; only acceptance is chance, and that is keyed by the seed.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from fairlane.reference.errors import InvalidInstance
from fairlane.reference.model.request import Request

LOW = ("1/5",) * 7
MIDDLE = ("3/5",) * 7
HIGH = ("9/10",) * 7


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """A name, what it shows, and its requests."""

    name: str
    shows: str
    requests: tuple[Request, ...]


def _prompt(id: str, tokens: int, output: int, *, arrival_ms: int = 0, accepts: tuple[str, ...] = MIDDLE) -> Request:
    return Request(id=id, prompt=tokens, limit=4096, output_length=output, arrival_ms=arrival_ms, acceptance=accepts)


def _stream(id: str, output: int, *, arrival_ms: int = 0, accepts: tuple[str, ...] = MIDDLE) -> Request:
    return Request(id=id, prompt=0, limit=4096, output_length=output, arrival_ms=arrival_ms, acceptance=accepts)


def _many(count: int, make: str, *sizes: int, accepts: tuple[str, ...] = MIDDLE) -> tuple[Request, ...]:
    if make == "prompt":
        return tuple(_prompt(f"p{k}", *sizes, accepts=accepts) for k in range(count))
    return tuple(_stream(f"d{k}", *sizes, accepts=accepts) for k in range(count))


def _make() -> Iterable[Workload]:
    def row(name: str, shows: str, *requests: Request) -> Workload:
        return Workload(name=name, shows=shows, requests=requests)

    yield row("solo_prefill", "one long prompt: full graphs against small ones", _prompt("p0", 8192, 32))
    yield row("two_prefills", "two equal long prompts: finish one first or alternate", *_many(2, "prompt", 8192, 32))
    yield row("four_prefills", "four unequal prompts at once", *(_prompt(f"p{k}", 1024 << k, 48) for k in range(4)))
    yield row("prompt_tail", "a tail of one token after full chunks", _prompt("p0", 129, 16))
    yield row(
        "prompt_tails", "tails of several sizes compete", *(_prompt(f"p{t}", t, 16) for t in (65, 129, 257, 4097))
    )
    yield row(
        "solo_decode_low",
        "one stream of low acceptance: deep verification wastes time",
        *_many(1, "s", 96, accepts=LOW),
    )
    yield row(
        "solo_decode_high", "one stream of high acceptance: deep verification pays", *_many(1, "s", 96, accepts=HIGH)
    )
    yield row(
        "five_decodes_low", "five identical streams, batch four against all five", *_many(5, "s", 64, accepts=LOW)
    )
    yield row("five_decodes_high", "five identical streams of high acceptance", *_many(5, "s", 64, accepts=HIGH))
    yield row(
        "heterogeneous_decodes",
        "streams of different acceptance share one width",
        *(_stream(f"d{k}", 80, accepts=q) for k, q in enumerate((LOW, LOW, MIDDLE, MIDDLE, HIGH, HIGH))),
    )
    yield row("prefill_one_decode", "a long prompt against one stream", _prompt("p0", 8192, 32), _stream("d0", 96))
    yield row("prefill_five_decodes", "a long prompt against five streams", _prompt("p0", 8192, 32), *_many(5, "s", 96))
    yield row(
        "mixed_phases",
        "prompts and streams of several sizes at once",
        *(_prompt(f"p{k}", 512 << k, 40, accepts=q) for k, q in enumerate((LOW, MIDDLE, HIGH, MIDDLE))),
        *(_stream(f"d{k}", 64, accepts=q) for k, q in enumerate((HIGH, MIDDLE, LOW, MIDDLE))),
    )
    yield row(
        "delayed_arrivals",
        "prompts that arrive while streams run",
        *_many(3, "s", 128),
        *(_prompt(f"p{k}", 2048, 32, arrival_ms=150 * (k + 1)) for k in range(4)),
    )
    yield row(
        "different_lengths",
        "short and long outputs that nobody can tell apart",
        *(_prompt(f"p{k}", 512, n) for k, n in enumerate((4, 16, 64, 256, 8, 128))),
    )
    yield row(
        "sixteen_requests",
        "sixteen requests of both phases, half of them late",
        *(_prompt(f"p{k}", 256 * (1 + k), 48, arrival_ms=100 * (k // 2)) for k in range(8)),
        *(
            _stream(f"d{k}", 32 + 16 * k, arrival_ms=50 * (k // 4), accepts=q)
            for k, q in enumerate((LOW, MIDDLE, HIGH, MIDDLE) * 2)
        ),
    )


WORKLOADS = tuple(_make())


def workload_names() -> tuple[str, ...]:
    """The names, in the order of tables."""
    return tuple(w.name for w in WORKLOADS)


def workload(name: str) -> Workload:
    """A workload by name.

    Raises
    ------
    InvalidInstance
        No such name; the message lists the names.
    """
    for found in WORKLOADS:
        if found.name == name:
            return found
    raise InvalidInstance(f"workload is {name!r}; need one of {', '.join(workload_names())}")
