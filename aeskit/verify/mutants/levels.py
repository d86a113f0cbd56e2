"""What can kill a mutant short of a proof: known answers, then the verification's checks.

They run on this CPU in a process that has nothing else in it (`alone`), or in the emulator with bounded
steps: a mutant may crash, loop or write anywhere and harms nobody.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import chain, pairwise
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from aeskit import implementations
from aeskit.cpu import detect
from aeskit.machine import silicon
from aeskit.machine.bochs import EmulatorMissing
from aeskit.machine.bochs.library import library
from aeskit.machine.loader import Image
from aeskit.verify import cases, known, oracle
from aeskit.verify.alone import Alone, Message
from aeskit.verify.differential import Expected, examine
from aeskit.verify.emulated import EmulatedRunner
from aeskit.verify.inputs import Inputs
from aeskit.verify.layouts import Layout
from aeskit.verify.mutants.make import Mutant
from aeskit.verify.mutants.reach import Reach
from aeskit.verify.replay import Problem
from aeskit.verify.worker import Chunk, solve

ENGINES = ("silicon", "emulator")
LEVELS = {"silicon": "quick", "emulator": "brief"}
"""The verification's level unless another is asked for: in the emulator a mutant that lives takes minutes."""
BRANCHES = 20_000
"""Taken branches after which the emulator gives a mutant up; the longest case takes about a hundred."""
EVERYWHERE = Layout("out_of_place")


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a level says of a mutant: `finding` is empty where it lives; `checks` were made."""

    finding: str
    checks: int
    refused: bool = False
    """The finding is that the proof cannot follow the code: not that a result is wrong."""

    @property
    def killed(self) -> bool:
        """Whether something wrong was found."""
        return bool(self.finding) and not self.refused


@dataclass(frozen=True, slots=True)
class Check:
    """One call with what must come of it."""

    inputs: Inputs
    expected: Expected
    layout: Layout
    name: str
    """Of the case or the known answer."""

    @property
    def title(self) -> str:
        """As findings write it."""
        return self.name if self.layout == EVERYWHERE else f"{self.name}, {self.layout.title}"

    @property
    def context(self) -> bytes:
        """The key's schedules."""
        return _context(self.inputs.mode, self.inputs.key)

    def lengths(self) -> list[int]:
        """Of each piece."""
        return [end - begin for begin, end in pairwise([0, *self.layout.cuts, len(self.inputs.data)])]


@lru_cache(maxsize=256)
def _context(mode: str, key: bytes) -> bytes:
    return oracle.context(mode, key)


class Checks:
    """The checks of one function: the known answers, and the verification's of a level."""

    def __init__(self, row: implementations.Implementation, level: str) -> None:
        """Nothing is computed yet."""
        self.row, self.level = row, level

    @cached_property
    def known(self) -> list[Check]:
        """Every known answer, out of place: what a project's usual self-test does."""
        every = known.every(self.row.mode, self.row.direction)
        return [Check(known.inputs(k), known.expected(k), EVERYWHERE, k.title) for k in every]

    @cached_property
    def verified(self) -> list[Check]:
        """What `aeskit verify` does in another order: known answers, cases out of place, other layouts."""
        first: list[Check] = []
        rest: list[Check] = []
        chunk = Chunk((), (), (), self.level)
        mode, direction = self.row.mode, self.row.direction
        problems: Iterator[Problem] = chain(
            known.every(mode, direction), cases.cases(mode, direction, self.level)
        )
        for problem in problems:
            made, expected = solve(problem)
            for place in chunk.layouts(problem):
                check = Check(made, expected, place, problem.title)
                (first if place == EVERYWHERE else rest).append(check)
        return first + rest

    @cached_property
    def lengths(self) -> NDArray[np.int64]:
        """A row a check of the verification: the lengths of its three pieces, the last repeated."""
        rows = [check.lengths() for check in self.verified]
        return np.array([(row + row[-1:] * 2)[:3] for row in rows])

    def able(self, address: int, reach: Reach) -> NDArray[np.uint32]:
        """The numbers of the verification's checks that may come to an instruction.

        Lengths of which it was not measured may.
        """
        table = np.ones(int(self.lengths.max()) + 1, bool)
        measured = [n for n in reach.measured if n < len(table)]
        table[measured] = False
        table[[n for n in reach.lengths(address) if n < len(table)]] = True
        return np.flatnonzero(table[self.lengths].any(axis=1)).astype(np.uint32)


class Answers(Protocol):
    """An engine that holds a mutant against known answers, and against the verification's checks."""

    image: Image
    """The code without a change."""

    def known(self, mutant: Mutant) -> Verdict:
        """Every known answer."""
        ...

    def verified(self, mutant: Mutant, reach: Reach) -> Verdict:
        """The verification's checks that may reach the instruction."""
        ...

    def cpu_seconds(self) -> float:
        """Used so far by another process than this one."""
        ...


def choose(function: str, asked: str = "") -> str:
    """The engine that is asked for; else this CPU where it can run the function, else the emulator, if any.

    ValueError, SiliconError or EmulatorMissing where what is asked cannot be had; empty where there is none.
    """
    cpu = detect()
    lacking = implementations.named(function).can(cpu)
    unavailable = f"{function} needs {cpu.explain(lacking)}" if lacking else silicon.unavailable()
    if asked == "silicon" and unavailable:
        raise ValueError(unavailable)
    if asked != "emulator" and not unavailable:
        return "silicon"
    try:
        library()
    except EmulatorMissing:
        if asked:
            raise
        return ""
    return "emulator"


def engine(image: Image, function: str, name: str, level: str = "") -> Answers:
    """One of ENGINES; `level` is by default what it has time for."""
    make = OnSilicon if name == "silicon" else Emulated
    return make(image, function, level or LEVELS[name])


class OnSilicon:
    """On this CPU; see `Answers`."""

    def __init__(self, image: Image, function: str, level: str = "quick") -> None:
        """SiliconError where ptrace is not allowed."""
        self.image, self.level = image, level
        self.checks = Checks(implementations.named(function), level)
        every = [*self.checks.known, *self.checks.verified]
        self._answers = len(self.checks.known)
        self._every = every
        messages = [Message(c.inputs, c.context, c.expected, c.layout) for c in every]
        self._alone = Alone(image, function, messages)

    def known(self, mutant: Mutant) -> Verdict:
        """See `Answers`."""
        return self._run(mutant, np.arange(self._answers, dtype=np.uint32))

    def verified(self, mutant: Mutant, reach: Reach) -> Verdict:
        """See `Answers`."""
        return self._run(mutant, self._answers + self.checks.able(mutant.address, reach))

    def cpu_seconds(self) -> float:
        """See `Answers`."""
        return self._alone.cpu_seconds()

    def _run(self, mutant: Mutant, which: NDArray[np.uint32]) -> Verdict:
        self._alone.patch(mutant.address, mutant.code)
        try:
            made, finding = self._alone.run(which)
        finally:
            self._alone.patch(mutant.address, self.image.code_at(mutant.address, len(mutant.code)))
        return Verdict(f"{self._every[which[made - 1]].title}: {finding}" if finding else "", made)


class Emulated:
    """In the emulator; see `Answers`."""

    def __init__(self, image: Image, name: str, level: str = "brief") -> None:
        """EmulatorMissing or UnknownImplementation, in one line, where there can be none."""
        self.image, self.row, self.level = image, implementations.named(name), level
        self.checks = Checks(self.row, level)
        self.runner = EmulatedRunner(steps=BRANCHES)

    @contextmanager
    def under(self, mutant: Mutant) -> Iterator[None]:
        """The mutant's code is in place."""
        self.runner.patch(mutant.address, mutant.code)
        try:
            yield
        finally:
            self.runner.patch(mutant.address, self.image.code_at(mutant.address, len(mutant.code)))

    def finding(self, check: Check) -> str:
        """What is wrong in one check; empty for nothing."""
        found = examine(self.runner, self.row.name, check.inputs, check.context, check.expected, check.layout)
        return f"{check.title}: {found}" if found else ""

    def known(self, mutant: Mutant) -> Verdict:
        """See `Answers`."""
        return self._run(mutant, self.checks.known)

    def verified(self, mutant: Mutant, reach: Reach) -> Verdict:
        """See `Answers`."""
        every = self.checks.verified
        return self._run(mutant, (every[number] for number in self.checks.able(mutant.address, reach)))

    def cpu_seconds(self) -> float:
        """See `Answers`."""
        return 0.0

    def _run(self, mutant: Mutant, checks: Iterator[Check] | list[Check]) -> Verdict:
        made = 0
        with self.under(mutant):
            for check in checks:
                made += 1
                if found := self.finding(check):
                    return Verdict(found, made)
        return Verdict("", made)
