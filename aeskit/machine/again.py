"""One instruction of a run made again with other sources, by the semantics table's own bodies.

What each bit of a source does to what the instruction wrote is seen by changing it. So moves, shuffles,
blends, shifts by bits and bytes, inserts, extracts, bswap and products with a constant need no rule of their
own: they are linear over GF(2) in each source, the others being as they were.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from aeskit.bits import from_le, to_le
from aeskit.machine import decode as d
from aeskit.machine.bind import bind
from aeskit.machine.errors import MachineError
from aeskit.machine.events import Event, is_register, register
from aeskit.machine.loader import Image
from aeskit.machine.memory import Memory, Region
from aeskit.machine.run import Machine
from aeskit.machine.state import State

LANE = 16
AROUND = 64
"""Bytes of memory around an access: an operand under a mask is larger than what was touched of it."""
_PROBES = tuple(np.random.default_rng(n).integers(1, 256, LANE, np.uint8).tobytes() for n in range(3))
"""What is added to a source to see whether it counts, and whether it counts linearly."""


@dataclass(frozen=True)
class Place:
    """Bytes of a register, by its full name and the offset in it, or of memory, by their address."""

    name: str
    """Empty for memory."""
    at: int
    size: int


class Held(Protocol):
    """What registers held when a step began."""

    def value(self, name: str, before: int) -> bytes:
        """All bytes of a register."""
        ...


class Again:
    """One step, ready to be made again."""

    def __init__(self, held: Held, step: int, event: Event) -> None:
        """UnknownInstruction where the table does not have it."""
        self.event, ins = event, event.instruction
        self.machine = Machine(Image(""))
        self.machine.memory.replace([self.machine.stack, *_regions(event, self.machine.stack)])
        names = dict.fromkeys(name for name in (*ins.reads, *ins.writes) if is_register(name))
        self.registers: Mapping[str, bytes] = {name: held.value(name, step) for name in names}
        self.reads = [(at, data) for kind, at, data in event.accesses if kind == "r"]
        self.execute = bind(self.machine, ins)

    # ---- Sources

    def places(self) -> Iterator[Place]:
        """What it may have made its result of: lanes, general registers, memory in pieces of up to a lane."""
        sizes = [o.size for o in self.event.instruction.operands if isinstance(o, d.Vector)]
        for name in self.registers:
            if name[1:3] == "mm":
                yield from (Place(name, at, LANE) for at in range(0, max(sizes, default=64), LANE))
            elif name in d.GPR_NAMES:
                yield Place(name, 0, 8)
            elif name == "flags":
                yield Place(name, 0, 2)
        for address, data in self.reads:
            for at in range(0, len(data), LANE):
                yield Place("", address + at, min(LANE, len(data) - at))

    def source(self, place: Place) -> bytes:
        """What stood there before the step."""
        if place.name:
            return self.registers[place.name][place.at : place.at + place.size]
        found = next(item for item in self.reads if item[0] <= place.at < item[0] + len(item[1]))
        return found[1][place.at - found[0] :][: place.size]

    # ---- The step

    def made(self, target: Place, changed: Place | None = None, data: bytes = b"") -> bytes | None:
        """What it writes to `target` if `data` stands in the changed place; None where it then faults."""
        state, memory = self.machine.state, self.machine.memory
        for address, held in self.reads:
            _put(memory, address, held)
        for name, held in self.registers.items():
            if changed and name == changed.name:
                held = held[: changed.at] + data + held[changed.at + changed.size :]
            _set(state, name, held)
        if changed and not changed.name:
            _put(memory, changed.at, data)
        try:
            self.execute()
            return self._held(target)
        except MachineError:
            return None

    def _held(self, target: Place) -> bytes:
        state, name = self.machine.state, target.name
        if not name:
            return bytes(self.machine.memory.read(target.at, target.size).tobytes())
        if name == "flags":
            whole = register(self.machine.registers(), name)
        elif name[1:3] == "mm":
            whole = state.v[int(name[3:])].tobytes()
        else:
            whole = to_le(state.gpr[d.GPR_NAMES.index(name)] % (1 << 64), 8)
        return whole[target.at : target.at + target.size]

    def columns(self, source: Place, target: Place) -> list[int] | None:
        """For each bit of a source the bits of the target that change with it, as integers.

        Empty where nothing changes; None for a source that does not count linearly: an order, an address.
        """
        base, held = self.made(target), self.source(source)
        if base is None:
            return None
        plain, value, size = from_le(base), from_le(held), len(held)
        found = [self.made(target, source, to_le(value ^ probe, size)) for probe in _probes(size)]
        if all(one == base for one in found):
            return []
        out = []
        for bit in range(8 * size):
            one = self.made(target, source, to_le(value ^ 1 << bit, size))
            if one is None:
                return None
            out.append(from_le(one) ^ plain)
        sums = [_sum(out, probe) for probe in _probes(size)]
        same = all(one is not None and from_le(one) ^ plain == s for one, s in zip(found, sums, strict=True))
        return out if same else None


def _probes(size: int) -> list[int]:
    return [from_le(probe[:size]) for probe in _PROBES]


def _sum(columns: list[int], bits: int) -> int:
    total = 0
    for number, column in enumerate(columns):
        total ^= column if bits >> number & 1 else 0
    return total


def _regions(event: Event, stack: Region) -> Iterator[Region]:
    """Memory for the accesses of a step, those that lie close together in one region."""
    spans: list[list[int]] = []
    for begin, end in sorted((at - AROUND, at + len(data) + AROUND) for _, at, data in event.accesses):
        if stack.address - AROUND < end and begin < stack.end + AROUND:
            continue
        if spans and begin <= spans[-1][1]:
            spans[-1][1] = max(end, spans[-1][1])
        else:
            spans.append([begin, end])
    for begin, end in spans:
        yield Region("memory", max(begin, 0), np.zeros(end - max(begin, 0), np.uint8))


def _put(memory: Memory, address: int, data: bytes) -> None:
    memory.write(address, np.frombuffer(data, np.uint8))


def _set(state: State, name: str, value: bytes) -> None:
    if name[1:3] == "mm":
        state.v[int(name[3:])] = np.frombuffer(value, np.uint8)
    elif name == "flags":
        state.set_flags(from_le(value))
    elif name in d.GPR_NAMES:
        state.gpr[d.GPR_NAMES.index(name)] = from_le(value)
    else:
        state.k[int(name[1:])] = from_le(value)
