"""Runs in numbers of a mutant that no proof can follow: a wrong one kills it.

What callers may leave in the upper halves of 32-bit arguments is part of it: the verification fills them with
rubbish, and code that is right with rubbish may be wrong without.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from aeskit.machine.decode import GPR_NAMES
from aeskit.machine.errors import MachineError, UnknownInstruction
from aeskit.machine.run import Machine
from aeskit.verify.calls import MARGIN, POISON, Given, Prepared, prepare
from aeskit.verify.mutants.make import Mutant, patched
from aeskit.verify.mutants.reach import Kind, Reach
from aeskit.verify.mutants.states import STEPS
from aeskit.verify.proving.proof import SAVED
from aeskit.verify.proving.proofs import Target

CLASSES = 12
"""Classes of lengths that are tried, spread over those that reach the instruction."""
UPPER = {"clear": 0, "rubbish": POISON, "ones": 0xFFFF_FFFF << 32}
"""What stands in the upper half of every 32-bit argument."""


def search(targets: tuple[Target, ...], mutant: Mutant, reach: Reach) -> str:
    """The first call that a mutant makes wrong, and what is wrong; empty where none was found."""
    image, promises = patched(targets[0].image(), mutant), [target.promise() for target in targets]
    for number, (length, kind) in enumerate(_asked(reach, mutant.address)):
        contract, given = promises[kind.target], Given(length, kind.key_size)
        prepared = prepare(image, targets[0].function, contract, given, vary="data", salt=number)
        for name, poison in UPPER.items():
            if finding := wrong(prepared, poison):
                title = f"{targets[0].function} ({contract.name}), AES-{8 * kind.key_size}, {length} bytes"
                return f"{title}, upper halves {name}: {finding}"
    return ""


def _asked(reach: Reach, address: int) -> Iterator[tuple[int, Kind]]:
    """Lengths with every contract that reaches the instruction, key sizes in turn."""
    every = reach.of(address)
    for number, (lengths, kinds) in enumerate(every[:: max(1, -(-len(every) // CLASSES))]):
        for target in sorted({kind.target for kind in kinds}):
            of_target = [kind for kind in kinds if kind.target == target]
            yield lengths[0], of_target[number % len(of_target)]


def wrong(prepared: Prepared, poison: int) -> str:
    """What is wrong after one call; empty for nothing, and for code that the machine does not know."""
    machine = Machine(prepared.image)
    prepared.load(machine, poison)
    before = {region.name: region.data.copy() for region in machine.memory.regions}
    saved = {number: machine.state.gpr[number] for number in (*SAVED, 4)}
    try:
        machine.start(prepared.symbol)
        machine.resume(STEPS)
    except UnknownInstruction:
        return ""
    except MachineError as error:
        return str(error)
    for number, value in saved.items():
        if machine.state.gpr[number] != value:
            return f"{GPR_NAMES[number]} is not what it was at entry"
    return next(_bytes(prepared, machine, before), "")


def _bytes(prepared: Prepared, machine: Machine, before: dict[str, np.ndarray]) -> Iterator[str]:
    """The buffers that do not hold what they must, or around which something was written."""
    regions = {region.name: region.data for region in machine.memory.regions}
    for buffer in prepared.buffers():
        if buffer.name not in regions:
            continue
        must = before[buffer.name].copy()
        if buffer.expected is None:
            must[MARGIN:-MARGIN] = regions[buffer.name][MARGIN:-MARGIN]
        else:
            must[MARGIN:-MARGIN] = np.frombuffer(buffer.expected, np.uint8)
        unequal = np.flatnonzero(regions[buffer.name] != must)
        if len(unequal):
            at = int(unequal[0])
            found, right = int(regions[buffer.name][at]), int(must[at])
            yield f"{buffer.name}: byte {at - MARGIN} is {found:02x}, must be {right:02x}"
