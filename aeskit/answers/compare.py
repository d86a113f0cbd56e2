"""Which sets of vectors find which faults: a table of families by sets."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from aeskit.answers.minimise import killed
from aeskit.answers.mutants import Killer
from aeskit.vectors import TestVector


@dataclass
class Comparison:
    """Killer to the sets that kill it."""

    sets: tuple[str, ...]
    killers: dict[str, Killer] = field(default_factory=dict)
    by: dict[str, frozenset[str]] = field(default_factory=dict)

    def families(self) -> Iterator[tuple[str, str, int, dict[str, int]]]:
        """Mode, family, how many faults, and how many of them each set finds."""
        rows: dict[tuple[str, str], list[str]] = {}
        for name, killer in self.killers.items():
            rows.setdefault((killer.mode, killer.family), []).append(name)
        for (mode, family), names in rows.items():
            found = {one: sum(one in self.by[name] for name in names) for one in self.sets}
            yield mode, family, len(names), found

    def only(self, one: str) -> list[str]:
        """The faults that no other set finds."""
        return [name for name, sets in self.by.items() if sets == {one}]

    def missed(self, one: str) -> list[str]:
        """The faults that another set finds and this one does not."""
        return [name for name, sets in self.by.items() if sets and one not in sets]


def compare(
    found: Comparison, sets: Mapping[str, Sequence[TestVector]], killers: Iterable[Killer]
) -> Iterator[int]:
    """Hold every set against every killer, into `found`; the number of killers done is yielded."""
    for number, killer in enumerate(killers, 1):
        found.killers[killer.name] = killer
        found.by[killer.name] = frozenset(name for name, vectors in sets.items() if killed(vectors, killer))
        yield number
