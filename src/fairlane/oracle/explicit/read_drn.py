"""Reading Storm's DRN text format with exact numbers: decision processes and chains, in steps or in time.

A Markov automaton has states with an exit rate (``!5``), which one choice leaves after an exponential time with that
rate, and states without (``!0``), which are left at once. A state's reward counts for every choice taken there in a
model of steps; in a model of time it is earned per unit of time, so that a visit earns it over the exit rate and a
state that is left at once earns nothing. The reward of a choice is earned when it is taken.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction

from fairlane.oracle.explicit.drn_text import Line, first_word, read_lines, split_header, words
from fairlane.oracle.explicit.explicit_model import Choice, ExplicitModel
from fairlane.reference.atomic_write import PathLike
from fairlane.reference.errors import DataError, InvalidInstance
from fairlane.reference.exact import parse_long, parse_number, show
from fairlane.reference.model.state import ZERO

NEAR = Fraction(1, 10**8)
KINDS = ("mdp", "dtmc", "markov automaton", "ma", "ctmc")
TIMED = ("markov automaton", "ma", "ctmc")
DEFAULT_GOAL = "done"


@dataclass(slots=True)
class _State:
    reward: Fraction
    labels: tuple[str, ...]
    rate: Fraction | None = None
    choices: list[tuple[str, Fraction, dict[int, Fraction]]] = field(default_factory=list)


def read_drn(
    path: PathLike, *, reward: str | None = None, goal: str | None = None, exact: bool = True
) -> ExplicitModel:
    """A model from a DRN file.

    Parameters
    ----------
    path : path-like
        The file; one whose name ends in ``.gz`` is decompressed.
    reward : str or None
        Which reward model; without it "net" where there is one of that name, otherwise the first.
    goal : str or None
        The label of the states that end an episode; a state without it that only loops is final too. None stands for
        "done" where there is such a label.
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
        Not DRN, an unsupported kind of model, no reward model, or no such label; the message has the line.
    """
    where = str(path)
    header, body = split_header(where, read_lines(path))
    kind = " ".join(header.get("@type", "").lower().split())
    if kind not in KINDS:
        raise DataError(f"{where}: @type is {kind or 'missing'}; need MDP, DTMC, Markov Automaton or CTMC")
    rewards = words(header.get("@reward_models", ""), where, 0)
    if not rewards:
        raise DataError(f"{where}: the model has no reward model, so there is nothing to add up; need one")
    if reward is not None and reward not in rewards:
        raise DataError(f"{where}: reward model {reward!r} is not among {', '.join(rewards)}")
    name = reward if reward is not None else "net" if "net" in rewards else rewards[0]
    states = _states(where, body, rewards.index(name), len(rewards))
    declared = header.get("@nr_states", "")
    if declared != str(len(states)):
        raise DataError(f"{where}: @nr_states is {declared or 'missing'}, and {len(states)} states are listed")
    known = dict.fromkeys(label for state in states for label in state.labels)
    if goal is not None and goal not in known:
        raise DataError(f"{where}: no state is labelled {goal!r}; known labels are {', '.join(known) or 'none'}")
    if kind in TIMED:
        _check_rates(where, states, kind)
    elif any(state.rate is not None for state in states):
        raise DataError(f"{where}: a state has an exit rate; need none in a model of type {kind}")
    return _model(where, states, name, DEFAULT_GOAL if goal is None else goal, ZERO if exact else NEAR, kind)


def _number(text: str, path: str, n: int) -> Fraction:
    # a model's own numbers may be longer than an instance's
    exact = parse_long(text)
    if exact is not None:
        return exact
    try:
        return parse_number(text, f"{path}:{n}: value")
    except InvalidInstance as error:
        raise DataError(str(error)) from None


def _bracketed(rest: str, path: str, n: int, which: int, n_rewards: int) -> tuple[Fraction, str]:
    """A leading ``[a, b]`` as the wanted reward, and the rest."""
    if not rest.startswith("["):
        return ZERO, rest
    inside, closed, rest = rest[1:].partition("]")
    parts = [p for p in inside.replace(",", " ").split() if p]
    if not closed or len(parts) != n_rewards:
        raise DataError(f"{path}:{n}: {len(parts)} rewards in brackets; need {n_rewards}, one a reward model")
    return _number(parts[which], path, n), rest.strip()


def _states(path: str, body: Iterable[Line], which: int, n_rewards: int) -> list[_State]:
    states: list[_State] = []
    for n, line in body:
        head, _, rest = line.partition(" ")
        rest = rest.strip()
        if head == "state":
            name, _, tail = rest.partition(" ")
            if name != str(len(states)):
                raise DataError(f"{path}:{n}: state {name!r}; need states in order, here {len(states)}")
            tail = tail.strip()
            rate = None
            if tail.startswith("!"):
                text, _, tail = tail[1:].partition(" ")
                rate = _number(text, path, n)
                if rate < 0:
                    raise DataError(f"{path}:{n}: the exit rate is {show(rate)}; need >= 0")
            reward, labels = _bracketed(tail.strip(), path, n, which, n_rewards)
            states.append(_State(reward, tuple(words(labels, path, n)), rate))
        elif head == "action":
            if not states:
                raise DataError(f"{path}:{n}: an action before any state")
            name, tail = first_word(rest, path, n)
            reward, extra = _bracketed(tail, path, n, which, n_rewards)
            if extra:
                raise DataError(f"{path}:{n}: {extra[:40]!r} after an action; need nothing there")
            states[-1].choices.append((name, reward, {}))
        else:
            target, colon, probability = line.partition(":")
            target = target.strip()
            if not colon or not (target.isascii() and target.isdigit()) or len(target) > 18 or not states:
                raise DataError(f"{path}:{n}: {line[:40]!r}; need state, action or `target : probability`")
            if not states[-1].choices:
                # a chain has transitions without an action line
                states[-1].choices.append(("0", ZERO, {}))
            to = states[-1].choices[-1][2]
            if int(target) in to:
                raise DataError(f"{path}:{n}: target {target} stands twice in one action")
            to[int(target)] = _number(probability.strip(), path, n)
    return states


def _check_rates(path: str, states: list[_State], kind: str) -> None:
    """Every state of a model of time says when it is left; a chain's rates become probabilities."""
    for s, state in enumerate(states):
        if kind == "ctmc":
            total = sum((rate for _, _, to in state.choices for rate in to.values()), ZERO)
            # files written from doubles have sums that are off in their last digits
            if state.rate is not None and abs(state.rate - total) > NEAR * total:
                raise DataError(f"{path}: state {s} has exit rate {show(state.rate)}, its rates sum to {show(total)}")
            if len(state.choices) != 1 or total <= 0:
                raise DataError(f"{path}: state {s} has no rate out; need one choice with rates > 0, a loop at least")
            name, reward, to = state.choices[0]
            state.rate, state.choices = total, [(name, reward, {t: rate / total for t, rate in to.items()})]
        elif state.rate is None:
            raise DataError(f"{path}: state {s} has no exit rate; need !rate, 0 where it is left at once")
        elif state.rate and len(state.choices) > 1:
            raise DataError(
                f"{path}: state {s} has an exit rate and {len(state.choices)} actions; "
                "need one action there, as in a closed automaton"
            )


def _model(
    path: str, states: list[_State], reward_name: str, goal: str, tolerance: Fraction, kind: str
) -> ExplicitModel:
    initial = [s for s, state in enumerate(states) if "init" in state.labels]
    if len(initial) != 1:
        raise DataError(f"{path}: {len(initial)} states are labelled init; need one")
    rows = []
    final = set()
    for s, state in enumerate(states):
        if not state.choices:
            raise DataError(f"{path}: state {s} has no action; need at least a loop")
        # in steps a visit is one step long; in time 1 / rate, or nothing where it is left at once
        visit = Fraction(1) if state.rate is None else 1 / state.rate if state.rate else ZERO
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
            row.append(Choice(name=name, reward=state.reward * visit + reward, to=kept, duration=visit))
        rows.append(tuple(row))
        loops = all(c.to == ((s, Fraction(1)),) and c.reward == 0 for c in row)
        if goal in state.labels or loops:
            final.add(s)
    return ExplicitModel(
        choices=tuple(rows),
        initial=initial[0],
        final=frozenset(final),
        reward_name=reward_name,
        timed=kind in TIMED,
    )
