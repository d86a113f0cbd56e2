"""Mutants of a function: which level kills how many, and why the rest make no difference.

Each level meets what the ones before it leave alive; to compare the levels the proof can be asked to meet
every mutant.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, replace
from functools import partial

from aeskit import _native, contracts
from aeskit.machine.loader import Image
from aeskit.verify import mutants_levels, mutants_proofs, proofs
from aeskit.verify.mutants_beside import Unproved
from aeskit.verify.mutants_explain import OUTSIDE, Reason, explain, followed, reason
from aeskit.verify.mutants_levels import Verdict
from aeskit.verify.mutants_make import Mutant
from aeskit.verify.mutants_proofs import Proved, Spent
from aeskit.verify.mutants_reach import Reach
from aeskit.verify.proofs import Target

PROOFS = ("then", "all")
"""Which mutants the proof meets: those that the levels before it leave alive, or every one."""
TOGETHER = 8
"""Mutants that a process takes at a time."""


@dataclass(frozen=True)
class Job:
    """One function to be mutated: its contracts, what reaches what, and the verification's level."""

    targets: tuple[Target, ...]
    reach: Reach
    engine: str = ""
    """What runs known answers and verification, one of `mutants_levels.ENGINES`; without it neither does."""
    level: str = ""
    """Of the verification; by default what the engine has time for."""
    proof: str = "then"
    """One of PROOFS."""

    @property
    def function(self) -> str:
        """Its name."""
        return self.targets[0].function


@dataclass(frozen=True)
class Outcome:
    """What became of one mutant; a level that was not run is None."""

    mutant: Mutant
    known: Verdict | None
    verified: Verdict | None
    """None where the known answers killed it: the verification has them too."""
    proof: Verdict | None
    """None where it was not asked: something else killed the mutant."""
    reason: Reason | None = None
    """Of a mutant that the proof passes, or that it refuses and nothing else kills."""
    died: str = ""
    """Why there is no more to say: the process that ran it ended."""

    @property
    def killed_by_known(self) -> bool:
        """Whether a known answer kills it."""
        return self.known is not None and self.known.killed

    @property
    def killed_by_verification(self) -> bool:
        """Whether the verification kills it, with the known answers that it begins with."""
        return self.killed_by_known or (self.verified is not None and self.verified.killed)

    @property
    def killed_by_proof(self) -> bool:
        """Whether a proof finds something wrong."""
        return self.proof is not None and self.proof.killed

    @property
    def refused(self) -> bool:
        """Whether no proof could follow it, so that it would not be called proved."""
        return self.proof is not None and self.proof.refused

    @property
    def survived(self) -> bool:
        """Whether nothing kills it."""
        return not (self.killed_by_verification or self.killed_by_proof or self.died)


def has_known_answers(target: Target) -> bool:
    """Whether known answers and the verification can call it: the functions of our own core."""
    return bool(contracts.of(target.function)) and target.path == _native.__file__


def sample(mutants: Sequence[Mutant], count: int | None, seed: int) -> list[Mutant]:
    """All, or `count` of them, in an order drawn from the seed: a run stopped early has seen every part."""
    return random.Random(seed).sample(mutants, len(mutants) if count is None else min(count, len(mutants)))


# ---- Level after level -----------------------------------------------------------------------------------


def run(
    job: Job,
    mutants: Sequence[Mutant],
    workers: int | None = None,
    told: Callable[[str, int, int], None] = lambda stage, done, total: None,
    spent: Spent | None = None,
) -> Generator[Outcome]:
    """Each outcome when there is no more to say of it; `told` hears (stage, done, all).

    Unproved where the function itself, unchanged, is not right.
    """
    outcomes: dict[Mutant, Outcome] = {}
    if job.engine:
        _right(job)
    for number, outcome in enumerate(answered(job, mutants, workers, spent), 1):
        told("known answers and verification", number, len(mutants))
        if outcome.died or (job.proof == "then" and outcome.killed_by_verification):
            yield outcome
        else:
            outcomes[outcome.mutant] = outcome
    progress = partial(told, "proofs")
    calls = mutants_proofs.prove(job.targets, job.reach, list(outcomes), workers, progress, spent)
    image = job.targets[0].image()
    for proved in calls:
        outcome = replace(outcomes.pop(proved.mutant), proof=proved.verdict)
        yield replace(outcome, reason=_reason(job, image, outcome, proved))


def _reason(job: Job, image: Image, outcome: Outcome, proved: Proved) -> Reason | None:
    """Of a mutant that the proof passes, or that it refuses and nothing else kills."""
    verdict = proved.verdict
    if verdict.killed or (verdict.refused and outcome.killed_by_verification):
        return None
    for level in (outcome.known, outcome.verified):
        if level and level.killed:
            return Reason(OUTSIDE, level.finding)
    if proved.checks and not verdict.refused:
        return reason(outcome.mutant, proved.seen)
    promises = [target.promise() for target in job.targets]
    return followed(explain(image, outcome.mutant, job.function, promises, job.reach), verdict)


_ANSWERS: list[tuple[mutants_levels.Answers, Reach]] = []


def _begin(job: Job) -> None:
    """In a new process."""
    proofs.follow()
    target = job.targets[0]
    _ANSWERS.append((mutants_levels.engine(target.image(), job.function, job.engine, job.level), job.reach))


def _answer(mutants: tuple[Mutant, ...]) -> tuple[list[Outcome], int, float]:
    """What known answers and the verification say, in a process that `_begin` has begun; its CPU seconds."""
    engine, reach = _ANSWERS[0]
    out = []
    for mutant in mutants:
        known = engine.known(mutant)
        verified = None if known.killed else engine.verified(mutant, reach)
        out.append(Outcome(mutant, known, verified, None))
    return out, os.getpid(), time.process_time() + engine.cpu_seconds()


def _right(job: Job) -> None:
    """Unproved where the function itself fails: known answers are enough here, the proofs tell the rest."""
    image = job.targets[0].image()
    engine = mutants_levels.engine(image, job.function, job.engine, "brief")
    address = image.address_of(job.function)
    verdict = engine.known(Mutant(address, image.code_at(address, 1), "", "", "", ""))
    if verdict.killed:
        raise Unproved(f"only a function that is right has mutants: {verdict.finding}")


def answered(
    job: Job, mutants: Sequence[Mutant], workers: int | None = None, spent: Spent | None = None
) -> Iterator[Outcome]:
    """Outcomes without a proof as they come, from every core.

    A mutant with which its process ends is tried once more, alone, and then counted as such.
    """
    if not job.engine:
        yield from (Outcome(mutant, None, None, None) for mutant in mutants)
        return
    waiting = [tuple(mutants[at : at + TOGETHER]) for at in range(0, len(mutants), TOGETHER)][::-1]
    lost: list[Mutant] = []
    spent = {} if spent is None else spent
    while waiting:
        yield from _pool(job, waiting, workers or os.cpu_count() or 1, lost, spent)
    for mutant in lost:
        again: list[Mutant] = []
        yield from _pool(job, [(mutant,)], 1, again, spent)
        if again:
            yield Outcome(mutant, None, None, None, None, "the process that ran it ended")


def _pool(
    job: Job, waiting: list[tuple[Mutant, ...]], workers: int, lost: list[Mutant], spent: Spent
) -> Iterator[Outcome]:
    """Serve from the end of `waiting`; what was under way when a process ended goes to `lost`."""
    pool = ProcessPoolExecutor(workers, mutants_proofs.context, _begin, (job,))
    running: dict[Future[tuple[list[Outcome], int, float]], tuple[Mutant, ...]] = {}
    try:
        while waiting or running:
            while waiting and len(running) < 2 * workers:
                some = waiting.pop()
                running[pool.submit(_answer, some)] = some
            done, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in done:
                some = running.pop(future)
                try:
                    outcomes, process, seconds = future.result()
                except BrokenProcessPool:
                    lost += [mutant for group in (some, *running.values()) for mutant in group]
                    return
                spent[process] = seconds
                yield from outcomes
    finally:
        proofs.end(pool)
