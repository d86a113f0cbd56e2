"""Which vectors kill which mutants, and the fewest vectors that kill all that can be killed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from aeskit.answers.mutants import Killer
from aeskit.vectors import TestVector

EFFORT = 200_000
"""Nodes of the search for a smaller set before it is given up."""

Row = frozenset[int]
"""The numbers of the vectors that kill one mutant."""


@dataclass(frozen=True)
class Minimal:
    """A set that kills as much as all the vectors did."""

    vectors: tuple[TestVector, ...]
    killed: tuple[str, ...]
    survivors: tuple[str, ...]
    """What no vector kills."""
    least: int
    """Fewer vectors cannot kill as much: equal to their number where the set is proved smallest."""

    @property
    def smallest(self) -> bool:
        """Whether no smaller set is possible; else only that no vector of it can be left out."""
        return len(self.vectors) == self.least


def killed(vectors: Sequence[TestVector], killer: Killer) -> bool:
    """Whether any vector finds the fault."""
    return any(True for _ in killer.kills(vectors))


def minimise(vectors: Sequence[TestVector], killers: Iterable[Killer]) -> Minimal:
    """The fewest vectors that kill every killer that they kill together."""
    rows = {killer.name: frozenset(killer.kills(vectors)) for killer in killers}
    chosen, least = cover([row for row in rows.values() if row])
    return Minimal(
        tuple(vectors[number] for number in sorted(chosen)),
        tuple(name for name, row in rows.items() if row),
        tuple(name for name, row in rows.items() if not row),
        least,
    )


def cover(rows: Iterable[frozenset[int]], effort: int = EFFORT) -> tuple[set[int], int]:
    """Numbers that meet every row, and how many are needed at least: equal unless the search was given up."""
    core, chosen = _reduced(set(rows))
    found, least = _searched(core, effort)
    return chosen | found, len(chosen) + least


def _reduced(rows: set[Row]) -> tuple[list[Row], set[int]]:
    """The rows that are left to be met by a choice, and the numbers about which there is none.

    A row that contains another is met wherever that one is; a number is needless beside one that meets all
    its rows and more; a row of one number has no other.
    """
    chosen: set[int] = set()
    while True:
        minimal: list[Row] = []
        for row in sorted(rows, key=_order):
            if not any(other <= row for other in minimal):
                minimal.append(row)
        numbers = _maximal(minimal)
        alone = {number for row in minimal for number in row & numbers if len(row & numbers) == 1}
        chosen |= alone
        left = {row & numbers for row in minimal if not row & alone}
        if left == rows:
            return sorted(left, key=_order), chosen
        rows = left


def _maximal(rows: Sequence[Row]) -> set[int]:
    meets: dict[int, set[int]] = {}
    for at, row in enumerate(rows):
        for number in row:
            meets.setdefault(number, set()).add(at)
    kept: list[int] = []
    for number in sorted(meets, key=lambda number: (-len(meets[number]), number)):
        if not any(meets[number] <= meets[other] for other in kept):
            kept.append(number)
    return set(kept)


def _searched(rows: list[Row], effort: int) -> tuple[set[int], int]:
    """Greedy first, then branch and bound, which proves or betters it within its effort."""
    best, budget = _greedy(rows), effort

    def search(left: list[Row], chosen: set[int]) -> None:
        nonlocal best, budget
        budget -= 1
        if not left:
            best = set(chosen)
            return
        if budget < 0 or len(chosen) + _disjoint(left) >= len(best):
            return
        row = min(left, key=_order)
        for number in sorted(row, key=lambda number: (-sum(number in other for other in left), number)):
            search([other for other in left if number not in other], chosen | {number})

    search(rows, set())
    return best, len(best) if budget >= 0 else _disjoint(rows)


def _greedy(rows: list[Row]) -> set[int]:
    chosen: set[int] = set()
    left = list(rows)
    while left:
        counts: dict[int, int] = {}
        for row in left:
            for number in row:
                counts[number] = counts.get(number, 0) + 1
        number = min(counts, key=lambda number: (-counts[number], number))
        chosen.add(number)
        left = [row for row in left if number not in row]
    for number in sorted(chosen, reverse=True):
        if all((chosen - {number}) & row for row in rows):
            chosen.discard(number)
    return chosen


def _disjoint(rows: list[Row]) -> int:
    """Rows that share no number: each needs one of its own."""
    used: set[int] = set()
    count = 0
    for row in sorted(rows, key=_order):
        if not used & row:
            used |= row
            count += 1
    return count


def _order(row: Row) -> tuple[int, list[int]]:
    return len(row), sorted(row)
