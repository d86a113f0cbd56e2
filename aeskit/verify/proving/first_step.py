"""The first step at which a lane stops being what the model says."""

from __future__ import annotations

from typing import Any

import numpy as np

from aeskit.contracts import ANY, Call, Contract
from aeskit.machine.decode import Vector
from aeskit.machine.errors import MachineError
from aeskit.machine.run import RETURN
from aeskit.machine.splits import Choose, Impossible, Split
from aeskit.verify.proving.arrival import wanted
from aeskit.verify.proving.assumption import Assumption, Choices
from aeskit.verify.proving.proof import FIRST_BUFFER, Proof, Prover

LANE = 16


def first_step(prover: Prover, proof: Proof, contract: Contract) -> str:
    """The first AES round that leads to a wrong byte and whose result no round of the model has.

    Empty where there is none: the wrong byte was made of right states. A counter's first case is looked at.
    """
    choices = prover.choices.get((proof.function, contract.name), Choices())
    todo = choices.cases(Assumption())[::-1]
    while todo:
        assumption = todo.pop()
        try:
            call = prover.call(contract, proof.length, proof.key_size, proof.in_place, assumption)
            prover.place(call)
            prover.machine.call(proof.function, prover.limit)
            guilty = _guilty(prover, call)
            if guilty:
                return _look(prover, proof.function, call, _states(prover, call, contract), guilty)
        except Split as split:
            todo += assumption.halves(split)
        except Impossible:
            continue
        except (Choose, MachineError):
            return ""
    return ""


def _guilty(prover: Prover, call: Call) -> set[int]:
    """The bytes that went through the S-box on the way to a wrong byte."""
    wrong: list[int] = []
    regions = prover.machine.memory.regions_from(FIRST_BUFFER)
    for buffer, region in zip((b for b in call.buffers if len(b.data)), regions, strict=False):
        if buffer.expected is not ANY:
            wrong += region.data[region.data != wanted(buffer)].tolist()
    expressions, seen, ahead = prover.domain.expressions, set(), wrong[:LANE]
    while ahead:
        for atom, _ in expressions.terms[ahead.pop() >> 8]:
            what = expressions.atoms[atom]
            if what[0] in ("forward", "inverse") and what[1] not in seen:
                seen.add(what[1])
                ahead.append(what[1])
    return seen


def _states(prover: Prover, call: Call, contract: Any) -> set[bytes]:
    """Every value of 16 bytes that the model names."""
    states: set[bytes] = set()

    def note(text: str, place: str = "", phase: str = "", **values: Any) -> None:
        states.update(np.asarray(v).tobytes() for v in values.values() if len(v) == LANE)

    told = Call(prover.model, call._unknown, prover._add, call.length, call.key_size, call.in_place)
    told.note = note
    contract.setup(told)
    return states


def _look(prover: Prover, function: str, call: Call, states: set[bytes], guilty: set[int]) -> str:
    machine = prover.machine
    prover.place(call)
    machine.start(function)
    while machine.state.rip != RETURN:
        instruction = machine.step()
        if "aesenc" not in instruction.mnemonic and "aesdec" not in instruction.mnemonic:
            continue
        target = instruction.operands[0]
        assert isinstance(target, Vector)
        for lane in range(target.size // LANE):
            value = machine.state.v[target.number, LANE * lane : LANE * lane + LANE]
            if value.tobytes() not in states and guilty & set(value.tolist()):
                place = machine.image.label_at(instruction.address)
                return f"lane {lane} of {instruction.where()} in {place} is no state of the model"
    return ""
