"""Known answers and the verification under every mutant, on every core; what ends a process is a finding."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass

from aeskit.verify import pool
from aeskit.verify.mutants import levels
from aeskit.verify.mutants.beside import Unproved
from aeskit.verify.mutants.levels import Verdict
from aeskit.verify.mutants.make import Mutant
from aeskit.verify.mutants.proofs import Spent
from aeskit.verify.mutants.reach import Reach
from aeskit.verify.proving.proofs import Target

TOGETHER = 8
"""Mutants that a process takes at a time."""
DIED = "the process that ran it ended"


@dataclass(frozen=True)
class Asked:
    """A function, what reaches what, and by which engine and how far it is verified."""

    target: Target
    reach: Reach
    engine: str
    level: str

    def answers(self, level: str = "") -> levels.Answers:
        """The engine, at its own level or another."""
        return levels.engine(self.target.image(), self.target.function, self.engine, level or self.level)


@dataclass(frozen=True)
class Answered:
    """What became of one mutant."""

    mutant: Mutant
    known: Verdict | None
    verified: Verdict | None = None
    """None where the known answers killed it: the verification has them too."""
    died: str = ""
    """Why there is no more to say: the process that ran it ended."""


Group = tuple[Mutant, ...]
Made = tuple[list[Answered], int, float]
"""What was said, by which process, and the CPU seconds that it has used."""


def every(
    asked: Asked, mutants: Sequence[Mutant], workers: int | None = None, spent: Spent | None = None
) -> Iterator[Answered]:
    """Of each mutant as it comes. One with which its process ends is tried once more, alone.

    Unproved where the function itself, unchanged, fails.
    """
    _right(asked)
    spent = {} if spent is None else spent
    waiting = [tuple(mutants[at : at + TOGETHER]) for at in range(0, len(mutants), TOGETHER)][::-1]
    lost: list[Mutant] = []
    while waiting:
        yield from _served(asked, waiting, pool.cores(workers), lost, spent)
    for mutant in lost:
        again: list[Mutant] = []
        yield from _served(asked, [(mutant,)], 1, again, spent)
        if again:
            yield Answered(mutant, None, died=DIED)


def _right(asked: Asked) -> None:
    """Known answers are enough here, the proofs tell the rest."""
    engine, function = asked.answers("brief"), asked.target.function
    address = engine.image.address_of(function)
    verdict = engine.known(Mutant(address, engine.image.code_at(address, 1), "", "", "", ""))
    if verdict.killed:
        raise Unproved(f"only a function that is right has mutants: {verdict.finding}")


def _served(
    asked: Asked, waiting: list[Group], workers: int, lost: list[Mutant], spent: Spent
) -> Iterator[Answered]:
    """Serve from the end of `waiting`; what was under way when a process ended goes to `lost`."""
    running: dict[Future[Made], Group] = {}
    with pool.processes(workers, _begin, asked) as processes:
        while waiting or running:
            while waiting and len(running) < 2 * workers:
                group = waiting.pop()
                running[processes.submit(_answer, group)] = group
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                group = running.pop(future)
                try:
                    answered, process, seconds = future.result()
                except BrokenProcessPool:
                    lost += [mutant for some in (group, *running.values()) for mutant in some]
                    return
                spent[process] = seconds
                yield from answered


# ---- In a process ----------------------------------------------------------------------------------------

_ENGINE: list[tuple[levels.Answers, Reach]] = []


def _begin(asked: Asked) -> None:
    _ENGINE.append((asked.answers(), asked.reach))


def _answer(group: Group) -> Made:
    engine, reach = _ENGINE[0]
    out = []
    for mutant in group:
        known = engine.known(mutant)
        out.append(Answered(mutant, known, None if known.killed else engine.verified(mutant, reach)))
    return out, os.getpid(), time.process_time() + engine.cpu_seconds()
