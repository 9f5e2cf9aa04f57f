"""What is left to do of a verification when a journal has a part of it already."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from fairlane.cli.journal import Finished, Journal, keys_of
from fairlane.oracle.batch.many import Verdict
from fairlane.reference.errors import DataError
from fairlane.reference.model.instance import Instance


class Plan:
    """What a journal has of the work, and what is still open.

    Parameters
    ----------
    instances : sequence of Instance
        The instances of this run.
    policies : sequence of str
        Names of the policies of this run; a user's own have been imported.
    book : Journal or None
        Finished work of earlier runs; without it everything is open.
    """

    def __init__(self, instances: Sequence[Instance], policies: Sequence[str], book: Journal | None) -> None:
        self._policies = policies
        self._book = book
        self._keys: list[dict[str, str]] = [{} for _ in instances]
        self._known: list[dict[str, Finished]] = [{} for _ in instances]
        if book is not None:
            for i, instance in enumerate(instances):
                self._keys[i] = keys_of(instance, policies)
                for policy, key in self._keys[i].items():
                    found = book.find(instance, policy, key)
                    if found is not None:
                        self._known[i][policy] = found
        self.missing = [[p for p in policies if p not in known] for known in self._known]
        self.open = [i for i, missing in enumerate(self.missing) if missing]

    def keep(self, place: int, verdict: Verdict) -> None:
        """Write down what is new; ``place`` counts the open instances."""
        # what is too large depends on limits that may be others next time
        rows = tuple(row for row in verdict.rows if not row.too_large)
        if self._book is not None and rows:
            keys = self._keys[self.open[place]]
            self._book.add(replace(verdict, rows=rows), [keys[row.policy] for row in rows])

    def whole(self, i: int, fresh: Verdict | None) -> Verdict:
        """The verdict of an instance from what was known and what is new."""
        known = self._known[i]
        rows = {policy: found.row for policy, found in known.items()}
        rows.update({row.policy: row for row in (fresh.rows if fresh is not None else ())})
        if len({row.optimum for row in rows.values() if row.optimum is not None}) > 1:
            name = next(iter(rows.values())).instance.name
            raise DataError(f"the journal has another optimum of {name!r} than was found now; need a new journal")
        of = fresh if fresh is not None else next(iter(known.values()))
        return Verdict(rows=tuple(rows[p] for p in self._policies), states=of.states, rejected=of.rejected)
