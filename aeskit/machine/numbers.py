"""The domain of numbers: bytes are uint8, general registers and flags are ints."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from aeskit.machine.decode import Instruction
from aeskit.machine.errors import MachineError
from aeskit.machine.flags import undefined_result
from aeskit.machine.semantics import Array, Entry, Scalar
from aeskit.models import aes

if TYPE_CHECKING:
    from aeskit.machine.memory import Memory

_SUBSTITUTIONS = {"forward": aes.sub_bytes, "inverse": aes.inv_sub_bytes}
_PARITY = [int(value.bit_count() % 2 == 0) for value in range(256)]


class Numbers:
    """Every value is known; a body runs as it stands."""

    dtype = np.uint8

    def body(self, entry: Entry, instruction: Instruction) -> Callable[..., Any]:
        """The function that the binder calls with the sources and the immediates."""
        if not entry.substitution:
            return entry.body
        substitute, body = _SUBSTITUTIONS[entry.substitution], entry.body
        return lambda state, *rest: body(substitute(state), *rest)

    def test(self, entry: Entry, instruction: Instruction) -> Callable[..., tuple[Any, Any]]:
        """The same for a body that gives two values whose being zero are ZF and CF."""

        def flags(*arguments: Array) -> tuple[Any, Any]:
            a, b = entry.body(*arguments)
            return int(not a.any()), int(not b.any())

        return flags

    def integer(self, entry: Scalar, bits: int, instruction: Instruction) -> Callable[..., Any]:
        """The function that gives (result, cf, of, (zf, sf, pf) or None)."""
        body, mask, top, from_result = entry.body, (1 << bits) - 1, bits - 1, bool(entry.flags)
        zero_alone = entry.flags == "z"

        def compute(*values: int) -> tuple[int, Any, Any, Any]:
            r, cf, of = body(bits, *values)
            r &= mask
            flags = (int(r == 0), r >> top, _PARITY[r & 0xFF]) if from_result else None
            if zero_alone:
                flags = (int(r == 0), 0, 0)
            return r, cf, of, flags

        def defined(*values: int) -> tuple[int, Any, Any, Any]:
            if undefined_result(entry.name, bits, values[-1]):
                told = "a result that the SDM leaves undefined"
                raise MachineError(f"{instruction.mnemonic} of {told}: {instruction.where()}")
            return compute(*values)

        return defined if undefined_result(entry.name, bits, -1) else compute

    def address(self, value: Any, instruction: Instruction) -> int:
        """A register's value in an address."""
        return int(value)

    def placing(self, memory: Memory, instruction: Instruction, short: bool) -> Callable[[Any, int], int]:
        """The function that gives a register times its scale in the address of a memory operand."""
        return lambda value, scale: int(value) * scale

    def moved(self, value: int, size: int) -> int:
        """A pointer `size` bytes on."""
        return (value + size) % (1 << 64)

    def together(self, base: Any, index: Any, scale: int) -> None:
        """The registers of an address are known one by one."""

    def misaligned(self, address: int, size: int) -> bool:
        """Whether an access of `size` bytes is not at a multiple of them."""
        return bool(address % size)

    def number(self, value: Any, instruction: Instruction, what: str) -> int:
        """A value that must be known."""
        return int(value)

    def flag(self, value: Any, instruction: Instruction) -> int:
        """A flag that decides where the run goes."""
        return int(value)

    def bit(self, value: Any, instruction: Instruction) -> int:
        """A flag as 0 or 1 of a sum."""
        return int(value)

    def undefined(self, instruction: Instruction) -> tuple[tuple[str, Any], ...]:
        """Flags that no run may read behind an instruction, and what stands in them: here they stay."""
        return ()

    def effective(self, binder: Any, operand: Any) -> Callable[[], int]:
        """What lea computes."""
        return binder.address(operand)

    def select(self, flag: Any, yes: Any, no: Any, size: int, instruction: Instruction) -> Any:
        """`yes` if the flag is set, else `no`."""
        return yes if flag else no

    def to_bytes(self, value: int, size: int) -> Array:
        """An int as `size` bytes, least significant first."""
        return np.frombuffer((value & (1 << 8 * size) - 1).to_bytes(size, "little"), np.uint8)

    def from_bytes(self, data: Array) -> int:
        """Bytes as an int."""
        return int.from_bytes(data.tobytes(), "little")

    def part(self, value: int, start: int, size: int) -> int:
        """`size` bytes of a value from byte `start`."""
        return value >> 8 * start & (1 << 8 * size) - 1

    def insert(self, value: int, start: int, size: int, part: int) -> int:
        """A value with `size` bytes from byte `start` replaced."""
        mask = (1 << 8 * size) - 1 << 8 * start
        return value & ~mask | part << 8 * start & mask

    def extend(self, value: int, size: int, to: int) -> int:
        """Sign-extend from `size` to `to` bytes."""
        bits = 8 * size
        return (value - (value >> bits - 1 << bits)) & (1 << 8 * to) - 1

    def array(self, data: bytes | bytearray) -> Array:
        """Bytes of a file or a caller as this domain holds them."""
        return np.frombuffer(bytes(data), np.uint8).copy()
