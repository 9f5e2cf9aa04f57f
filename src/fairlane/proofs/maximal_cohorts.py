"""Maximal cohorts suffice without an age price.

Statement: Where no price is put on output age, some optimal policy uses maximal cohorts only: every decode row that a
chosen graph has room for is filled, and so is its prefill lane. A leader that starts with the larger cohort and then
copies a follower's graphs and cohorts, without what no longer fits, is never behind in any request. With an age price
this still holds for decode rows, no longer for prompts: on one graph (2 ms, prefill 2, one decode row) with a stream
of length 3, a prompt of 2 with length 2 and an age price of 1 the optimum is -1, and -7 if the lane must be filled.

Assumptions: acceptance does not depend on position, so leader and follower can share every draft's fate and every
hidden length; prices on time, completion and first output are nonnegative, and every request finishes, so that rewards
for tokens are the same for all policies.

Source: found while building the exact oracle; a coupling argument, checked against exhaustive optima.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from itertools import combinations_with_replacement, product
from typing import Any

from fairlane.proofs.evidence import Evidence, proof_from
from fairlane.proofs.obligations import Task, check_all, check_equal, forall, induction, settle
from fairlane.reference.model.graph import Catalog, Graph
from fairlane.reference.model.instance import Instance
from fairlane.reference.model.objective import Objective
from fairlane.reference.model.request import Request
from fairlane.reference.model.state import Action, State, actions, initial_state, is_final
from fairlane.reference.model.step import step

# prompt left and output published, of the leader (P, G) and of the follower (Q, H); n: the final length. Alternatives
# and not implications: in one case of the split below some of them have nothing to say.
_LEAD = (
    "{P} <= {Q} and {H} <= {G} and {G} <= n and ({P} > 0 or {Q} == 0 or {G} >= 1)"
    " and ({P} == 0 or {G} == 0) and ({Q} == 0 or {H} == 0)"
)
_VARIABLES = "P in natural, Q in natural, G in natural, H in natural, n in count, raw in count, c in count, d in count"


def prove(*, fate: str = "raw", room: str = "c <= d") -> Sequence[Evidence]:
    """Evidence for the leader's count when the follower's row draws ``raw``, and for the prompt room it has left."""
    coupled = settle(
        _still_leads(
            "both rows run, or the leader's has finished",
            given=["P == 0", "Q == 0", "H < n"],
            leader=("0", f"(min(G + {fate}, n) if G < n else G)"),
            follower=("0", "min(H + raw, n)"),
        ),
        _still_leads(
            "the follower fills a prompt, the leader its own rest of it if any",
            given=["Q > 0", room],
            leader=("P - min(P, d)", "(G if P == 0 or P > d else 1)"),
            follower=("Q - min(Q, c)", "(1 if Q <= c else 0)"),
        ),
        _still_leads(
            "the leader's row runs alone",
            given=["P == 0", "G < n"],
            leader=("0", "min(G + raw, n)"),
            follower=("Q", "H"),
        ),
        _still_leads(
            "the leader's prompt is filled alone",
            given=["P > 0"],
            leader=("P - min(P, d)", "(G if P > d else 1)"),
            follower=("Q", "H"),
        ),
        induction(
            # prompts of one list in order; c, d: room left to the follower and to the leader
            "P in natural, Q in natural, c in natural, d in natural, C in natural",
            "c <= d",
            over="k",
            first=0,
            state={"c": ("C", "c - min(Q, c)"), "d": ("C", "d - min(P, d)")},
            given=["P <= Q"],
            label="the leader has at least the follower's room for every prompt of a list, any number of lanes",
        ),
        induction(
            # a graph whose cohort has nothing left for the leader is skipped and takes no time
            "T in positive, run in natural, L, F",
            "L <= F",
            over="k",
            first=0,
            state={"L": ("0", "L + run*T"), "F": ("0", "F + T")},
            given=["run <= 1"],
            label="the leader's clock is never ahead of the follower's",
        ),
        induction(
            # decode rows added only, prompts copied; f, l: served now; F, L: finished; a, b: ages; X, Y: their areas
            "T in positive, run in natural, f in natural, l in natural, F in natural, L in natural, a0 in nonnegative,"
            " a, b, X, Y",
            "0 <= a and a <= b and X <= Y",
            over="k",
            first=0,
            state={
                "a": ("a0", "0 if l == 1 or L == 1 else a + run*T"),
                "b": ("a0", "0 if f == 1 else b + T"),
                "X": ("0", "X + (0 if L == 1 else run*(a*T + T*T/2))"),
                "Y": ("0", "Y + (0 if F == 1 else b*T + T*T/2)"),
            },
            given=["run <= 1", "implies(f == 1, l == 1 or L == 1)", "implies(F == 1, L == 1)"],
            label="with rows added only, no output age and no age area of the leader exceeds the follower's",
        ),
    )
    return (
        *coupled,
        check_all(
            "optimum over maximal cohorts = optimum, no age price",
            _small_instances(age_price=0),
            lambda instance: _optimum(instance, _is_maximal) == _optimum(instance, _any),
            count=_N_INSTANCES,
        ),
        check_all(
            "optimum over full decode rows = optimum, with an age price",
            _small_instances(age_price=1),
            lambda instance: _optimum(instance, _rows_are_full) == _optimum(instance, _any),
            count=_N_INSTANCES,
        ),
        # by hand, both rewards 7: A, A, A alone cost 2 each, the prompt nothing, B's second token 2, in all 8;
        # with the lane filled first: 2, then B first (2 + 2), A twice (6 + 2), in all 14
        check_equal("with an age price: optimum", _optimum(counterexample(), _any), -1, beside=False),
        check_equal("with an age price: prompts forced in", _optimum(counterexample(), _is_maximal), -7, beside=False),
    )


def counterexample() -> Instance:
    """The instance on which filling the prefill lane loses under an age price."""
    return Instance(
        graphs=Catalog([Graph(name="m", duration_ms=2, prefill_capacity=2, decode_capacity=1)]),
        requests=(Request(id="A", prompt=0, limit=3), Request(id="B", prompt=2, limit=2)),
        objective=Objective(decode_value=1, age_price=1),
    )


def _still_leads(label: str, *, given: Sequence[str], leader: tuple[str, str], follower: tuple[str, str]) -> Task:
    """The lead after one step, for a leader and a follower that move as given: prompt left, published."""
    now = _LEAD.format(P="P", G="G", Q="Q", H="H")
    after = [f"({text})" for text in (*leader, *follower)]
    then = _LEAD.format(**dict(zip("PGQH", after, strict=True)))
    return forall(_VARIABLES, then, given=[now, "H <= n", *given], label=label)


Allowed = Callable[[Action, Sequence[Action], Instance, State], bool]


def _any(action: Action, legal: Sequence[Action], instance: Instance, state: State) -> bool:
    return True


def _is_maximal(action: Action, legal: Sequence[Action], instance: Instance, state: State) -> bool:
    """No legal action of the same graph serves all of its requests and more."""
    prefill, decode = set(action.prefill), set(action.decode)
    return not any(
        other.graph == action.graph
        and prefill <= set(other.prefill)
        and decode <= set(other.decode)
        and len(other.prefill) + len(other.decode) > len(prefill) + len(decode)
        for other in legal
    )


def _rows_are_full(action: Action, legal: Sequence[Action], instance: Instance, state: State) -> bool:
    graph = instance.graphs.graphs[action.graph]
    rows = sum(local.prompt == 0 and not local.finished for local in state)
    return len(action.decode) == min(graph.decode_capacity, rows)


def _optimum(instance: Instance, allowed: Allowed) -> Fraction:
    """Best expected value over the allowed actions, by plain recursion on the readable step."""
    keeps_age = bool(instance.objective.age_price)
    memo: dict[State, Fraction] = {}

    def value(state: State) -> Fraction:
        if is_final(state):
            return Fraction(0)
        key = state if keeps_age else tuple(local._replace(age_ms=Fraction(0)) for local in state)
        if key not in memo:
            legal = tuple(actions(instance, key))
            memo[key] = max(
                sum((o.probability * (o.reward + value(o.state)) for o in step(instance, key, action)), Fraction(0))
                for action in legal
                if allowed(action, legal, instance, key)
            )
        return memo[key]

    return value(initial_state(instance))


_HALF = Fraction(1, 2)
_REQUESTS: tuple[dict[str, Any], ...] = (
    {"prompt": 0, "limit": 3, "acceptance": (_HALF,)},
    {"prompt": 2, "limit": 2, "acceptance": (_HALF,)},
    {"prompt": 3, "limit": 1},
    {"prompt": 1, "limit": 3, "acceptance": (Fraction(1),), "length_prior": {1: _HALF, 3: _HALF}},
)
_CATALOGS = (
    (Graph(name="m", duration_ms=2, prefill_capacity=2, decode_capacity=1),),
    (Graph(name="m", duration_ms=3, prefill_capacity=2, decode_capacity=2, width=2),),
    (
        Graph(name="p", duration_ms=1, prefill_capacity=1),
        Graph(name="m", duration_ms=2, prefill_capacity=2, decode_capacity=1, width=2),
    ),
)
_PRICES: tuple[tuple[Fraction | int, int, int], ...] = (
    (1, 0, 0),
    (0, 1, 2),
    (_HALF, 2, 1),
)  # time, completion, first output
# two requests of four templates with repetition, three catalogs, three price lists
_N_INSTANCES = 10 * 3 * 3


def _small_instances(*, age_price: int) -> Iterator[Instance]:
    for pair, graphs, (time, completion, first) in product(
        combinations_with_replacement(_REQUESTS, 2), _CATALOGS, _PRICES
    ):
        yield Instance(
            graphs=Catalog(graphs),
            requests=tuple(Request(id=str(i), weight=i + 1, **fields) for i, fields in enumerate(pair)),
            objective=Objective(
                decode_value=4,
                time_price=time,
                completion_price=completion,
                first_output_price=first,
                age_price=age_price,
            ),
        )


PROOF = proof_from(
    __doc__,
    "maximal-cohorts",
    prove,
    {
        "the leader's drafts are not the follower's": lambda: prove(fate="1"),
        "the leader has less room than the follower": lambda: prove(room="d <= c"),
    },
)
