"""A policy that breaks: it raises, hangs, idles with work, or returns what is no legal decision.

The view that it broke on is kept, so that its author sees what it was asked. A policy that hangs is stopped by a
timer signal, which a process delivers to its main thread only, and which Python acts on between two of its own
instructions: work in other threads, on a system without such timers, or inside a compiled function is not stopped.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from enum import StrEnum
from fractions import Fraction
from types import FrameType

from fairlane.reference.errors import FairlaneError, IdlesWithWork, InvalidInstance, PolicyError
from fairlane.reference.model.graph import Graph
from fairlane.reference.model.instance import Instance
from fairlane.reference.model.policy import (
    NOTHING,
    Choice,
    Completion,
    Decision,
    Memory,
    Policy,
    RequestView,
    View,
    branches,
    check_decision,
)

# how often a running decision is looked at, as a part of the time it may take
LOOKS = 4
# a policy that waits uses no processor time, and neither does one whose process has to wait its turn on a busy machine
PATIENCE = 15


class Breach(StrEnum):
    """How a policy broke."""

    RAISES = "raises"
    HANGS = "hangs"
    ILLEGAL = "illegal decision"
    NOT_A_NUMBER = "not a number"
    IDLES = "idles with work"


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyFailure:
    """What a policy did wrong, and on which view; ``instance`` is the episode that led there."""

    breach: Breach
    message: str
    view: View
    instance: Instance | None = None


class PolicyBroke(FairlaneError):
    """Carries a :class:`PolicyFailure` up to whoever knows the instance."""

    def __init__(self, failure: PolicyFailure) -> None:
        super().__init__(f"{failure.breach}: {failure.message}")
        self.failure = failure

    def on(self, instance: Instance) -> PolicyFailure:
        """The failure with the instance it happened on."""
        return replace(self.failure, instance=instance)


class _TimeOut(BaseException):
    """Raised inside a policy that hangs; no Exception, so that the policy's own handlers let it through."""


Legal = tuple[Fraction, Decision, Graph, tuple[RequestView, ...], tuple[RequestView, ...]]


class Guard:
    """Calls one policy, checks what it says, and turns every breach into :class:`PolicyBroke`.

    Parameters
    ----------
    policy : Policy
        The policy.
    limit_s : float
        Seconds of processor time that one call may take, > 0; a call that only waits has fifteen times as long.
    """

    def __init__(self, policy: Policy, limit_s: float) -> None:
        self.policy = policy
        self.limit_s = limit_s
        # processor time and wall time at the start of the call at work
        self._since: tuple[float, float] | None = None

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Stop calls that hang, for the length of a block; does nothing where no timer signal can be had."""
        if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
            yield
            return
        before = signal.signal(signal.SIGALRM, self._look)
        every = self.limit_s / LOOKS
        timer = signal.setitimer(signal.ITIMER_REAL, every, every)
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_REAL, *timer)
            signal.signal(signal.SIGALRM, before)

    def _look(self, _: int, frame: FrameType | None) -> None:
        if self._since is None:
            return
        used, passed = (now - then for now, then in zip(_clocks(), self._since, strict=True))
        if used > self.limit_s or passed > PATIENCE * self.limit_s:
            # a policy that swallows this is told again
            self._since = _clocks()
            raise _TimeOut

    def decisions(self, view: View, memory: Memory) -> list[Legal]:
        """The policy's choice as (probability, decision, graph, prefill, decode), every one of them legal.

        Raises
        ------
        PolicyBroke
            It raised, ran out of time, or decided what is not legal.
        """
        choice = self._ask(view, memory)
        try:
            if isinstance(choice, Decision) and choice.graph is not None:
                # the usual case
                return [(_ONE, choice, *check_decision(view, choice))]
            out: list[Legal] = []
            for chance, decision in branches(choice):
                if decision == NOTHING:
                    waiting = ", ".join(request.id for request in view.requests)
                    raise IdlesWithWork(f"nothing to do at {view.now_ms} ms while {waiting} can be served")
                out.append((chance, decision, *check_decision(view, decision)))
            return out
        except IdlesWithWork as error:
            raise self._broke(Breach.IDLES, str(error), view) from None
        except PolicyError as error:
            raise self._broke(Breach.ILLEGAL, str(error), view) from None
        except InvalidInstance as error:
            # a probability that is no finite number
            raise self._broke(Breach.NOT_A_NUMBER, str(error), view) from None

    def _ask(self, view: View, memory: Memory) -> Choice:
        self._since = _clocks()
        try:
            return self.policy.decide(view, memory)
        except _TimeOut:
            message = f"no decision after {self.limit_s:g} s"
            raise self._broke(Breach.HANGS, message, view) from None
        except FairlaneError as error:
            if not isinstance(error, (PolicyError, InvalidInstance)):
                # a refusal by size is the caller's business
                raise
            raise self._broke(Breach.RAISES, _told(error), view) from error
        except Exception as error:
            # a user's policy may raise anything
            raise self._broke(Breach.RAISES, _told(error), view) from error
        finally:
            self._since = None

    def initial(self, view: View) -> Memory:
        """The policy's memory before its first decision."""
        try:
            return self.policy.initial(view.catalog)
        except Exception as error:
            raise self._broke(Breach.RAISES, f"in initial: {_told(error)}", view) from error

    def observe(self, memory: Memory, completion: Completion) -> Memory:
        """The policy's memory after a completion; it must be hashable."""
        self._since = _clocks()
        try:
            after = self.policy.observe(memory, completion)
            hash(after)
            return after
        except _TimeOut:
            message = f"no memory after {self.limit_s:g} s in observe"
            raise self._broke(Breach.HANGS, message, completion.view) from None
        except Exception as error:
            raise self._broke(Breach.RAISES, f"in observe: {_told(error)}", completion.view) from error
        finally:
            self._since = None

    def _broke(self, breach: Breach, message: str, view: View) -> PolicyBroke:
        return PolicyBroke(PolicyFailure(breach=breach, message=message, view=view))


_ONE = Fraction(1)


def _clocks() -> tuple[float, float]:
    return time.thread_time(), time.monotonic()


def _told(error: Exception) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())
