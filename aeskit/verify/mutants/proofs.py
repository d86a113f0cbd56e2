"""Proofs of a function under its mutants: which calls, in which order, on every core, until each is decided.

First the shortest length of each class of lengths, then that one with every kind of call and every other
length. A mutant that a call finds wrong meets no further one.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from contextlib import contextmanager
from dataclasses import dataclass, field

from aeskit.verify import pool
from aeskit.verify.mutants.beside import Given, Pair, Told
from aeskit.verify.mutants.levels import Verdict
from aeskit.verify.mutants.make import Mutant
from aeskit.verify.mutants.reach import Kind, Reach
from aeskit.verify.mutants.states import Seen
from aeskit.verify.proving.proofs import Target

REFUSALS = 8
"""Proofs of one mutant that may end at what the domain cannot follow before the search for a fault ends."""
COMPARED = 12
"""Calls of one mutant in which states are compared as long as anything differs."""
TOGETHER = 4
"""Calls that a process takes at a time."""

Spent = dict[int, float]
"""CPU seconds by process."""


@dataclass
class Proved:
    """What the proofs have said of one mutant so far."""

    mutant: Mutant
    checks: int = 0
    finding: str = ""
    refusals: list[str] = field(default_factory=list)
    covered: list[str] = field(default_factory=list)
    """Of calls that no proof can follow, and that are right with any value where it cannot."""
    seen: list[Seen] = field(default_factory=list)

    def hear(self, told: Told) -> None:
        """One more call."""
        self.checks += 1
        if told.refused:
            (self.covered if told.covered else self.refusals).append(told.finding)
        elif told.finding:
            self.finding = self.finding or told.finding
        self.seen += told.seen

    @property
    def decided(self) -> bool:
        """Whether no further call is asked."""
        return bool(self.finding) or len(self.refusals) >= REFUSALS

    @property
    def verdict(self) -> Verdict:
        """As a level says it."""
        refused = self.refusals + self.covered
        if self.finding or not refused:
            return Verdict(self.finding, self.checks)
        return Verdict(refused[0], self.checks, refused=True)


def first(reach: Reach) -> list[Given]:
    """The shortest length of each class, kinds of call and layouts in turn."""
    out = []
    for number, lengths in enumerate(reach.classes):
        kinds = [kind for kind in reach.kinds if (number, kind) in reach.visits]
        out.append(Given(lengths[0], kinds[-1 - number % len(kinds)], number % 2 == 1))
    return sorted(out, key=lambda given: given.length)


def rest(reach: Reach, addresses: Iterable[int]) -> list[Given]:
    """The shortest lengths with every kind of call; the others with as many as reach all the addresses."""
    wanted, out = frozenset(addresses), []
    for number, lengths in enumerate(reach.classes):
        kinds = [kind for kind in reach.kinds if (number, kind) in reach.visits]
        seen = {kind: wanted & reach.visits[number, kind] for kind in kinds}
        able = [kind for kind in kinds if seen[kind]]
        out += [Given(lengths[0], kind, turn % 2 == 0) for turn, kind in enumerate(able, number)]
        for turn, length in enumerate(lengths[1:]):
            for kind in _covering(able[turn % len(able) :] + able[: turn % len(able)] if able else [], seen):
                out.append(Given(length, kind, turn // len(able) % 2 == 0))
    return sorted(out, key=lambda given: given.length)


def _covering(kinds: list[Kind], seen: dict[Kind, frozenset[int]]) -> Iterator[Kind]:
    """Kinds in this order until together they reach all that any of them does."""
    left = frozenset().union(*(seen[kind] for kind in kinds))
    for kind in kinds:
        if seen[kind] & left:
            yield kind
            left -= seen[kind]


def prove(
    targets: tuple[Target, ...],
    reach: Reach,
    mutants: Sequence[Mutant],
    workers: int | None = None,
    told: Callable[[int, int], None] = lambda done, total: None,
    spent: Spent | None = None,
) -> Generator[Proved]:
    """Prove a function under each mutant; each is given when it is decided, `told` hears (calls, all)."""
    count = pool.cores(workers)
    with pool.shared(count) as processes, _forgotten():
        run = _Run(targets, reach, processes, count, {} if spent is None else spent, told)
        run.open = {mutant: Proved(mutant) for mutant in mutants}
        yield from run.wave(first(reach))
        for mutant, proved in list(run.open.items()):
            if proved.refusals:  # nothing followed so far was wrong, and no proof can follow the rest
                yield run.open.pop(mutant)
        yield from run.wave(rest(reach, (mutant.address for mutant in run.open)))
    yield from run.open.values()


@dataclass
class _Run:
    """The mutants that are not decided, and what decides them."""

    targets: tuple[Target, ...]
    reach: Reach
    processes: Executor
    count: int
    spent: Spent
    told: Callable[[int, int], None]
    open: dict[Mutant, Proved] = field(default_factory=dict)

    def wave(self, asked: list[Given]) -> Iterator[Proved]:
        """Make these calls with every mutant that is open; give those that are decided."""
        waiting = [tuple(asked[at : at + TOGETHER]) for at in range(0, len(asked), TOGETHER)][::-1]
        wholes = {mutant: _compared(self.reach, mutant.address) for mutant in self.open}
        running: dict[Future[Worked], int] = {}
        done = 0
        while (waiting and self.open) or running:
            while waiting and self.open and len(running) < self.count:
                calls = waiting.pop()
                lengths = {given.length for given in calls}
                whole = frozenset(mutant for mutant in self.open if wholes[mutant] & lengths)
                future = self.processes.submit(work, self.targets, calls, tuple(self.open), whole)
                running[future] = len(calls)
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                done += running.pop(future)
                made, process, seconds = future.result()
                self.spent[process] = seconds
                yield from self._hear(made)
                self.told(done, len(asked))

    def _hear(self, made: list[tuple[Mutant, Told]]) -> Iterator[Proved]:
        for mutant, told in made:
            if mutant in self.open:
                self.open[mutant].hear(told)
                if self.open[mutant].decided:
                    yield self.open.pop(mutant)


def _compared(reach: Reach, address: int) -> frozenset[int]:
    """The lengths at which states are compared to the end: of classes spread over those that reach it."""
    every = reach.of(address)
    return frozenset(lengths[0] for lengths, _ in every[:: max(1, -(-len(every) // COMPARED))])


Worked = tuple[list[tuple[Mutant, Told]], int, float]
"""What was told, by which process, and the CPU seconds that it has used."""
_PAIRS: dict[tuple[Target, ...], Pair] = {}


@contextmanager
def _forgotten() -> Iterator[None]:
    """Behind the block this process holds no table of expressions."""
    try:
        yield
    finally:
        _PAIRS.clear()


def work(
    targets: tuple[Target, ...],
    calls: Iterable[Given],
    mutants: Iterable[Mutant],
    whole: frozenset[Mutant],
) -> Worked:
    """Make the calls in this process; a mutant found wrong in one is left out of the next."""
    pair = _PAIRS.setdefault(targets, _PAIRS.get(targets) or Pair(targets))
    out: list[tuple[Mutant, Told]] = []
    left = list(mutants)
    for given in calls:
        made = list(pair.run(given, left, whole))
        out += made
        wrong = {mutant for mutant, told in made if told.wrong}
        left = [mutant for mutant in left if mutant not in wrong]
    return out, os.getpid(), time.process_time()
