"""What is told of a proof that failed: a call that shows it, and the first step that is wrong."""

from __future__ import annotations

from collections.abc import Sequence

from aeskit.cpu import FEATURES, detect
from aeskit.machine.errors import MachineError
from aeskit.verify.first_step import first_step
from aeskit.verify.proof import Proof, Prover
from aeskit.verify.proofs import Target, endless
from aeskit.verify.review import hardware
from aeskit.verify.review.code import read
from aeskit.verify.review.counterexample import search
from aeskit.verify.review.model import Cell


def explain(target: Target, proofs: Sequence[Proof]) -> list[str]:
    """Sentences about the shortest of the failed proofs of one target."""
    image, contract = target.image(), target.promise()
    proof = min(proofs, key=lambda p: (p.length, p.in_place, p.key_size))
    if endless(proof):
        return []
    out = []
    step = first_step(Prover(image), proof, contract)
    if step:
        out.append(f"first wrong step: {step}")
    cell = Cell(contract.name, 8 * proof.key_size, proof.in_place, proof.length, proof.findings)
    try:
        needed = tuple(name for name in read(image, target.function).features if name in FEATURES)
        _, make, _ = hardware.engine(", ".join(detect().missing(needed)))
        out += search(image, target.function, [contract], [cell], target.path, make)
    except (MachineError, ValueError) as error:
        out.append(f"no counterexample was found: {error}")
    return out
