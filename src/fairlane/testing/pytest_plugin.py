"""Pytest options that hold a policy to the exact optimum, one test an instance, without a test file.

``-p fairlane.testing.pytest_plugin --fairlane-policy my_module:my_policy --fairlane-max-gap 5%``

``--fairlane-instances`` names what to run on, by patterns of files or of names of the bundled suite; all of the suite
without it.
"""

from __future__ import annotations

import glob
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest

from fairlane.reference.errors import FairlaneError, PolicyError
from fairlane.testing.verdict import again, breach, failure_text, limit_of

if TYPE_CHECKING:
    from fairlane.reference.model.instance import Instance
    from fairlane.reference.model.policy import Policy


class Subject(NamedTuple):
    """An instance and where it is to be found again."""

    instance: Instance
    file: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What the options ask for."""

    policies: Mapping[str, Policy]
    subjects: tuple[Subject, ...]
    most: Fraction


PLAN = pytest.StashKey[Plan]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Register the options."""
    group = parser.getgroup("fairlane", "policies against the exact optimum")
    group.addoption(
        "--fairlane-policy",
        action="append",
        default=[],
        metavar="NAME",
        help="a policy to hold to the optimum, built-in or module:attribute; repeat for more",
    )
    group.addoption(
        "--fairlane-max-gap",
        "--fairlane-relative-gap",
        dest="fairlane_max_gap",
        default="0",
        metavar="GAP",
        help="most gap over the size of the optimum, such as 1/20 or 5%% (default 0)",
    )
    group.addoption(
        "--fairlane-instances",
        action="append",
        default=[],
        metavar="GLOB",
        help="instance files, or names of the bundled suite; repeat for more (default: the bundled suite)",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Load everything that is named, so that what is mistyped is one usage error.

    Raises
    ------
    UsageError
        A policy, a gap or an instance that cannot be had.
    """
    # pytest starts without numba unless a policy is asked for
    from fairlane.policies import load_policy

    names = config.getoption("fairlane_policy")
    if not names:
        if config.getoption("fairlane_instances") or config.getoption("fairlane_max_gap") != "0":
            raise pytest.UsageError("--fairlane-policy is missing; need the policy to hold to the optimum")
        return
    try:
        config.stash[PLAN] = Plan(
            policies={name: load_policy(name) for name in names},
            subjects=tuple(_subjects(config.getoption("fairlane_instances") or [])),
            most=limit_of(config.getoption("fairlane_max_gap") or "0", "--fairlane-max-gap"),
        )
    except FairlaneError as error:
        raise pytest.UsageError(" ".join(str(error).split())) from None


def _subjects(patterns: list[str]) -> Iterator[Subject]:
    """Instances by pattern, each once, in the order of the patterns.

    Raises
    ------
    UsageError
        A pattern that matches nothing.
    """
    # as above
    from fairlane import suite
    from fairlane.reference.model.codec import load_instance

    seen: set[str] = set()
    for pattern in patterns or ["*"]:
        files = [] if not patterns else sorted(glob.glob(pattern, recursive=True))
        bundled = [] if files else [name for name in suite.names() if fnmatchcase(name, pattern)]
        if not files and not bundled:
            raise pytest.UsageError(
                f"--fairlane-instances is {pattern!r}; need a pattern of files or of names of the suite"
            )
        for found in files or bundled:
            if found not in seen:
                seen.add(found)
                yield Subject(load_instance(found), found) if files else Subject(suite.load(found), suite.file(found))


@dataclass(frozen=True, slots=True, kw_only=True)
class Crash:
    """Where pytest looks for the line of its short summary."""

    path: str
    lineno: int
    message: str


class Told:
    """A failure that is its message alone: a traceback of the evaluator helps nobody."""

    def __init__(self, message: str, path: Path) -> None:
        self.message = message
        self.reprcrash = Crash(path=str(path), lineno=0, message=message.partition("\n")[0])

    def __str__(self) -> str:
        return self.message

    def toterminal(self, writer: object) -> None:
        """Write it."""
        line = getattr(writer, "line")  # noqa: B009  # a terminal writer, whose type pytest does not publish
        for text in self.message.split("\n"):
            line(text)


class Failed(Exception):
    """Carries the message of a policy that is too far from the optimum."""


class SuiteItem(pytest.Item):
    """One policy on one instance."""

    def __init__(self, *, policy: str, subject: Subject, **extra: object) -> None:
        super().__init__(**extra)  # type: ignore[arg-type]  # name and parent, from from_parent
        self.policy = policy
        self.subject = subject

    def runtest(self) -> None:
        """Evaluate exactly and compare."""
        # as above
        from fairlane.oracle.policy_value.evaluate import evaluate

        plan = self.config.stash[PLAN]
        instance, file = self.subject
        try:
            result = evaluate(instance, plan.policies[self.policy])
        except FairlaneError as error:
            what = "" if isinstance(error, PolicyError) else "no answer: "
            raise Failed(
                f"{self.policy} on {instance.name}: {what}{error}\n  run again: {again(self.policy, file)}"
            ) from error.__cause__
        exceeded = breach(result, relative_gap=plan.most)
        if exceeded is not None:
            raise Failed(failure_text(exceeded, result, instance, policy=self.policy, file=lambda: file))

    def repr_failure(  # type: ignore[override]  # what pytest asks of its result, whose base it does not publish
        self, excinfo: pytest.ExceptionInfo[BaseException], style: object = None
    ) -> object:
        """The message alone; a fault of our own keeps its traceback."""
        if isinstance(excinfo.value, Failed):
            return Told(str(excinfo.value), self.path)
        return super().repr_failure(excinfo)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """Where and what."""
        return self.path, None, self.name


class SuiteCollector(pytest.Collector):
    """All instances for the chosen policies."""

    def collect(self) -> Iterator[SuiteItem]:
        """One item an (instance, policy)."""
        plan = self.config.stash[PLAN]
        for policy in plan.policies:
            for subject in plan.subjects:
                name = f"{policy}-{subject.instance.name}"
                yield SuiteItem.from_parent(self, name=name, policy=policy, subject=subject)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(session: pytest.Session, config: pytest.Config, items: list[pytest.Item]) -> None:
    """Add the plan's items after what was collected from files."""
    if PLAN in config.stash:
        items.extend(SuiteCollector.from_parent(session, name="fairlane", nodeid="fairlane").collect())
