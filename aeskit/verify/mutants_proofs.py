"""Proofs of a function under its mutants: which calls, in which order, on every core, until each is decided.

First the shortest length of each class of lengths, then that one with every kind of call and every other
length. A mutant that a call finds wrong meets no further one.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from contextlib import ExitStack
from dataclasses import dataclass, field

from aeskit.verify import pool
from aeskit.verify.mutants_beside import Given, Pair, Told
from aeskit.verify.mutants_levels import Verdict
from aeskit.verify.mutants_make import Mutant
from aeskit.verify.mutants_reach import Kind, Reach
from aeskit.verify.mutants_states import Seen
from aeskit.verify.proofs import Target

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
    open_ = {mutant: Proved(mutant) for mutant in mutants}
    with _Workers(targets, workers, {} if spent is None else spent) as run:
        yield from _wave(run, first(reach), reach, open_, told)
        for mutant, proved in list(open_.items()):
            if proved.refusals:  # nothing followed so far was wrong, and no proof can follow the rest
                yield open_.pop(mutant)
        asked = rest(reach, (mutant.address for mutant in open_))
        yield from _wave(run, asked, reach, open_, told)
    yield from open_.values()


def _wave(
    run: _Workers,
    asked: list[Given],
    reach: Reach,
    open_: dict[Mutant, Proved],
    told: Callable[[int, int], None],
) -> Iterator[Proved]:
    """Make these calls with every mutant that is not decided; give those that are."""
    waiting = [tuple(asked[at : at + TOGETHER]) for at in range(0, len(asked), TOGETHER)][::-1]
    wholes = {mutant: _compared(reach, mutant.address) for mutant in open_}
    running: dict[Future[Worked], int] = {}
    done = 0
    while (waiting and open_) or running:
        while waiting and open_ and len(running) < run.count:
            calls = waiting.pop()
            lengths = {given.length for given in calls}
            whole = frozenset(mutant for mutant in open_ if wholes[mutant] & lengths)
            running[run.submit(calls, tuple(open_), whole)] = len(calls)
        for future in wait(running, return_when=FIRST_COMPLETED).done:
            done += running.pop(future)
            made, process, seconds = future.result()
            run.spent[process] = seconds
            for mutant, one in made:
                if mutant in open_:
                    open_[mutant].hear(one)
                    if open_[mutant].decided:
                        yield open_.pop(mutant)
            told(done, len(asked))


def _compared(reach: Reach, address: int) -> frozenset[int]:
    """The lengths at which states are compared to the end: of classes spread over those that reach it."""
    every = reach.of(address)
    return frozenset(lengths[0] for lengths, _ in every[:: max(1, -(-len(every) // COMPARED))])


class _Workers:
    """Processes with a `Pair` each; with one worker this process, without another."""

    def __init__(self, targets: tuple[Target, ...], workers: int | None, spent: Spent) -> None:
        self.targets, self.count, self.spent = targets, pool.cores(workers), spent
        self._pool: ProcessPoolExecutor | None = None
        self._ends = ExitStack()

    def __enter__(self) -> _Workers:
        if self.count > 1:
            self._pool = self._ends.enter_context(pool.processes(self.count))
        self._ends.callback(_PAIRS.clear)
        return self

    def __exit__(self, *_: object) -> None:
        self._ends.close()

    def submit(
        self, calls: tuple[Given, ...], mutants: tuple[Mutant, ...], whole: frozenset[Mutant]
    ) -> Future[Worked]:
        if self._pool:
            return self._pool.submit(work, self.targets, calls, mutants, whole)
        future: Future[Worked] = Future()
        future.set_result(work(self.targets, calls, mutants, whole))
        return future


Worked = tuple[list[tuple[Mutant, Told]], int, float]
"""What was told, by which process, and the CPU seconds that it has used."""
_PAIRS: dict[tuple[Target, ...], Pair] = {}


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
