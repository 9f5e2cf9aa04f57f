"""Reading Storm's DRN text format: Markov decision processes and chains with exact numbers."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction

from fairlane.oracle.explicit.explicit_model import Choice, ExplicitModel
from fairlane.reference.atomic_write import PathLike
from fairlane.reference.errors import DataError, InvalidInstance
from fairlane.reference.exact import parse_long, parse_number, show
from fairlane.reference.model.codec import read_text
from fairlane.reference.model.state import ZERO

NEAR = Fraction(1, 10**8)
HEADERS = ("@type", "@value_type", "@parameters", "@reward_models", "@nr_states", "@nr_choices", "@model")


@dataclass(slots=True)
class _State:
    reward: Fraction
    labels: tuple[str, ...]
    choices: list[tuple[str, Fraction, dict[int, Fraction]]] = field(default_factory=list)


def read_drn(path: PathLike, *, reward: str | None = None, goal: str = "done", exact: bool = True) -> ExplicitModel:
    """A model from a DRN file.

    Parameters
    ----------
    path : path-like
        The file.
    reward : str or None
        Which reward model; without it "net" where there is one of that name, otherwise the first. A state's own
        reward counts once for every choice taken there.
    goal : str
        The label of the states that end an episode; a state without it that only loops is final too.
    exact : bool
        True asks for probabilities that sum to exactly 1; False allows 1e-8, as in files written from doubles, and
        divides by the sum.

    Returns
    -------
    ExplicitModel
        Exact numbers, as written.

    Raises
    ------
    DataError
        Not DRN, or an unsupported kind of model; the message has the line.
    """
    text = read_text(path)
    lines = [(n, line.split("//")[0].rstrip()) for n, line in enumerate(text.splitlines(), 1)]
    header, body = _header(str(path), [(n, line) for n, line in lines if line.strip()])
    kind = " ".join(header.get("@type", [])).lower()
    if kind not in ("mdp", "dtmc"):
        raise DataError(f"{path}: @type is {kind or 'missing'}; need MDP or DTMC")
    rewards = " ".join(header.get("@reward_models", [])).split()
    if reward is not None and reward not in rewards:
        raise DataError(f"{path}: reward model {reward!r} is not among {', '.join(rewards) or 'none'}")
    wanted = reward if reward is not None else "net" if "net" in rewards else None
    which = 0 if wanted is None else rewards.index(wanted)
    states = _states(str(path), body, which, len(rewards))
    declared = " ".join(header.get("@nr_states", []))
    if declared != str(len(states)):
        raise DataError(f"{path}: @nr_states is {declared or 'missing'}, and {len(states)} states are listed")
    return _model(str(path), states, rewards[which] if rewards else "net", goal, ZERO if exact else NEAR)


def _header(path: str, lines: list[tuple[int, str]]) -> tuple[dict[str, list[str]], list[tuple[int, str]]]:
    header: dict[str, list[str]] = {}
    current: str | None = None
    for k, (n, line) in enumerate(lines):
        stripped = line.strip()
        if stripped.startswith("@"):
            name, _, rest = stripped.partition(":")
            name = name.strip().split()[0]
            if name not in HEADERS:
                raise DataError(f"{path}:{n}: unknown header {name}; known ones are {', '.join(HEADERS)}")
            current = name
            header[name] = [rest.strip()] if rest.strip() else []
            if name == "@model":
                return header, lines[k + 1 :]
        elif current is None:
            raise DataError(f"{path}:{n}: {stripped[:40]!r} stands before any header; need a DRN file")
        else:
            header[current].append(stripped)
    raise DataError(f"{path}: @model is missing; need a DRN file")


def _number(text: str, path: str, n: int) -> Fraction:
    # a model's own numbers may be longer than an instance's
    exact = parse_long(text)
    if exact is not None:
        return exact
    try:
        return parse_number(text, f"{path}:{n}: value")
    except InvalidInstance as error:
        raise DataError(str(error)) from None


def _bracketed(words: str, path: str, n: int, which: int, n_rewards: int) -> tuple[Fraction, str]:
    """A leading ``[a, b]`` as the wanted reward, and the rest."""
    rest = words.strip()
    if not rest.startswith("["):
        return ZERO, rest
    inside, closed, rest = rest[1:].partition("]")
    parts = [p for p in inside.replace(",", " ").split() if p]
    if not closed or len(parts) != n_rewards:
        raise DataError(f"{path}:{n}: {len(parts)} rewards in brackets; need {n_rewards}, one a reward model")
    return (_number(parts[which], path, n) if parts else ZERO), rest.strip()


def _states(path: str, body: list[tuple[int, str]], which: int, n_rewards: int) -> list[_State]:
    states: list[_State] = []
    for n, line in body:
        words = line.strip()
        head, _, rest = words.partition(" ")
        if head == "state":
            name, _, tail = rest.strip().partition(" ")
            if name != str(len(states)):
                raise DataError(f"{path}:{n}: state {name!r}; need states in order, here {len(states)}")
            reward, labels = _bracketed(tail, path, n, which, n_rewards)
            states.append(_State(reward, tuple(labels.split())))
        elif head == "action":
            if not states:
                raise DataError(f"{path}:{n}: an action before any state")
            name, _, tail = rest.strip().partition(" ")
            reward, extra = _bracketed(tail, path, n, which, n_rewards)
            if extra:
                raise DataError(f"{path}:{n}: {extra[:40]!r} after an action; need nothing there")
            states[-1].choices.append((name, reward, {}))
        else:
            target, colon, probability = words.partition(":")
            if not colon or not target.strip().isdigit() or not states:
                raise DataError(f"{path}:{n}: {words[:40]!r}; need state, action or `target : probability`")
            if not states[-1].choices:
                # a chain has transitions without an action line
                states[-1].choices.append(("0", ZERO, {}))
            to = states[-1].choices[-1][2]
            if int(target) in to:
                raise DataError(f"{path}:{n}: target {target.strip()} stands twice in one action")
            to[int(target)] = _number(probability.strip(), path, n)
    return states


def _model(path: str, states: list[_State], reward_name: str, goal: str, tolerance: Fraction) -> ExplicitModel:
    initial = [s for s, state in enumerate(states) if "init" in state.labels]
    if len(initial) != 1:
        raise DataError(f"{path}: {len(initial)} states are labelled init; need one")
    rows = []
    final = set()
    for s, state in enumerate(states):
        if not state.choices:
            raise DataError(f"{path}: state {s} has no action; need at least a loop")
        row = []
        for name, reward, to in state.choices:
            where = f"{path}: action {name} of state {s}"
            total = sum(to.values(), ZERO)
            if any(t >= len(states) for t in to):
                raise DataError(f"{where} leads to state {max(to)}; need states up to {len(states) - 1}")
            if any(p < 0 for p in to.values()) or abs(total - 1) > tolerance:
                need = "within 1e-8 of 1" if tolerance else "exactly 1"
                raise DataError(f"{where}: probabilities sum to {show(total)}; need them >= 0, the sum {need}")
            kept = tuple(sorted((t, p / total) for t, p in to.items() if p))
            row.append(Choice(name=name, reward=state.reward + reward, to=kept))
        rows.append(tuple(row))
        loops = all(c.to == ((s, Fraction(1)),) and c.reward == 0 for c in row)
        if goal in state.labels or loops:
            final.add(s)
    return ExplicitModel(choices=tuple(rows), initial=initial[0], final=frozenset(final), reward_name=reward_name)
