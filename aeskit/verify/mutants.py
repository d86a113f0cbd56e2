"""Mutants of a function: which level kills how many, and why the rest make no difference.

A level is measured alone where that is cheap: known answers and the proof meet every mutant; the verification
begins with the known answers, so it meets those that these leave alive.
"""

from __future__ import annotations

import multiprocessing
import os
import random
import signal
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, replace

from aeskit import _native, contracts
from aeskit.machine.bochs import EmulatorMissing
from aeskit.vectors import TestVector
from aeskit.verify import known, mutants_make, proofs
from aeskit.verify.known import Known
from aeskit.verify.mutants_explain import OUTSIDE, Reason, explain, followed
from aeskit.verify.mutants_levels import EVERYWHERE, Check, Emulated, Proofs, Verdict
from aeskit.verify.mutants_make import Mutant
from aeskit.verify.mutants_reach import Reach
from aeskit.verify.proofs import Target

_context = multiprocessing.get_context("forkserver")


@dataclass(frozen=True)
class Job:
    """One function to be mutated: its contracts, what reaches what, and the verification's level."""

    targets: tuple[Target, ...]
    reach: Reach
    level: str = "brief"

    @property
    def function(self) -> str:
        """Its name."""
        return self.targets[0].function

    @property
    def longest(self) -> int:
        """Of the lengths that are proved."""
        return max(length for lengths in self.reach.classes for length in lengths)


@dataclass(frozen=True)
class Outcome:
    """What became of one mutant; a level that was not run is None."""

    mutant: Mutant
    known: Verdict | None
    verified: Verdict | None
    """None where the known answers killed it: the verification has them too."""
    proof: Verdict | None
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


class Tester:
    """Puts mutants through the levels, in this process, one after the other."""

    def __init__(self, job: Job) -> None:
        """ValueError where the function itself, unchanged, is not proved."""
        self.job, self.proofs = job, Proofs(job.targets, job.reach)
        self.emulated: Emulated | None = None
        if has_known_answers(job.targets[0]):
            try:
                self.emulated = Emulated(job.targets[0].image(), job.function, job.level)
            except EmulatorMissing:
                self.emulated = None
        self._sound()

    def _sound(self) -> None:
        address = self.proofs.image.address_of(self.job.function)
        same = Mutant(address, self.proofs.image.code_at(address, 1), "", "", "", "")
        verdicts = [self.proofs.quick(same), *([self.emulated.known(same)] if self.emulated else [])]
        for verdict in verdicts:
            if verdict.finding:
                raise ValueError(f"only a function that is right has mutants: {verdict.finding}")

    def outcome(self, mutant: Mutant) -> Outcome:
        """Every level's verdict, and the reason where the proof leaves it alive."""
        answers = verified = None
        proof = self.proofs.quick(mutant)
        if self.emulated:
            answers = self.emulated.known(mutant)
            if not answers.killed:
                reached = self.job.reach.lengths(mutant.address)
                verified = self.emulated.verified(mutant, reached, self.job.longest)
        if not proof.finding:
            further = self.proofs.full(mutant)
            proof = replace(further, checks=proof.checks + further.checks)
        outcome = Outcome(mutant, answers, verified, proof)
        if proof.killed or (proof.refused and outcome.killed_by_verification):
            return outcome
        return replace(outcome, reason=self._reason(mutant, answers, verified, proof))

    def _reason(
        self, mutant: Mutant, answers: Verdict | None, verified: Verdict | None, proof: Verdict
    ) -> Reason:
        for verdict in (answers, verified):
            if verdict and verdict.killed:
                return Reason(OUTSIDE, verdict.finding)
        found = explain(self.proofs.image, mutant, self.job.function, self.proofs.promises, self.job.reach)
        return followed(found, proof)


def has_known_answers(target: Target) -> bool:
    """Whether known answers and the verification can call it: the functions of our own core."""
    return bool(contracts.of(target.function)) and target.path == _native.__file__


def sample(mutants: Sequence[Mutant], count: int | None, seed: int) -> list[Mutant]:
    """All, or `count` of them, in an order drawn from the seed: a run stopped early has seen every part."""
    return random.Random(seed).sample(mutants, len(mutants) if count is None else min(count, len(mutants)))


# ---- Many at once -----------------------------------------------------------------------------------------

_TESTERS: list[Tester] = []


def _begin() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _test(job: Job, mutant: Mutant) -> Outcome:
    if not _TESTERS:
        _TESTERS.append(Tester(job))
    return _TESTERS[0].outcome(mutant)


def run(job: Job, mutants: Iterable[Mutant], workers: int | None = None) -> Iterator[Outcome]:
    """Outcomes as they come, from every core.

    A mutant with which its process ends is tried once more, alone, and then counted as such.
    """
    waiting = list(mutants)[::-1]
    while waiting:
        lost: list[Mutant] = []
        yield from _pool(job, waiting, workers or os.cpu_count() or 1, lost)
        for mutant in lost:
            again: list[Mutant] = []
            yield from _pool(job, [mutant], 1, again)
            if again:
                yield Outcome(mutant, None, None, None, None, "the process that ran it ended")


def _pool(job: Job, waiting: list[Mutant], workers: int, lost: list[Mutant]) -> Iterator[Outcome]:
    """Serve from the end of `waiting`; what was under way when a process ended goes to `lost`."""
    pool = ProcessPoolExecutor(workers, _context, _begin)
    running: dict[Future[Outcome], Mutant] = {}
    try:
        while waiting or running:
            while waiting and len(running) < 2 * workers:
                mutant = waiting.pop()
                running[pool.submit(_test, job, mutant)] = mutant
            done, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in done:
                mutant = running.pop(future)
                try:
                    outcome = future.result()
                except BrokenProcessPool:
                    lost += [mutant, *running.values()]
                    return
                yield outcome
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


# ---- For sets of vectors ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Killer:
    """One mutant that a vector may kill: ``killer(vector)`` says whether it does."""

    mutant: Mutant
    emulated: Emulated

    @property
    def name(self) -> str:
        """Unique among one function's."""
        return f"{self.emulated.row.name}: {self.mutant.title}"

    def __call__(self, vector: TestVector) -> bool:
        """Run the vector in the emulator; a vector of another mode kills nothing."""
        if vector.mode != self.emulated.row.mode:
            return False
        return bool(self.kills([vector]))

    def kills(self, vectors: Iterable[TestVector]) -> list[int]:
        """The numbers of the vectors that kill it; quicker than one by one."""
        row = self.emulated.row
        found = []
        with self.emulated.under(self.mutant):
            for number, vector in enumerate(vectors):
                if vector.mode == row.mode and self.emulated.finding(_check(vector, row.direction)):
                    found.append(number)
        return found


def _check(vector: TestVector, direction: str) -> Check:
    one = Known("", direction, vector)
    return Check(known.inputs(one), known.expected(one), EVERYWHERE, vector.name)


def killers(
    name: str, count: int | None = None, seed: int = 0, wanted: Callable[[Mutant], bool] = lambda mutant: True
) -> Iterator[Killer]:
    """Mutants of one of our own functions as things that a test vector kills, `count` of them or all.

    They share one emulator, which runs one at a time; each call is bounded. EmulatorMissing without one.
    """
    image = proofs.own([name])[0].image()
    emulated = Emulated(image, name)
    for mutant in sample(mutants_make.every(image, name).mutants, count, seed):
        if wanted(mutant):
            yield Killer(mutant, emulated)
