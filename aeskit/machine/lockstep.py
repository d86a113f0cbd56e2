"""Lock-step: the machine and another engine run the same code; the first thing that differs is named."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from aeskit.machine import decode as d
from aeskit.machine.errors import MachineError
from aeskit.machine.flags import MODELLED, flags_of
from aeskit.machine.memory import Memory, Region
from aeskit.machine.run import MAX_STEPS, RETURN, Machine
from aeskit.machine.silicon import LACKS, LINE, Silicon, Step, Stop
from aeskit.machine.state import FLAG_BITS, Registers

LANE = 16


class Engine(Protocol):
    """What runs beside the machine: `silicon.Silicon`, `bochs.steps.Bochs`."""

    stop: Stop

    @property
    def width(self) -> tuple[int, int]:
        """Vector registers, and bytes of each, that it has."""
        ...

    avoids: tuple[int, ...]
    """Shift counts that it is known to get wrong."""

    def wrong(self, instruction: d.Instruction) -> str:
        """What it is known to do wrong with an instruction; empty for nothing."""
        ...

    def load(self, registers: Registers) -> None:
        """Set the state."""
        ...

    def steps(self, until: int = RETURN, limit: int = MAX_STEPS) -> Iterator[Step]:
        """Run and yield every instruction."""
        ...

    def step(self) -> tuple[Registers | None, Stop]:
        """Run one instruction."""
        ...

    def contents(self, region: Region) -> NDArray[np.uint8]:
        """The bytes of a region."""
        ...

    def write(self, address: int, data: bytes) -> None:
        """Change memory."""
        ...


@dataclass(frozen=True)
class Difference:
    """A place where the two do not agree."""

    name: str
    """``zmm6[2]``, ``rax``, ``cf``, ``rip``, ``destination+0x10``; ``run`` where only one of them goes on."""
    machine: str
    engine: str

    def __str__(self) -> str:
        """Both values."""
        return f"{self.name} is {self.engine}, the machine has {self.machine}"


@dataclass(frozen=True)
class Lockstep:
    """The result of a run."""

    steps: int
    """Instructions after which both agreed."""
    stop: str
    """``returned``, or the fault that both met."""
    difference: Difference | None = None
    where: str = ""
    """The instruction after which it showed."""

    @property
    def lacking(self) -> bool:
        """Whether the engine has no such instruction."""
        return self.difference is not None and LACKS in self.difference.engine

    def __str__(self) -> str:
        """One line."""
        if self.difference is None:
            return f"{self.steps} steps agree; {self.stop}"
        return f"step {self.steps}, {self.where}: {self.difference}"


def lockstep(
    machine: Machine,
    function: str | int,
    engine: Callable[[Memory], Any] = Silicon,
    limit: int = MAX_STEPS,
) -> Lockstep:
    """Run a function in `machine`, its arguments set, and in an engine with a copy of its memory.

    Registers, flags and changed memory are compared after every instruction, all memory at the end. Flags
    that an instruction leaves undefined are not compared until one defines them; af is not modelled.
    """
    machine.start(function)
    other = engine(machine.memory)
    with other if hasattr(other, "__exit__") else nullcontext(other):
        return _Run(machine, other).go(limit)


class _Run:
    """The state of one comparison."""

    def __init__(self, machine: Machine, engine: Engine) -> None:
        self.machine, self.engine = machine, engine
        self.mirror = {r.address: r.data.copy() for r in machine.memory.regions if "w" in r.permissions}
        self.defined = MODELLED
        self.made = self.address = 0
        machine.memory.log = []

    def go(self, limit: int) -> Lockstep:
        self.engine.load(self.machine.registers())
        for step in self.engine.steps(RETURN, limit):
            found = self._step(step)
            if found:
                return Lockstep(self.made, "", found, self.where())
            self.made += 1
        return self._end(self.engine.stop)

    def where(self) -> str:
        """The instruction that was compared last."""
        image, label = self.machine.image, self.machine.image.label_at(self.address)
        try:
            return f"{d.decode(image, self.address).where()} in {label}"
        except MachineError:
            return label

    def _step(self, step: Step) -> Difference | None:
        for address, line in step.changes:
            self._mirror(address, line)
        self.address = step.address
        try:
            instruction = self.machine.step()
        except MachineError as error:
            return Difference("run", f"stopped: {error}", "going on")
        undefined, modified = flags_of(instruction.code)
        self.defined = (self.defined | modified) & ~undefined & MODELLED
        return registers(self.machine, step.registers, self.engine.width, self.defined) or self._memory(step)

    def _mirror(self, address: int, line: bytes) -> None:
        for start, data in self.mirror.items():
            low, high = max(address, start), min(address + LINE, start + len(data))
            if low < high:
                data[low - start : high - start] = np.frombuffer(
                    line[low - address : high - address], np.uint8
                )

    def _memory(self, step: Step) -> Difference | None:
        """Hold the engine's changed lines and the machine's stores against each other."""
        log, self.machine.memory.log = self.machine.memory.log or [], []
        if not isinstance(self.engine, Silicon):
            return None
        places = [(address, LINE) for address, _ in step.changes]
        places += [(address, len(data)) for kind, address, data in log if kind == "w"]
        for region in self.machine.memory.regions if places else ():
            mirror = self.mirror.get(region.address)
            for address, size in places if mirror is not None else ():
                low, high = max(address, region.address), min(address + size, region.end)
                if low < high and (
                    found := _bytes(region, mirror, low - region.address, high - region.address)
                ):
                    return found
        return None

    def _end(self, stop: Stop) -> Lockstep:
        if stop.fault:
            return self._fault(stop)
        for region in self.machine.memory.regions:
            found = _bytes(region, self.engine.contents(region), 0, len(region.data))
            if found:
                return Lockstep(self.made, "", found, "the end")
        return Lockstep(self.made, stop.reason)

    def _fault(self, stop: Stop) -> Lockstep:
        self.address = self.machine.state.rip
        try:
            self.machine.step()
        except MachineError:
            return Lockstep(self.made, stop.reason)
        return Lockstep(self.made, "", Difference("run", "going on", f"stopped: {stop.reason}"), self.where())


def registers(machine: Machine, other: Registers, width: tuple[int, int], flags: int) -> Difference | None:
    """The first register that differs, of those that an engine of this `width` has; `flags` of RFLAGS."""
    state, (count, size) = machine.state, width
    if state.gpr != other.gpr or state.rip != other.rip:
        pairs = zip((*d.GPR_NAMES, "rip"), (*state.gpr, state.rip), (*other.gpr, other.rip), strict=True)
        name, ours, theirs = next((n, a, b) for n, a, b in pairs if a != b)
        return Difference(name, f"{ours:#x}", f"{theirs:#x}")
    if not np.array_equal(state.v[:count, :size], other.v[:count, :size]):
        return _lane(state.v[:count, :size], other.v[:count, :size])
    if size == 64 and state.k != other.k:
        number = next(n for n in range(8) if state.k[n] != other.k[n])
        return Difference(f"k{number}", f"{state.k[number]:#x}", f"{other.k[number]:#x}")
    wrong = (state.flags_word() ^ other.flags) & flags
    if wrong:
        name, bit = next((n, b) for n, b in FLAG_BITS.items() if wrong >> b & 1)
        return Difference(name, str(state.flags_word() >> bit & 1), str(other.flags >> bit & 1))
    return None


def _lane(ours: Any, theirs: Any) -> Difference:
    number, byte = (int(n) for n in np.argwhere(ours != theirs)[0])
    lane = byte // LANE
    part = slice(LANE * lane, LANE * lane + LANE)
    return Difference(
        f"zmm{number}[{lane}]", ours[number, part].tobytes().hex(), theirs[number, part].tobytes().hex()
    )


def _bytes(region: Region, theirs: Any, begin: int, end: int) -> Difference | None:
    ours = region.data[begin:end]
    unequal = np.flatnonzero(ours != theirs[begin:end])
    if not unequal.size:
        return None
    at = int(unequal[0])
    name = f"{region.name}+{begin + at:#x}"
    return Difference(name, f"{ours[at]:02x}", f"{theirs[begin + at]:02x}")
