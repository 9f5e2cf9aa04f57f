"""Every registered backend against the laws of the contract, and backends of the tests' own that break them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from fractions import Fraction

import pytest

from fairlane.oracle.backend import Backend, CertificateForm, Table
from fairlane.oracle.backends import LISTING, OTHERS, PREFERENCE, backends, state_sweeps
from fairlane.oracle.problem import Problem
from fairlane.oracle.rational.plain import Sense, solve_plain
from fairlane.oracle.refusal import Refusal
from fairlane.oracle.rooted_table import RootedTable, exact_table
from fairlane.oracle.solve import solve
from fairlane.reference.errors import TooLarge, Unsupported
from fairlane.reference.model.graph import Graph
from fairlane.reference.model.instance import Instance
from fairlane.reference.model.objective import Objective
from fairlane.reference.model.request import Request
from fairlane.reference.model.state import Action, State
from tests import backend_contract as contract
from tests.counts import count

LINES = tuple(dict.fromkeys((*PREFERENCE, *LISTING, *OTHERS)))


@pytest.fixture(scope="module")
def found() -> list[Instance]:
    return contract.instances(count(240))


@pytest.mark.parametrize("line", LINES)
def test_a_registered_backend_keeps_every_law(
    line: str, found: list[Instance], monkeypatch: pytest.MonkeyPatch
) -> None:
    if line == "state_sweeps:SINGLE_BLOCKS":
        # it is only for states that doubles have no room for
        monkeypatch.setattr(state_sweeps, "MAX_DOUBLE_STATES", 0)
    (backend,) = backends((line,))
    # two senses of three instances at least, or the laws would say little
    assert contract.check(backend, found) >= 6


def one_stream(outputs: int = 3) -> Instance:
    """One stream on one graph of 2 ms a token: the optimum is outputs * (5 - 2)."""
    return Instance(
        graphs=[Graph(name="d", duration_ms=2, decode_capacity=1)],
        requests=[Request(id="a", prompt=0, limit=outputs)],
        objective=Objective(decode_value=5, time_price=1),
    )


@dataclass(frozen=True, kw_only=True)
class Toy:
    """The plain solver as a backend, which the tests spoil; a whole backend takes no more than this."""

    name: str = "toy"
    rounding: Fraction = Fraction(0)
    certificate: CertificateForm = CertificateForm.VALUES
    spoil: Callable[[RootedTable], Table] = field(default=lambda table: table)
    limited: bool = True

    def most_states(self, problem: Problem) -> int:
        return problem.most_states(1_000, 100) if self.limited else 10**6

    def accepts(self, problem: Problem) -> Refusal | None:
        return None

    def bytes_needed(self, problem: Problem) -> int:
        return 100

    def sweep(self, problem: Problem) -> Table:
        engine = solve_plain(problem.instance, sense=problem.sense, max_states=self.most_states(problem))
        return self.spoil(exact_table(problem, self.name, engine, states=engine.states, form=self.certificate))


class _Spoilt(RootedTable):
    """A table whose first optimal action alone is known."""

    __slots__ = ()

    def optimal_actions(self, state: State) -> tuple[Action, ...]:
        return super().action_values(state)[-1][:1]


def _as_spoilt(table: RootedTable) -> Table:
    return _Spoilt(**{name: getattr(table, name) for name in RootedTable.__dataclass_fields__})


def test_a_new_backend_of_a_few_lines_keeps_them_and_is_preferred_where_it_is_listed_first(
    found: list[Instance],
) -> None:
    toy: Backend = Toy()
    assert contract.check(toy, found[:8]) == 16
    solution = solve(one_stream(), backends=(toy, *backends()))
    assert (solution.method, solution.value) == ("toy", Fraction(9))


@pytest.mark.parametrize(
    ("wrong", "law"),
    [
        (Toy(spoil=lambda t: replace(t, value=Fraction(10**9))), contract.bounds_enclose_the_readable_value),
        (Toy(spoil=lambda t: replace(t, upper=-1e9)), contract.bounds_enclose_the_readable_value),
        (Toy(spoil=lambda t: replace(t, value=None)), contract.bounds_enclose_the_readable_value),
        (Toy(spoil=lambda t: replace(t, states=t.states + 1)), contract.states_are_those_that_actions_reach),
        (Toy(spoil=_as_spoilt), contract.best_actions_attain_the_value),
        (Toy(limited=False), contract.too_small_limits_are_refused_by_number),
        (
            Toy(certificate=CertificateForm.COSTS),
            contract.its_certificate_is_accepted_and_a_corrupted_one_rejected,
        ),
        (Toy(rounding=Fraction(1, 2**53)), contract.bounds_alone_are_the_same_for_any_number_of_threads),
    ],
)
def test_a_wrong_backend_breaks_a_law(
    wrong: Backend, law: Callable[[Backend, contract.Case], None], found: list[Instance]
) -> None:
    cases = contract.cases_of(wrong, found[:8])
    assert cases

    def broken(case: contract.Case) -> bool:
        try:
            law(wrong, case)
        except (AssertionError, Unsupported):
            return True
        return False

    assert any(broken(case) for case in cases)


def test_values_of_states_and_the_policy_are_held_to_the_readable_ones(found: list[Instance]) -> None:
    # the worst values given for the best ones: right at no state where the two differ
    def other(problem: Problem) -> Table:
        sense = Sense.MIN if problem.sense is Sense.MAX else Sense.MAX
        engine = solve_plain(problem.instance, sense=sense)
        return exact_table(problem, "toy", engine, states=engine.states, form=CertificateForm.VALUES)

    class Reversed(Toy):
        def sweep(self, problem: Problem) -> Table:
            return other(problem)

    wrong = Reversed()
    cases = [
        case
        for case in contract.cases_of(wrong, found[:8])
        if len({contract.readable(case.instance, sense).value for sense in Sense}) == 2
    ]
    assert cases
    for law in (
        contract.bounds_enclose_the_readable_value,
        contract.every_state_has_its_value,
        contract.best_actions_attain_the_value,
    ):
        for case in cases:
            with pytest.raises(AssertionError):
                law(wrong, case)


def test_the_refusal_that_is_nearest_to_fitting_is_told() -> None:
    # ten streams of 30 outputs, not equal: 31^10 states, about 8e14, of which doubles in 8 GiB hold 2^30
    instance = Instance(
        name="big",
        graphs=[Graph(name="d", duration_ms=1, decode_capacity=2)],
        requests=[Request(id=f"r{i}", prompt=0, limit=30, weight=i + 1) for i in range(10)],
        objective=Objective(decode_value=1),
    )
    with pytest.raises(TooLarge, match=rf"'big' has {31**10 - 1:,} states, which take .* make it fit") as caught:
        solve(instance)
    assert caught.value.states == 31**10 - 1


def test_nobody_who_takes_less_tries_again_what_was_too_much_on_the_way() -> None:
    tried: list[str] = []

    class Gives(Toy):
        def sweep(self, problem: Problem) -> Table:
            tried.append(self.name)
            raise TooLarge("more than 1,000 states; the limit is 1,000", states=1_001)

    backs: tuple[Backend, ...] = (Gives(name="first"), Gives(name="second"))
    with pytest.raises(TooLarge, match="more than 1,000"):
        solve(one_stream(), backends=backs)
    assert tried == ["first"]


def test_a_limit_on_states_holds_for_whoever_solves() -> None:
    # three unfinished states: 0, 1 and 2 outputs
    assert solve(one_stream(), max_states=3).value == 9
    with pytest.raises(TooLarge, match=r"more than 2 states|has 3 states"):
        solve(one_stream(), max_states=2)
