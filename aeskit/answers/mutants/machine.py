"""Mutants of our own machine code, one instruction changed, as killers: run in the emulator, all layouts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from aeskit import implementations
from aeskit.answers.check import Checker, Status
from aeskit.answers.emulated import Emulated
from aeskit.machine.loader import Image
from aeskit.vectors import TestVector
from aeskit.vectors.test_vector import DIRECTIONS
from aeskit.verify.emulated import EmulatedRunner
from aeskit.verify.mutants import make as mutants_make
from aeskit.verify.mutants.levels import BRANCHES
from aeskit.verify.mutants.make import Mutant as Change
from aeskit.verify.mutants.survey import sample
from aeskit.verify.proving import proofs


@dataclass(frozen=True)
class MachineKiller:
    """One changed instruction. Those of one function share an emulator, which runs one at a time."""

    change: Change
    row: implementations.Implementation
    image: Image
    runner: EmulatedRunner

    @property
    def name(self) -> str:
        """Function, place, and what became what."""
        return f"{self.row.name}: {self.change.title}"

    @property
    def mode(self) -> str:
        """The function's."""
        return self.row.mode

    @property
    def family(self) -> str:
        """The kind of change."""
        return f"{self.row.name}, {self.change.kind}"

    def kills(self, vectors: Sequence[TestVector]) -> Iterator[int]:
        """The numbers of the vectors that are not answered right, or not within bounds, with the change."""
        # The other direction is another function, in which nothing is changed.
        directions = (self.row.direction,) if self.row.direction in DIRECTIONS else DIRECTIONS
        checker = Checker(Emulated(self.row.instruction_set, self.runner), directions)
        for number, vector in enumerate(vectors):
            if vector.mode != self.mode:
                continue
            self.runner.patch(self.change.address, self.change.code)
            try:
                found = checker.check(vector).status
            finally:
                size = len(self.change.code)
                self.runner.patch(self.change.address, self.image.code_at(self.change.address, size))
            if found is Status.FAILED:
                yield number


def of_function(name: str, count: int | None = None, seed: int = 0) -> list[MachineKiller]:
    """`count` mutants of one of our own functions, drawn by the seed, or all of them.

    UnknownImplementation for another name; EmulatorMissing, which says what to install, without an emulator.
    """
    row = implementations.named(name)
    image = proofs.own([name])[0].image()
    runner = EmulatedRunner(steps=BRANCHES)
    changes = sample(mutants_make.every(image, name).mutants, count, seed)
    return [MachineKiller(change, row, image, runner) for change in changes]
