"""A pytest option that runs a policy over the bundled suite, one test an instance.

``-p fairlane.testing.pytest_plugin --fairlane-policy my_module:my_policy --fairlane-relative-gap 1/5``
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from fairlane import suite
from fairlane.testing.assertions import assert_within


def pytest_addoption(parser: pytest.Parser) -> None:
    """Register the options."""
    group = parser.getgroup("fairlane", "policies against the exact optimum")
    group.addoption("--fairlane-policy", action="append", default=[], help="a policy to run over the bundled suite")
    group.addoption("--fairlane-relative-gap", default="0", help="most relative gap allowed, such as 1/5 (default 0)")


class SuiteItem(pytest.Item):
    """One policy on one instance."""

    def __init__(self, *, policy: str, instance: str, **extra: object) -> None:
        super().__init__(**extra)  # type: ignore[arg-type]  # name and parent, from from_parent
        self.policy = policy
        self.instance = instance

    def runtest(self) -> None:
        """Evaluate exactly and compare."""
        assert_within(
            self.policy, suite.load(self.instance), relative_gap=self.config.getoption("--fairlane-relative-gap")
        )

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: object = None) -> str:
        """The message alone; a traceback of the evaluator helps nobody."""
        return f"{self.policy} on {excinfo.value}"

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """Where and what."""
        return self.path, None, self.name


class SuiteCollector(pytest.Collector):
    """All instances for the chosen policies."""

    def collect(self) -> Iterator[SuiteItem]:
        """One item an (instance, policy)."""
        for policy in self.config.getoption("--fairlane-policy") or ():
            for name in suite.names():
                yield SuiteItem.from_parent(self, name=f"{policy}-{name}", policy=policy, instance=name)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(session: pytest.Session, config: pytest.Config, items: list[pytest.Item]) -> None:
    """Add the suite's items after what was collected from files."""
    if config.getoption("--fairlane-policy"):
        items.extend(SuiteCollector.from_parent(session, name="fairlane", nodeid="fairlane").collect())
