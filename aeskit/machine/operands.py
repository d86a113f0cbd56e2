"""The operand layer: how an instruction's operands are fetched and stored, in either domain.

Legacy SSE keeps the bits above the operand, VEX and EVEX clear them; masking, zeroing and broadcast are done
here and nowhere else. `Binder` turns operands into closures on one machine's state, once an instruction.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from aeskit.machine import decode as d
from aeskit.machine import realigned
from aeskit.machine.addresses import SMALL
from aeskit.machine.errors import MachineError, MemoryFault, UnknownInstruction
from aeskit.machine.semantics import Array, Entry

if TYPE_CHECKING:
    from aeskit.machine.run import Machine

ONES = (1 << 64) - 1
Fetch = Callable[[], Any]
Store = Callable[[Any], None]


def spread(mask: int, element: int, size: int) -> Any:
    """A mask register over `size` bytes: a Boolean a byte, `element` bytes a bit."""
    bits = np.unpackbits(np.frombuffer((mask & ONES).to_bytes(8, "little"), np.uint8), bitorder="little")
    return np.repeat(bits[: size // element].astype(np.bool_), element)


class Binder:
    """Closures for one instruction's operands."""

    def __init__(self, machine: Machine, instruction: d.Instruction) -> None:
        """`machine` owns the state and the memory that the closures act on."""
        self.machine, self.state, self.memory = machine, machine.state, machine.memory
        self.domain, self.ins = machine.domain, instruction

    # ---- Addresses

    def address(self, operand: d.Memory) -> Callable[[], int]:
        """base + index × scale + displacement, modulo 2^64."""
        return self._in_zone(operand) if self.machine.proving else self._address(operand)

    def _in_zone(self, operand: d.Memory) -> Callable[[], int]:
        """In a proof: a pointer to the stack leads nowhere else on it than pointers aligned as often do."""
        domain: Any = self.domain
        address, stack = self._address(operand), self.machine.stack
        gpr, registers = self.state.gpr, [r for r in (operand.base, operand.index) if r is not None]

        def within() -> int:
            at = address()
            if stack.address <= at < stack.end and domain.pointers is not None:
                known = [gpr[r] for r in registers if type(gpr[r]) is int]
                if domain.pointers.addresses.strays(known, at):
                    text = f"so far from where a stack pointer points lies another frame: {self.ins.where()}"
                    raise MemoryFault("access", at, operand.size, text)
            return at

        return within

    def _address(self, operand: d.Memory) -> Callable[[], int]:
        gpr, base, index, scale = self.state.gpr, operand.base, operand.index, operand.scale
        displacement, mask = operand.displacement, 0xFFFFFFFF if operand.bits32 else ONES
        place = self.domain.placing(self.memory, self.ins, operand.bits32)
        if index is None:
            if base is None:
                return lambda: int(place(displacement & mask, 1))
            return lambda: (place(gpr[base], 1) + displacement) & mask
        if base is None:
            return lambda: (place(gpr[index], scale) + displacement) & mask
        if operand.bits32:
            return lambda: (place(gpr[base], 1) + place(gpr[index], scale) + displacement) & mask
        return self._of_two(operand, place)

    def _of_two(self, operand: d.Memory, place: Callable[[Any, int], int]) -> Callable[[], int]:
        """base + index × scale + displacement, of which the two may be known together alone."""
        gpr, index, scale = self.state.gpr, operand.index, operand.scale
        base, displacement, together = operand.base, operand.displacement, self.domain.together
        assert base is not None
        assert index is not None

        def address() -> int:
            x, y = gpr[base], gpr[index]
            if type(x) is not int or type(y) is not int:
                known = together(x, y, scale)
                if known is not None:
                    return int(known + displacement) & ONES
            return (place(x, 1) + place(y, scale) + displacement) & ONES

        return address

    def checked(self, operand: d.Memory, entry: Entry) -> Callable[[], int]:
        """The same, with the alignment that the instruction asks for."""
        address, size = self.address(operand), operand.size
        must = entry.aligned or (self.ins.encoding == "legacy" and size == 16 and not entry.unaligned)
        if not must or size < 16:
            return address
        if size > 16 and self.machine.proving:
            address = self._on_stack(address, size)
        k, number, chosen = self.state.k, self.ins.mask, (1 << size // (entry.element or size)) - 1
        misaligned, always = self.domain.misaligned, not number or self.machine.proving

        def aligned() -> int:
            """That a mask which selects nothing spares it too is what CPUs do, and no manual says."""
            at = address()
            if misaligned(at, size) and (always or k[number] & chosen):
                raise MemoryFault(
                    "aligned access", at, size, f"must be a multiple of {size}: {self.ins.where()}"
                )
            return at

        return aligned

    def _on_stack(self, address: Callable[[], int], size: int) -> Callable[[], int]:
        """In a proof: to more than 16 bytes the stack is aligned by the function itself, or by chance."""
        domain: Any = self.domain
        stack = self.machine.stack

        def checked() -> int:
            at = address()
            if stack.address <= at < stack.end and realigned.alignment(domain.aligned, at) < size:
                text = f"nothing has aligned the stack to more than 16: {self.ins.where()}"
                raise MemoryFault("aligned access", at, size, text)
            return at

        return checked

    # ---- Vector sources: arrays of bytes

    def source(self, operand: d.Operand, entry: Entry, size: int) -> Fetch:
        """The operand as rows of 16 bytes, or one shorter row; `size` is the destination's."""
        if isinstance(operand, d.Vector):
            view = self.state.v[operand.number, : operand.size].reshape(-1, 16)
            return lambda: view
        if isinstance(operand, d.Gpr):
            fetch, to_bytes, width = self.integer(operand), self.domain.to_bytes, operand.size
            return lambda: to_bytes(fetch(), width).reshape(1, -1)
        if isinstance(operand, d.Memory):
            return self._memory(operand, entry, size)
        raise UnknownInstruction(f"no such operand is known here: {self.ins.where()}")

    def _memory(self, operand: d.Memory, entry: Entry, size: int) -> Fetch:
        memory, address, width = self.memory, self.checked(operand, entry), operand.size
        row = (-1, 16) if width % 16 == 0 else (1, width)
        masked = self._spared(operand, entry, size)
        if masked is None:
            fetch: Fetch = lambda: memory.read(address(), width)  # noqa: E731
        else:
            fetch = lambda: memory.read_masked(address(), masked())  # noqa: E731
        if operand.broadcast:
            return lambda: np.tile(fetch(), size // width).reshape(-1, 16)
        return lambda: fetch().reshape(row)

    def _spared(self, operand: d.Memory, entry: Entry, size: int) -> Fetch | None:
        """Which bytes of a memory operand the mask lets be read; None for all (SDM volume 2, 2.8)."""
        k, number, element, width = self.state.k, self.ins.mask, entry.element, operand.size
        if not number or entry.to_flags or entry.scattered or not element:
            return None
        if operand.broadcast:  # all of it, for any element that takes of it
            ones = (1 << size // element) - 1
            return lambda: np.full(width, bool(k[number] & ones))
        if entry.tile and self.machine.proving:  # that it is element by element is what CPUs do
            return lambda: np.full(width, bool(spread(k[number], element, size).any()))
        if entry.tile:
            return lambda: spread(k[number], element, size).reshape(-1, width).any(axis=0)
        if width == size:
            return lambda: spread(k[number], element, size)
        if entry.sized:
            return lambda: spread(k[number], element * width // size, width)
        return None

    # ---- Vector destinations

    def destination(self, operand: d.Operand, entry: Entry) -> Store:
        """Where a body's result goes."""
        if isinstance(operand, d.Vector):
            return self._to_vector(operand, entry)
        if isinstance(operand, d.Mask):
            return self._to_mask(operand, entry)
        if isinstance(operand, d.Gpr):
            store, from_bytes = self.store_integer(operand), self.domain.from_bytes
            return lambda out: store(from_bytes(out.reshape(-1)))
        if isinstance(operand, d.Memory):
            return self._to_memory(operand, entry)
        raise UnknownInstruction(f"no such destination is known here: {self.ins.where()}")

    def _to_vector(self, operand: d.Vector, entry: Entry) -> Store:
        row, size = self.state.v[operand.number], operand.size
        keep, tile = self.ins.encoding == "legacy", entry.tile
        if self.ins.mask or entry.merge_first:
            return self._masked(row, operand, entry)

        def store(out: Array) -> None:
            flat = out.reshape(-1)
            width = len(flat)
            if tile and width < size:
                flat, width = np.tile(flat, size // width), size
            row[:width] = flat  # before the rest is cleared: it may be a view of this very row
            row[width : max(size, width) if keep else 64] = 0

        return store

    def _masked(self, row: Array, operand: d.Vector, entry: Entry) -> Store:
        size, element, zeroing = operand.size, entry.element, self.ins.zeroing
        k, number = self.state.k, self.ins.mask
        if not element:
            raise UnknownInstruction(f"{self.ins.mnemonic} is not known with a mask: {self.ins.where()}")
        first = self.source(self.ins.operands[1], entry, size) if entry.merge_first else None

        def store(out: Array) -> None:
            flat = out.reshape(-1)
            flat = np.tile(flat, size // len(flat)) if entry.tile and len(flat) < size else flat
            width = len(flat)
            mask = spread(k[number] if number else ONES, element, width)
            other = 0 if zeroing else first().reshape(-1) if first else row[:width]
            row[:width] = np.where(mask, flat, other)
            row[width:] = 0

        return store

    def _to_mask(self, operand: d.Mask, entry: Entry) -> Store:
        k, number, mask = self.state.k, operand.number, self.ins.mask
        element = entry.element

        def store(out: Array) -> None:
            bits = out if out.dtype == np.bool_ else out.reshape(-1, element)[:, 0] != 0
            value = int.from_bytes(np.packbits(bits, bitorder="little").tobytes(), "little")
            k[number] = value & k[mask] if mask else value

        return store

    def _to_memory(self, operand: d.Memory, entry: Entry) -> Store:
        memory, address, size = self.memory, self.checked(operand, entry), operand.size
        if self.ins.mask:
            k, number, element = self.state.k, self.ins.mask, entry.element
            write = memory.write_merged if entry.scattered else memory.write_masked
            return lambda out: write(address(), out.reshape(-1), spread(k[number], element, out.size))
        return lambda out: memory.write(address(), out.reshape(-1)[:size])

    # ---- General registers, memory and immediates as integers

    def integer(self, operand: d.Operand, size: int = 8) -> Fetch:
        """An int, or over GF(2) a tuple of ids."""
        if isinstance(operand, d.Immediate):
            value = operand.value & (1 << 8 * size) - 1
            return lambda: value
        if isinstance(operand, d.Gpr):
            return self._register(operand)
        if isinstance(operand, d.Memory):
            memory, address, width = self.memory, self.address(operand), operand.size
            from_bytes = self.domain.from_bytes
            return lambda: from_bytes(memory.read(address(), width))
        raise UnknownInstruction(f"no such operand is known here: {self.ins.where()}")

    def _register(self, operand: d.Gpr) -> Fetch:
        gpr, number, shift, part = self.state.gpr, operand.number, operand.shift, self.domain.part
        if operand.size == 8:
            return lambda: gpr[number]
        mask, start, size = (1 << 8 * operand.size) - 1, shift // 8, operand.size

        def fetch() -> Any:
            value = gpr[number]
            if type(value) is int and value < SMALL:  # not an address, of which a proof shows no part
                return value >> shift & mask
            return part(value, start, size)

        return fetch

    def store_integer(self, operand: d.Operand) -> Store:
        """Into a register (32 bits clear the upper half, 8 and 16 leave the rest) or memory."""
        if isinstance(operand, d.Memory):
            memory, address, size = self.memory, self.address(operand), operand.size
            to_bytes = self.domain.to_bytes
            return lambda value: memory.write(address(), to_bytes(value, size))
        if not isinstance(operand, d.Gpr):
            raise UnknownInstruction(f"no such destination is known here: {self.ins.where()}")
        gpr, number = self.state.gpr, operand.number
        if operand.size >= 4:

            def whole(value: Any) -> None:
                gpr[number] = value

            return whole
        insert, start, size = self.domain.insert, operand.shift // 8, operand.size

        def partly(value: Any) -> None:
            gpr[number] = insert(gpr[number], start, size, value)

        return partly


def sources(instruction: d.Instruction, entry: Entry) -> list[d.Operand]:
    """The body's sources: the operands behind the destination, and itself where it is read."""
    rest: list[d.Operand] = [o for o in instruction.operands[1:] if not isinstance(o, d.Immediate)]
    if entry.to_flags:
        return [o for o in instruction.operands if not isinstance(o, d.Immediate)]
    if entry.reads_destination or len(rest) < entry.arity:
        rest = [instruction.operands[0], *rest]
    if len(rest) < entry.arity and instruction.encoding == "legacy":
        rest.append(d.Vector(0, 16))  # the implicit xmm0 of the legacy variable blends
    if len(rest) != entry.arity:
        raise MachineError(
            f"{instruction.mnemonic} has {len(rest)} sources, not {entry.arity}: {instruction.where()}"
        )
    return rest
