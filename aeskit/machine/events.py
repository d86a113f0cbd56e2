"""What an engine tells of a run: after each instruction what it set and the memory it touched."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from aeskit.bits import to_le
from aeskit.machine import decode as d
from aeskit.machine.errors import MachineError, UnknownInstruction
from aeskit.machine.memory import Memory
from aeskit.machine.run import MAX_STEPS, RETURN, Machine
from aeskit.machine.state import FLAG_BITS, Registers


@dataclass
class Event:
    """One instruction that ran, or the one that could not."""

    instruction: d.Instruction
    values: dict[str, bytes] = field(default_factory=dict)
    """Registers that it wrote, by full name: zmm0 64 bytes, rax and k1 8, flags 2 (RFLAGS)."""
    accesses: list[tuple[str, int, bytes]] = field(default_factory=list)
    """(r or w, address, the bytes that were read or written)."""


@dataclass
class Events:
    """A run."""

    start: Registers
    events: list[Event] = field(default_factory=list)
    problem: str = ""
    """Why it stopped before the return; the last event is then the instruction that could not run."""
    unanswered: bool = False
    """Whether it stopped at what the machine does not know: an instruction, a function of another file."""
    end: Registers = field(default_factory=Registers)


MOST_REPEATED = 1 << 16
"""Elements of a repeated instruction that are told: more than any buffer here has."""


def lanes(machine: Machine, function: str | int, limit: int = MAX_STEPS) -> Events:
    """Run a function in the lane machine, its arguments set."""
    machine.start(function)
    run = Events(machine.registers())
    machine.changes, machine.memory.log = [], []
    try:
        machine.resume(limit)
    except MachineError as error:
        run.problem = str(error)
        left = machine.state.rip in machine.image.externals
        run.unanswered = left or isinstance(error, UnknownInstruction)
    for rip, values, accesses in machine.changes:
        instruction = machine.instruction(rip)
        event = Event(instruction)
        for name, value in zip(instruction.writes, values, strict=True):
            event.values[name] = _value(name, value)
        event.accesses = [(kind, at, data.tobytes()) for kind, at, data in accesses]
        run.events.append(event)
    run.end = machine.registers()
    if run.problem:
        _add_last(run, machine)
    return run


def engine(
    machine: Machine, function: str | int, make: Callable[[Memory], Any], limit: int = MAX_STEPS
) -> Events:
    """Run a function in another engine with a copy of the machine's memory: `silicon.Silicon` and its like.

    What it reads and writes is told from the operands of each instruction. The machine's memory is then the
    engine's.
    """
    machine.start(function)
    other = make(machine.memory)
    with other if hasattr(other, "__exit__") else nullcontext(other):
        run = _stepped(machine, other, limit)
        for region in machine.memory.regions:
            region.data[...] = other.contents(region)
    return run


def _stepped(machine: Machine, other: Any, limit: int) -> Events:
    run = Events(machine.registers())
    shadow = Memory([type(r)(r.name, r.address, r.data.copy()) for r in machine.memory.regions])
    other.load(run.start)
    run.end = other.registers()
    watches = hasattr(other, "close")  # silicon tells what changed in memory; others are asked
    for step in other.steps(RETURN, limit) if watches else _single(machine, other, limit):
        instruction = machine.instruction(step.address)
        event = Event(instruction, _changed(instruction, step.registers))
        touched = list(_operand_accesses(instruction, run.end))
        event.accesses += [(kind, at, _held(shadow, at, size)) for kind, at, size in touched if kind == "r"]
        for address, line in step.changes:
            _update(shadow, address, line)
        event.accesses += [(kind, at, _held(shadow, at, size)) for kind, at, size in touched if kind == "w"]
        run.events.append(event)
        run.end = step.registers
    if other.stop.reason != "returned":
        run.problem = (
            "more steps than the run was given" if other.stop.reason == "limit" else other.stop.reason
        )
        machine.state.rip = run.end.rip
        _add_last(run, machine)
    return run


def _single(machine: Machine, other: Any, limit: int) -> Iterator[Any]:
    """Steps of an engine that does not watch memory: what each wrote is read from its memory."""
    from aeskit.machine.silicon import Step, Stop

    state = other.registers()
    for _ in range(limit):
        if state.rip == RETURN:
            other.stop = Stop("returned")
            return
        touched = _operand_accesses(machine.instruction(state.rip), state)
        written = [(at, size) for kind, at, size in touched if kind == "w"]
        after, stop = other.step()
        if after is None:
            other.stop = stop
            return
        yield Step(state.rip, after, tuple((at, other.read(at, size)) for at, size in written))
        state = after
    other.stop = Stop("limit")


def _add_last(run: Events, machine: Machine) -> None:
    try:
        run.events.append(Event(machine.instruction(machine.state.rip)))
    except MachineError:
        return


def _value(name: str, value: Any) -> bytes:
    if isinstance(value, np.ndarray):
        return value.tobytes()
    if isinstance(value, tuple):
        cf, pf, zf, sf, of = (int(flag) for flag in value)
        word = {"cf": cf, "pf": pf, "zf": zf, "sf": sf, "of": of}
        return to_le(sum(bit << FLAG_BITS[flag] for flag, bit in word.items()), 2)
    return to_le(int(value), 8)


def register(state: Registers, name: str) -> bytes:
    """A register of a snapshot by its full name."""
    if name[:3] in ("xmm", "ymm", "zmm"):
        return bytes(state.v[int(name[3:])].tobytes())
    if name == "flags":
        return to_le(state.flags & sum(1 << bit for flag, bit in FLAG_BITS.items() if flag != "af"), 2)
    return to_le(state.k[int(name[1:])] if name[0] == "k" else state.gpr[d.GPR_NAMES.index(name)], 8)


def _changed(instruction: d.Instruction, after: Registers) -> dict[str, bytes]:
    """The registers that an instruction says it writes."""
    return {name: register(after, name) for name in instruction.writes if is_register(name)}


def is_register(name: str) -> bool:
    """Whether `name` is a register that traces tell."""
    return name in d.GPR_NAMES or name == "flags" or name[:3] in ("xmm", "ymm", "zmm") or name in MASKS


MASKS = tuple(f"k{n}" for n in range(8))


def _update(shadow: Memory, address: int, line: bytes) -> None:
    for region in shadow.regions:
        low, high = max(address, region.address), min(address + len(line), region.end)
        if low < high:
            part = line[low - address : high - address]
            region.data[low - region.address : high - region.address] = np.frombuffer(part, np.uint8)


def _held(shadow: Memory, address: int, size: int) -> bytes:
    try:
        return bytes(shadow.read(address, size).tobytes())
    except MachineError:
        return bytes(size)


def _operand_accesses(instruction: d.Instruction, state: Registers) -> Iterator[tuple[str, int, int]]:
    """(r or w, address, bytes) of an instruction about to run in `state`."""
    if instruction.prefix and instruction.mnemonic[:4] in ("movs", "stos"):
        yield from _repeated(instruction, state)
        return
    lib = d.iced()
    raw = lib.module.Decoder(64, instruction.code, ip=instruction.address).decode()
    access = lib.module.OpAccess
    for used in lib.information.info(raw).used_memory():
        size = lib.module.MemorySizeInfo(used.memory_size).size
        if used.access == access.NO_MEM_ACCESS or not size:
            continue
        address = used.displacement + d.THREAD * (lib.registers[used.segment] == "fs")
        for name, scale in ((used.base, 1), (used.index, used.scale)):
            full = lib.registers[lib.module.RegisterExt.full_register(name)] if name else ""
            address += state.gpr[d.GPR_NAMES.index(full)] * scale if full in d.GPR_NAMES else 0
        skip, size = _unmasked(lib, raw, instruction, state, size)
        address = (address + skip) % (1 << 64)
        if size and used.access not in (access.WRITE, access.COND_WRITE):
            yield "r", address, size
        if size and used.access not in (access.READ, access.COND_READ):
            yield "w", address, size


def _repeated(instruction: d.Instruction, state: Registers) -> Iterator[tuple[str, int, int]]:
    """The same of a repeated string instruction, element by element, as the lane machine has them."""
    places = [o for o in instruction.operands if isinstance(o, d.Memory)]
    for number in range(min(state.gpr[1], MOST_REPEATED)):
        for operand in reversed(places):
            at = state.gpr[operand.base or 0] + number * operand.size
            yield "w" if operand.base == 7 else "r", at % (1 << 64), operand.size


def _unmasked(lib: Any, raw: Any, instruction: d.Instruction, state: Registers, size: int) -> tuple[int, int]:
    """The first byte and the number of bytes that a mask leaves of an access of `size`."""
    if not instruction.mask:
        return 0, size
    element = lib.module.MemorySizeInfo(raw.memory_size).element_size or 1
    mask = state.k[instruction.mask] & ((1 << size // element) - 1)
    if not mask:
        return 0, 0
    first = (mask & -mask).bit_length() - 1
    return element * first, element * (mask.bit_length() - first)
