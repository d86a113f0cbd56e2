"""A function and a mutant of it, step by step: their states kept and compared, and where they differ."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from aeskit.machine import decode as d
from aeskit.machine.run import Machine

STEPS = 20_000
"""Instructions after which a mutant is given up; the longest run of ours takes about two thousand."""
CLEARS = ("vzeroupper", "vzeroall")
"""They read registers only to shorten them."""
_FLAGS = ("cf", "pf", "zf", "sf", "of")
"""Not af, which no instruction of the table reads."""


class Side:
    """One of two codes: its machine, and what its run has left in the domain that both share."""

    def __init__(self, machine: Machine) -> None:
        """It stands nowhere."""
        self.machine, self.aligned = machine, ()

    def start(self, function: str) -> None:
        """Stand at the function's first instruction, memory and arguments being set."""
        self.aligned = ()
        self.machine.start(function)

    def step(self) -> d.Instruction:
        """Run one instruction and give it back."""
        return self._in_turn(self.machine.step)

    def resume(self, until: Callable[[int], Any] | None = None) -> None:
        """Go on to the return, or until `until(address)`; StepLimit after STEPS."""
        self._in_turn(lambda: self.machine.resume(STEPS, until))

    def _in_turn(self, run: Callable[[], Any]) -> Any:
        domain: Any = self.machine.domain
        domain.aligned = self.aligned
        try:
            return run()
        finally:
            self.aligned = domain.aligned


class Kept:
    """A copy of a side's state: registers, flags, memory that can be written, the stack's alignment."""

    def __init__(self, side: Side) -> None:
        """Copy it."""
        machine, state = side.machine, side.machine.state
        self.v, self.k, self.gpr, self.rip = state.v.copy(), list(state.k), list(state.gpr), state.rip
        self.flags = [getattr(state, name) for name in (*_FLAGS, "af")]
        self.memory = [region.data.copy() for region in _written(machine)]
        self.steps, self.aligned = machine.steps, side.aligned

    def into(self, side: Side) -> None:
        """Put it into a side with the same memory."""
        machine, state = side.machine, side.machine.state
        state.v[...], state.k[:], state.gpr[:], state.rip = self.v, self.k, self.gpr, self.rip
        for name, value in zip((*_FLAGS, "af"), self.flags, strict=True):
            setattr(state, name, value)
        for region, data in zip(_written(machine), self.memory, strict=True):
            region.data[...] = data
        machine.steps, side.aligned = self.steps, self.aligned


def _written(machine: Machine) -> list[Any]:
    """Buffers that may be written, and the stack: all that a proof lets code write."""
    sections = {section.address for section in machine.image.sections}
    return [r for r in machine.memory.regions if "w" in r.permissions and r.address not in sections]


def same(one: Side, other: Side) -> bool:
    """Whether nothing differs on which the rest of a run may hang."""
    a, b = one.machine.state, other.machine.state
    if a.gpr != b.gpr or not np.array_equal(a.v, b.v) or a.k != b.k or one.aligned != other.aligned:
        return False
    if any(getattr(a, name) != getattr(b, name) for name in _FLAGS):
        return False
    memory = zip(_written(one.machine), _written(other.machine), strict=True)
    return all(np.array_equal(mine.data, its.data) for mine, its in memory)


def differences(one: Side, other: Side) -> Iterator[str]:
    """The names of what is not the same."""
    a, b = one.machine.state, other.machine.state
    yield from (f"zmm{n}" for n in np.flatnonzero((a.v != b.v).any(axis=1)).tolist())
    yield from (name for n, name in enumerate(d.GPR_NAMES) if a.gpr[n] != b.gpr[n])
    yield from (f"k{n}" for n in range(8) if a.k[n] != b.k[n])
    if any(getattr(a, name) != getattr(b, name) for name in _FLAGS):
        yield "flags"
    for mine, its in zip(_written(one.machine), _written(other.machine), strict=True):
        if (mine.data != its.data).any():
            yield f"memory: {mine.name}"
    if one.aligned != other.aligned:
        yield "the stack's alignment"


@dataclass
class Seen:
    """What a function and a mutant, run side by side, showed."""

    visits: int = 0
    """Of the instruction that was changed."""
    differed: dict[str, None] = field(default_factory=dict)
    readers: dict[str, None] = field(default_factory=dict)
    left: tuple[str, ...] = ()
    """What differs at the end, or where the comparison ended."""
    parted: str = ""
    """The instruction after which they go different ways."""
    steps: tuple[int, int] = (0, 0)
    """Instructions of the function's whole run, and of the mutant's."""
    whole: bool = False
    """Whether they were compared as long as anything differed."""
    unfollowed: tuple[str, ...] = ()
    """Instructions of the mutant in place of whose results any values did."""
    rests: tuple[str, ...] = ()
    """What that rests on."""

    def step(self, one: Side, other: Side, address: int) -> bool:
        """One instruction of both, which are at the same place; False where they part behind it."""
        state, changed = one.machine.state, other.machine.state
        at, end = state.rip, one.machine.instruction(state.rip).following
        self.visits += at == address
        instruction = one.step()
        other.step()
        while at == address and at < changed.rip < end:
            other.step()  # the nops that fill a shorter mutant up
        if state.rip != changed.rip:
            self.parted = instruction.text
            return False
        if self.left and at != address and instruction.mnemonic not in CLEARS:
            read = [name for name in self.left if name in instruction.reads]
            if read:
                self.readers[f"{instruction.text} ({', '.join(read)})"] = None
        self.left = () if same(one, other) else tuple(differences(one, other))
        self.differed |= dict.fromkeys(self.left)
        return True
