"""One learning run: a configuration on a scenario under a seed.

    result = run(LearningConfig(policy="retained-refresh"), scenario, seed)

is everything that an experiment needs. A `Scenario` holds the graphs' geometry, their hidden `CostLaw`s, request
templates that are replenished, pauses, and windows of occupied time; a `LearningConfig` names a policy, an estimator
and their options, and goes to and from JSON. The result is a `LearningRun`: one row a launch with its account, reason,
timing and credit, one row a lane, one row a request, what was learned of every graph, and the accounts' totals. The
launches from ``measured_from`` to ``drain_from`` are the measurement, each in full; what comes after drains it.

The same three arguments give the same result, bit for bit, on every engine. The readable engine is the simulator's
event loop with a readable policy; it alone explains itself, through ``on_settled``, which is given the plan, the
situation it was made from and the completion of every launch. The compiled engine keeps the whole run in arrays and is
some hundred times faster; the first run in a fresh installation waits for its compilation, which is then kept. The
exploration and delay bounds are asserted at every completion.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum

from fairlane.reference.errors import InvalidInstance, Unsupported
from fairlane.simulator.draws import checked_seed
from fairlane.simulator.learning.compiled import run_compiled, why_readable
from fairlane.simulator.learning.config import LearningConfig
from fairlane.simulator.learning.learner import Settled
from fairlane.simulator.learning.outcome import LearningRun
from fairlane.simulator.learning.readable import run_readable
from fairlane.simulator.learning.scenario import Scenario


class EngineKind(StrEnum):
    """Which implementation runs."""

    READABLE = "readable"
    COMPILED = "compiled"


def run(
    config: LearningConfig,
    scenario: Scenario,
    seed: int,
    *,
    engine: EngineKind | None = None,
    on_settled: Callable[[Settled], None] | None = None,
) -> LearningRun:
    """A learning run; see the module docstring.

    Parameters
    ----------
    config : LearningConfig
        Who decides, and from which estimates.
    scenario : Scenario
        Workload and hidden costs.
    seed : int
        Of timing, acceptance, lengths and policy, each a stream of its own; 0 <= seed < 2^62.
    engine : EngineKind or None
        The implementation; the result is the same. None takes the compiled one where it can run.
    on_settled : callable or None
        Is given every settled completion, by the readable engine alone.

    Raises
    ------
    InvalidInstance
        A seed outside its range.
    Unsupported
        The compiled engine asked for what it does not do, or for a trace.
    """
    if checked_seed(seed) >= 1 << 62:
        raise InvalidInstance(f"seed is {seed}; need a whole number below 2^62")
    why = "a trace is asked for" if on_settled is not None else why_readable(config, scenario)
    if engine is EngineKind.COMPILED and why is not None:
        raise Unsupported(f"engine is 'compiled', but {why}; need the readable engine")
    if engine is EngineKind.READABLE or why is not None:
        return run_readable(config, scenario, seed, on_settled)
    return run_compiled(config, scenario, seed)
