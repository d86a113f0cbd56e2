"""Addresses among the values of the GF(2) domain: known ones, and known ones plus an unknown length."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from aeskit.machine.addresses import SMALL, STACK, SUMS, WORD, Addresses, Place, comparable, exact
from aeskit.machine.counters import Unknown, Word

if TYPE_CHECKING:
    from aeskit.machine.decode import Memory
    from aeskit.machine.symbolic import Symbolic

FEW_BITS = 16
"""A public word with at most so many unknown bits is taken value by value where it must be known."""


class Pointers:
    """What an instruction may ask of them, and what they are where it asks more: 8 unknown bytes."""

    def __init__(self, domain: Symbolic, addresses: Addresses) -> None:
        """Works with the domain's expressions and counters."""
        self.domain, self.addresses = domain, addresses
        self.lengths: frozenset[str] = frozenset()
        """Names of unknown lengths: an address plus one of them is an address too."""
        self._opaque: dict[Word, Any] = {}
        self._bases: dict[Word, int] = {}

    # ---- Which values are addresses

    def place(self, value: Any) -> Place | None:
        """What a value is an address of, if it is one."""
        if type(value) is int:
            return self.addresses.place(value)
        if not self._moves(value):
            return None
        return self.addresses.place(self.domain.counters.origin(tuple(value))[1])

    def _moves(self, value: Any) -> bool:
        """Whether an unknown value added to an address gives one: a length, or the index of a table."""
        counters = self.domain.counters
        if self.lengths and counters.names(tuple(value)) <= self.lengths:
            return True
        low = counters.indexed.low(counters.origin(tuple(value))[0])
        return low is not None and low.alone

    def among(self, values: tuple[Any, ...]) -> bool:
        """Whether one of the values is an address."""
        for value in values:
            if type(value) is not int:
                if self.place(value) is not None:
                    return True
            elif value >= SMALL and self.addresses.place(value) is not None:
                return True
        return False

    # ---- What is asked of them

    def spoiled(self, name: str, bits: int, values: tuple[Any, ...]) -> bool:
        """Whether an operation asks for bits of an address among its operands."""
        if all(type(v) is int for v in values):
            return self._moved(name, values) or self.addresses.spoiled(name, bits, values)
        if bits != 64 or name not in SUMS or name == "neg":
            return True
        x, y = (*values, 1 if name in ("inc", "dec") else 0)[:2]
        one, two = self.place(x), self.place(y)
        if name == "cmp":
            return not (comparable(one, None, True) if y == 0 else exact(one, two))
        return self._sum_is_none((x, y), name in ("sub", "sbb", "dec"))

    def _moved(self, name: str, values: tuple[Any, ...]) -> bool:
        """Whether a difference tells by how much a stack pointer was aligned: that hangs on the caller's."""
        if name not in ("sub", "sbb") or not self.domain.aligned or values[0] == values[1]:
            return False
        return self.place(values[0]) == self.place(values[1]) == STACK

    def _sum_is_none(self, values: tuple[Any, ...], minus: bool) -> bool:
        """Whether a sum with an address in it is no address; of two of one buffer a difference may be."""
        one, two = map(self.place, values[:2])
        if minus and one is not None and two is not None:
            return not exact(one, two)
        for value in values:
            if type(value) is not int and not self._moves(value):
                self._choose(value)
                return True
        first, *rest = map(self._constant, values)
        return not self.addresses.is_address((first + (-1 if minus else 1) * sum(rest)) % WORD)

    def _constant(self, value: Any) -> int:
        return value if type(value) is int else self.domain.counters.origin(tuple(value))[1]

    def _choose(self, value: Word) -> None:
        """Added to an address, a public value of few unknown bits is taken value by value."""
        vary = tuple(map(self.domain.expressions.varying, value))
        if sum(v.bit_count() for v in vary) <= FEW_BITS and self.domain.is_public(value):
            self.domain.choose(value, vary)

    def not_zero(self, values: tuple[Any, ...]) -> bool:
        """Whether one of the values is an address at which something lies: that is never 0."""
        return any(comparable(self.place(value), None, True) for value in values)

    def flags(self, name: str, values: tuple[Any, ...], outcome: Any) -> Any:
        """The outcome of an operation that is not spoiled, without what its flags tell of an address."""
        result, cf, of, flags = outcome
        x, y = (*values, 0)[:2]
        if name == "xor" or (name in ("sub", "sbb", "cmp") and exact(self.place(x), self.place(y))):
            return outcome
        if name == "and" and x != y:
            mask = y if self.place(y) is None else x
            self.domain.aligned = max(self.domain.aligned, mask & -mask)
        unknown = Unknown("bits of an address")
        return result, cf, unknown if name in SUMS else of, (flags[0], unknown, unknown) if flags else flags

    def effective(self, operand: Memory, values: list[Any]) -> bool:
        """Whether the sum of base and index, not both known, and displacement is an address or has none."""
        if not self.among(tuple(values)):
            return True
        if operand.bits32 or (operand.scale > 1 and self.place(values[-1]) is not None):
            return False
        return not self._sum_is_none((*values, operand.displacement), False)

    # ---- As bytes

    def opaque(self, value: Any) -> Any:
        """An address as 8 unknown bytes, which `known` knows again; any other value as it is."""
        if self.place(value) is None:
            return value
        name = f"the address {value:#x}" if type(value) is int else f"the address {self._named(value)}"
        ids = tuple(self.domain.expressions.inputs(name, 8).tolist())
        self._opaque[ids] = value
        return ids

    def _named(self, value: Word) -> str:
        base, offset = self.domain.counters.origin(tuple(value))
        return f"{offset:#x} plus length {self._bases.setdefault(base, len(self._bases) + 1)}"

    def known(self, ids: Word) -> Any:
        """The address that these 8 bytes are, or the bytes."""
        return self._opaque.get(ids, ids)
