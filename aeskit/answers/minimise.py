"""Which vectors kill which mutants, and the fewest vectors that kill all that can be killed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from aeskit.answers.mutants import Killer
from aeskit.vectors import TestVector

EFFORT = 200_000
"""Nodes of the search for a smaller set before it is given up."""


@dataclass(frozen=True)
class Minimal:
    """A set that kills as much as all the vectors did."""

    vectors: tuple[TestVector, ...]
    killed: tuple[str, ...]
    survivors: tuple[str, ...]
    """What no vector kills."""
    smallest: bool
    """Whether no smaller set is possible; else only that no vector of it can be left out."""


def killed(vectors: Sequence[TestVector], killer: Killer) -> bool:
    """Whether any vector finds the fault."""
    return any(True for _ in killer.kills(vectors))


def minimise(vectors: Sequence[TestVector], killers: Iterable[Killer]) -> Minimal:
    """The fewest vectors that kill every killer that they kill together."""
    rows = {killer.name: frozenset(killer.kills(vectors)) for killer in killers}
    needed = {row for row in rows.values() if row}
    # A mutant that dies wherever another one does needs no vector of its own.
    rare = [row for row in needed if not any(other < row for other in needed)]
    chosen, smallest = _cover(rare)
    return Minimal(
        tuple(vectors[number] for number in sorted(chosen)),
        tuple(name for name, row in rows.items() if row),
        tuple(name for name, row in rows.items() if not row),
        smallest,
    )


def _cover(rows: list[frozenset[int]]) -> tuple[set[int], bool]:
    """Numbers that meet every row: greedy first, then a search that proves or betters it."""
    best = _greedy(rows)
    budget = [EFFORT]

    def search(left: list[frozenset[int]], chosen: set[int]) -> None:
        nonlocal best
        budget[0] -= 1
        if not left:
            best = set(chosen)
            return
        if budget[0] < 0 or len(chosen) + _disjoint(left) >= len(best):
            return
        row = min(left, key=lambda row: (len(row), sorted(row)))
        for number in sorted(row, key=lambda number: (-sum(number in other for other in left), number)):
            search([other for other in left if number not in other], chosen | {number})

    search(rows, set())
    return best, budget[0] >= 0


def _greedy(rows: list[frozenset[int]]) -> set[int]:
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


def _disjoint(rows: list[frozenset[int]]) -> int:
    """Rows that share no number: each needs one of its own."""
    used: set[int] = set()
    count = 0
    for row in sorted(rows, key=lambda row: (len(row), sorted(row))):
        if not used & row:
            used |= row
            count += 1
    return count
