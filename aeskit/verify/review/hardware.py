"""The function on this CPU, or an emulated one, in layouts that show what reads or writes too far."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from aeskit.contracts import ANY, Buffer, Contract
from aeskit.machine import decode as d
from aeskit.machine.errors import MachineError
from aeskit.machine.loader import Image
from aeskit.machine.memory import Region
from aeskit.machine.run import RETURN, Machine
from aeskit.machine.state import Registers
from aeskit.verify.calls import ARGUMENTS, BUFFER_STEP, FIRST_BUFFER, Given, Prepared, prepare
from aeskit.verify.review.runs import ENDLESS, LIMIT, title

PAGE = 4096
DIRECTION = 1 << 10
"""DF of RFLAGS."""
RSP, SAVED = 4, (3, 5, 12, 13, 14, 15)
Place = Callable[[Buffer, int], int]
"""From a buffer and the start of its own pages to its address."""


@dataclass(frozen=True)
class Layout:
    """Where the buffers lie."""

    name: str
    place: Place


def _end(buffer: Buffer, start: int) -> int:
    """The last byte lies before a page that is not mapped; what may be aligned stays at 16."""
    size = -(-len(buffer.data) // 16) * 16 if buffer.aligned else len(buffer.data)
    return start + -(-size // PAGE) * PAGE - size


def _shifted(offset: int, which: str) -> Layout:
    def place(buffer: Buffer, start: int) -> int:
        mine = which in (buffer.name, "both") or (buffer.name == "data")
        return start + 64 + (offset if mine and not buffer.aligned else 0)

    return Layout(f"{which} {offset} bytes off alignment", place)


LAYOUTS = (
    Layout("exact, each buffer ending at a guard page", _end),
    Layout("exact, each buffer beginning at a guard page", lambda buffer, start: start),
    *(_shifted(offset, "source") for offset in range(1, 16)),
    *(_shifted(offset, "destination") for offset in range(1, 16)),
)


@dataclass
class Hardware:
    """What the runs told."""

    engine: str = ""
    """``this CPU`` or ``the emulator``; empty where neither can be had."""
    missing: str = ""
    """Why not this CPU, or nothing at all."""
    calls: int = 0
    steps: int = 0
    layouts: set[str] = field(default_factory=set)
    lengths: set[int] = field(default_factory=set)
    findings: list[tuple[str, str]] = field(default_factory=list)
    """(kind: result, memory, abi, or open where it could not go on; words)."""
    endless: bool = False
    """Whether a call did not return; others are then not made."""


def engine(missing: str) -> tuple[str, Any, str]:
    """The name, the class and why it is not this CPU; `missing` are features that this CPU lacks."""
    from aeskit.machine import silicon

    why = f"this CPU lacks {missing}" if missing else silicon.unavailable()
    if not why:
        return "this CPU, single-stepped", silicon.Silicon, ""
    try:
        from aeskit.machine.bochs.steps import Bochs
        from aeskit.machine.memory import Memory

        Bochs(Memory([]))
    except (ImportError, MachineError, OSError) as error:
        return "", None, f"{why}; the emulator: {error}"
    return "the emulator (Bochs)", Bochs, why


def run(
    image: Image,
    symbol: str,
    promises: Sequence[Contract],
    lengths: Callable[[Contract], Sequence[int]],
    name: str,
    make: Any,
    told: Callable[[], None] = lambda: None,
) -> Hardware:
    """Each contract in each layout, out of place and in place; lengths and keys take turns."""
    out = Hardware(name)
    for contract in promises:
        for given, layout in _calls(contract, lengths(contract)):
            if not out.endless:
                beside(out, prepare(image, symbol, contract, given), layout, make)
            told()
    return out


def calls(promises: Sequence[Contract], lengths: Callable[[Contract], Sequence[int]]) -> int:
    """How many calls `run` makes."""
    return sum(1 for contract in promises for _ in _calls(contract, lengths(contract)))


def _calls(contract: Contract, lengths: Sequence[int]) -> Iterator[tuple[Given, Layout]]:
    number = 0
    for layout in LAYOUTS:
        shifted = "off" in layout.name
        some = [lengths[number % len(lengths)]] if shifted else lengths
        for length in some:
            for in_place in (False, True)[: 1 + (contract.in_place and contract.has_length and not shifted)]:
                size = contract.key_sizes[number % len(contract.key_sizes)]
                yield Given(length, size, in_place=in_place), layout
                number += 1


def placed(prepared: Prepared, place: Place) -> Machine:
    """A machine of the call with every buffer where `place` says."""
    machine = prepared.machine()
    buffers = {region.name for region in prepared.regions}
    regions = [region for region in machine.memory.regions if region.name not in buffers]
    for number, buffer in enumerate(prepared.call.buffers):
        address = prepared.addresses[id(buffer)] = place(buffer, FIRST_BUFFER + BUFFER_STEP * number)
        if len(buffer.data):
            data = np.frombuffer(bytes(buffer.data), np.uint8).copy()
            regions.append(Region(buffer.name, address, data, "rw" if buffer.writable else "r"))
    machine.memory.replace(regions)
    for number, value in enumerate(prepared.call.registers):
        if isinstance(value, Buffer):
            _argument(machine, number, prepared.addresses[id(value)])
    return machine


def _argument(machine: Machine, number: int, address: int) -> None:
    if number < len(ARGUMENTS):
        machine.state.gpr[ARGUMENTS[number]] = address
    else:
        at = machine.state.gpr[RSP] + 8 * (number - len(ARGUMENTS))
        machine.memory.write(at, np.frombuffer(address.to_bytes(8, "little"), np.uint8).copy())


def beside(out: Hardware, prepared: Prepared, layout: Layout, make: Any, most: int = LIMIT) -> None:
    """Make one call of at most so many steps in an engine; what is wrong goes to `out.findings`."""
    machine = placed(prepared, layout.place)
    machine.start(prepared.symbol)
    start = machine.registers()
    call = prepared.call
    what = f"{title(prepared.contract, call.length, call.key_size, call.in_place)}, {layout.name}"
    other = make(machine.memory)
    try:
        other.load(start)
        steps, last = 0, start
        for step in other.steps(RETURN, most):
            steps, last = steps + 1, step.registers
        out.calls, out.steps = out.calls + 1, out.steps + steps
        out.layouts.add(layout.name)
        out.lengths.add(int(call.length))
        out.endless |= steps >= LIMIT
        found = list(found_in(prepared, machine, other, start, last))
    finally:
        getattr(other, "close", lambda: None)()
    out.findings += [(kind, f"{what}: {text}") for kind, text in found]


def found_in(
    prepared: Prepared, machine: Machine, other: Any, start: Registers, last: Registers
) -> Iterator[tuple[str, str]]:
    """What is wrong behind a call that an engine made from `start` to `last`: (kind, words)."""
    called = machine.image.externals.get(last.rip)
    if called:
        yield "open", f"{called} is called, but {machine.image.name} does not define it"
        return
    if other.stop.reason == "limit":
        yield "result", f"it {ENDLESS}; {d.decode(machine.image, last.rip).where()}"
        return
    if other.stop.reason != "returned":
        yield "memory", _fault(prepared, machine, other.stop, last)
        return
    for number in SAVED:
        if last.gpr[number] != start.gpr[number]:
            yield "abi", f"{d.GPR_NAMES[number]} must be kept and is changed at the return"
    if last.gpr[RSP] != start.gpr[RSP] + 8:
        yield "abi", f"rsp is {last.gpr[RSP] - start.gpr[RSP] - 8:+} bytes off at the return"
    if last.flags & DIRECTION:
        yield "abi", "the direction flag is set at the return"
    regions = {region.address: region for region in machine.memory.regions}
    for buffer in prepared.call.buffers:
        if buffer.expected is ANY or not len(buffer.data):
            continue
        wanted = bytes(buffer.data if buffer.expected is None else buffer.expected)
        got = other.contents(regions[prepared.addresses[id(buffer)]]).tobytes()
        if got != wanted:
            at = next(i for i in range(len(got)) if got[i] != wanted[i])
            place = f"{buffer.name}: block {at // 16} byte {at % 16}"
            yield "result", f"{place} is {got[at]:02x}, must be {wanted[at]:02x}"


def _fault(prepared: Prepared, machine: Machine, stop: Any, last: Registers) -> str:
    """The fault, its address from the nearest buffer, and the instruction."""
    text = stop.reason
    for region in machine.memory.regions:
        if stop.address and 0 <= stop.address - region.end < PAGE:
            text = f"a fault at byte {stop.address - region.end + 1} past the end of {region.name}"
        elif stop.address and 0 < region.address - stop.address <= PAGE:
            text = f"a fault {region.address - stop.address} bytes before {region.name}"
    try:
        return f"{text}; {d.decode(machine.image, last.rip).where()}"
    except MachineError:
        return text
