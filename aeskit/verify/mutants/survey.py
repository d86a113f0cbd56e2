"""Mutants of a function: which level kills how many, and why the rest make no difference.

Each level meets what the ones before it leave alive; to compare the levels the proof can be asked to meet
every mutant.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

from aeskit import _native, contracts
from aeskit.verify.mutants import answers, proofs, runs
from aeskit.verify.mutants.answers import Asked
from aeskit.verify.mutants.explain import OUTSIDE, REASONS, UNREACHED, Reason, reason, refused
from aeskit.verify.mutants.levels import Verdict
from aeskit.verify.mutants.make import Mutant
from aeskit.verify.mutants.proofs import Proved, Spent
from aeskit.verify.mutants.reach import Reach
from aeskit.verify.proving.proofs import Target

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
    for number, outcome in enumerate(_answered(job, mutants, workers, spent), 1):
        told("known answers and verification", number, len(mutants))
        if outcome.died or (job.proof == "then" and outcome.killed_by_verification):
            yield outcome
        else:
            outcomes[outcome.mutant] = outcome
    progress = partial(told, "proofs")
    for proved in proofs.prove(job.targets, job.reach, list(outcomes), workers, progress, spent):
        outcome = outcomes.pop(proved.mutant)
        outcome = replace(outcome, proof=_verdict(job, outcome, proved))
        yield replace(outcome, reason=_reason(job.reach, outcome, proved))


def _answered(
    job: Job, mutants: Sequence[Mutant], workers: int | None, spent: Spent | None
) -> Iterator[Outcome]:
    """What known answers and the verification say, where there are any."""
    if not job.engine:
        yield from (Outcome(mutant, None, None, None) for mutant in mutants)
        return
    asked = Asked(job.targets[0], job.reach, job.engine, job.level)
    for found in answers.every(asked, mutants, workers, spent):
        yield Outcome(found.mutant, found.known, found.verified, None, died=found.died)


def _verdict(job: Job, outcome: Outcome, proved: Proved) -> Verdict:
    """What the proofs say; of what they cannot follow, and nothing else kills, a run that is wrong."""
    if proved.finding or not proved.refusals or outcome.killed_by_verification:
        return proved.verdict
    finding = runs.search(job.targets, proved.mutant, job.reach)
    return Verdict(finding, proved.checks) if finding else proved.verdict


def _reason(reach: Reach, outcome: Outcome, proved: Proved) -> Reason | None:
    """Of a mutant that the proof passes, or that it refuses and nothing else kills."""
    if outcome.killed_by_proof or (outcome.refused and outcome.killed_by_verification):
        return None
    for level in (outcome.known, outcome.verified):
        if level and level.killed:
            return Reason(OUTSIDE, level.finding)
    if not proved.checks and not reach.of(outcome.mutant.address):
        return Reason(UNREACHED, REASONS[UNREACHED])
    return refused(proved.refusals[0]) if proved.refusals else reason(outcome.mutant, proved.seen)
