"""GF(2) for mutants: where an instruction is no linear map, any value may take its result's place.

What comes out right with an unknown value there is right with the one that a CPU computes. It proves nothing
wrong: where it does not come out right, the mutant stays refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from aeskit.machine import indices
from aeskit.machine.addresses import WORD
from aeskit.machine.counters import Unknown
from aeskit.machine.decode import Instruction
from aeskit.machine.errors import OutsideDomain
from aeskit.machine.gf2 import keep
from aeskit.machine.memory import Region
from aeskit.machine.semantics import Array, Entry, Kind, Scalar
from aeskit.machine.symbolic import Symbolic
from aeskit.machine.symbols import Symbols

PAGE = 4096
"""Bytes at either end of the address space in which nothing lies: no system maps them."""
RESTS = "nothing lies in the first 4,096 bytes of memory, or the last"
MINUS = ("sub", "sbb", "cmp", "xor")
"""They give 0 where their operands are the same, SBB perhaps where these are one apart."""


@dataclass
class Noted:
    """What was put in place of results while any value would do."""

    unfollowed: dict[str, None] = field(default_factory=dict)
    """Instructions."""
    rests: dict[str, None] = field(default_factory=dict)


class Tolerant(Symbolic):
    """GF(2) as proofs use it, but inside a block of `anything`."""

    def __init__(self) -> None:
        """An empty table of expressions."""
        super().__init__()
        self._noted: Noted | None = None
        self.objects: Callable[[], Iterable[Region]] = tuple
        """Gives what lies in memory, but for the stack."""
        self._made = 0
        self._factors: dict[int, frozenset[int]] = {}
        self._products: dict[frozenset[int], int] = {}

    @contextmanager
    def anything(self) -> Iterator[Noted]:
        """Inside the block unknown values stand for what is no linear map; gives what was met so far."""
        self._noted = Noted()
        try:
            yield self._noted
        finally:
            self._noted = None

    def _put(self, error: OutsideDomain, instruction: Instruction) -> None:
        """Note it; raise the error itself outside a block, or where it is not about a result."""
        if self._noted is None or type(error) is not OutsideDomain:
            raise error
        self._noted.unfollowed[instruction.text] = None

    def _unknown(self, size: int) -> Array:
        """Bytes that nothing else depends on."""
        self._made += 1
        return self.expressions.inputs(f"unfollowed value {self._made}", size)

    # ---- What the binder asks for

    def body(self, entry: Entry, instruction: Instruction) -> Callable[..., Any]:
        """See `Symbolic`."""
        exact = super().body(entry, instruction)
        shape = self.numbers.body(entry, instruction)

        def run(*arguments: Any, **extra: Any) -> Any:
            try:
                return exact(*arguments, **extra)
            except OutsideDomain as error:
                if entry.to_mask:
                    raise
                self._put(error, instruction)
                if entry.kind is Kind.BOOLEAN:
                    return self._bytewise(entry, arguments)
                out = shape(*[_zeros(a) for a in arguments], **extra)
                return self._unknown(out.size).reshape(out.shape)

        return run

    def _bytewise(self, entry: Entry, arguments: tuple[Any, ...]) -> Array:
        """A Boolean function, exact in each byte in which it can be followed."""
        table: Any = _Products(self)
        given = [a if isinstance(a, int) else Symbols(a, table) for a in arguments]
        return np.asarray(entry.body(*given).ids)

    def product(self, a: int, b: int) -> int:
        """a AND b; where it is no linear map an unknown byte, the same one for the same factors."""
        exact = indices.product(self.expressions, a, b)
        if exact is not None:
            return exact
        factors = self._factors.get(a, frozenset((a,))) | self._factors.get(b, frozenset((b,)))
        if any(factor ^ 0xFF in factors for factor in factors):
            return 0
        if factors not in self._products:
            self._products[factors] = made = int(self._unknown(1)[0])
            self._factors[made] = factors
        return self._products[factors]

    def integer(self, entry: Scalar, bits: int, instruction: Instruction) -> Callable[..., Any]:
        """See `Symbolic`."""
        exact = super().integer(entry, bits, instruction)

        def compute(*values: Any) -> Any:
            try:
                result, cf, of, flags = exact(*values)
            except OutsideDomain as error:
                self._put(error, instruction)
                unknown = Unknown(f"a result of {instruction.mnemonic} that is not followed")
                result, cf, of, flags = self._word(8), unknown, unknown, (unknown,) * 3
            if self._noted is not None and flags and flags[0] != 0:
                cf, flags = self._apart(entry.name, bits, values, cf, flags, instruction)
            return result, cf, of, flags

        return compute

    def bit(self, value: Any, instruction: Instruction) -> Any:
        """See `Symbolic`."""
        try:
            return super().bit(value, instruction)
        except OutsideDomain as error:
            self._put(error, instruction)
            return self.expressions.map(keep(1), int(self._unknown(1)[0]))

    def select(self, flag: Any, yes: Any, no: Any, size: int, instruction: Instruction) -> Any:
        """See `Symbolic`."""
        try:
            return super().select(flag, yes, no, size, instruction)
        except OutsideDomain as error:
            self._put(error, instruction)
            return self._word(size)

    def effective(self, binder: Any, operand: Any) -> Callable[[], Any]:
        """See `Symbolic`."""
        exact = super().effective(binder, operand)

        def compute() -> Any:
            try:
                return exact()
            except OutsideDomain as error:
                self._put(error, binder.ins)
                return self._word(8)

        return compute

    def _word(self, size: int) -> Any:
        return self.from_bytes(self._unknown(size))

    # ---- A number and an address

    def _apart(
        self, name: str, bits: int, values: tuple[Any, ...], cf: Any, flags: Any, instruction: Instruction
    ) -> tuple[Any, Any]:
        """CF and ZF of operands of which one is greater than the other, whatever they are."""
        ranges = [self._range(value) for value in values[:2]]
        if bits != 64 or name not in MINUS or len(ranges) < 2 or None in ranges:
            return cf, flags
        (low, high), (least, most) = ranges  # type: ignore[misc]
        most += name == "sbb"  # with or without a borrow
        if low <= most and least <= high:
            return cf, flags
        assert self._noted is not None
        self._noted.unfollowed[instruction.text] = self._noted.rests[RESTS] = None
        return cf if name == "xor" else int(high < least), (0, *flags[1:])

    def _range(self, value: Any) -> tuple[int, int] | None:
        """The least and the greatest that a number can be, or an address in an object or at its end."""
        if type(value) is not int or self.pointers is None:
            return None
        if self.pointers.place(value) is None:
            return value, value
        inside = any(region.address <= value <= region.end for region in self.objects())
        return (PAGE, WORD - PAGE) if inside else None


class _Products:
    """A table of expressions in which every two bytes have a product."""

    def __init__(self, domain: Tolerant) -> None:
        self.xor, self.product = domain.expressions.xor, domain.product


def _zeros(argument: Any) -> Any:
    return argument if isinstance(argument, int) else np.zeros(argument.shape, np.uint8)
