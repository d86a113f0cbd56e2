"""What is told of a proof that failed: a call that shows it, and the first step that is wrong."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from aeskit.cpu import FEATURES, detect
from aeskit.machine.errors import MachineError
from aeskit.verify.proving.first_step import first_step
from aeskit.verify.proving.proof import Proof, Prover
from aeskit.verify.proving.proofs import Target, endless
from aeskit.verify.review import hardware
from aeskit.verify.review.code import read
from aeskit.verify.review.counterexample import Counterexample
from aeskit.verify.review.model import Cell
from aeskit.verify.review.search import NoneFound, search


@dataclass(frozen=True)
class Refuted:
    """What shows that one target is wrong."""

    function: str
    step: str = ""
    """The first step that is wrong where no call tells it; empty where none was found."""
    shown: Counterexample | None = None
    why_not: str = ""
    """Why there is no counterexample."""

    def lines(self) -> list[str]:
        """For a report."""
        step = [f"first wrong step: {self.step}"] if self.step else []
        told = [f"no call that shows it was found: {self.why_not}"] if self.why_not else []
        return [*step, *(self.shown.lines() if self.shown else told)]


def explain(target: Target, proofs: Sequence[Proof]) -> Refuted:
    """About the shortest of the failed proofs of one target."""
    image, contract = target.image(), target.promise()
    proof = min(proofs, key=lambda p: (p.length, p.in_place, p.key_size))
    if endless(proof.findings):
        return Refuted(target.function)
    step, shown, why = "", None, ""
    cell = Cell(contract.name, 8 * proof.key_size, proof.in_place, proof.length, proof.findings)
    try:
        needed = tuple(name for name in read(image, target.function).features if name in FEATURES)
        _, make, _ = hardware.engine(", ".join(detect().missing(needed)))
        shown = search(image, target, [contract], [cell], make)
    except (NoneFound, MachineError, ValueError) as error:
        why = str(error)
    if not (shown and shown.step):
        step = first_step(Prover(image), proof, contract)
    return Refuted(target.function, step, shown, why)
