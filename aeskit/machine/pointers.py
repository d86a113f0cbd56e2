"""Addresses among the values of the GF(2) domain: known ones, and known ones plus an unknown length."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from aeskit.machine import realigned
from aeskit.machine.addresses import (
    DISTANCE,
    SMALL,
    STACK,
    SUMS,
    UNDEFINED,
    WORD,
    Addresses,
    Place,
    comparable,
    exact,
)
from aeskit.machine.counters import Unknown, Word
from aeskit.machine.gf2 import keep
from aeskit.machine.splits import Choose

if TYPE_CHECKING:
    from aeskit.machine.decode import Memory
    from aeskit.machine.symbolic import Symbolic

FEW_BITS = 16
"""A public word with at most so many unknown bits is taken value by value where it must be known."""
LINE = 64
"""Code may ask where in so many bytes an address lies: then the run is done for each place."""


def address_of(name: str) -> str:
    """What a buffer's address is called where its low bits are chosen."""
    return f"the address of {name}"


class Pointers:
    """What an instruction may ask of them, and what they are where it asks more: 8 unknown bytes."""

    def __init__(self, domain: Symbolic, addresses: Addresses) -> None:
        """Works with the domain's expressions and counters."""
        self.domain, self.addresses = domain, addresses
        self.aligned: dict[Place, tuple[str, int]] = {}
        """By a buffer's number its name, and the low bits of its address that the case has chosen."""
        self.buffers: dict[int, tuple[int, int]] = {}
        """Address and bytes of the call's buffers, by number: no call has shorter ones."""
        self.ends: dict[int, Any] = {}
        """Where those of an unknown length end, by number: a word."""
        self._taken: dict[int, set[tuple[int, int]]] = {}
        """Pairs of buffers of which a distance was taken, by how many lie between, in any run."""
        self._crossed = False
        """Whether addresses of two buffers were compared, in any run."""
        self._opaque: dict[Word, Any] = {}
        self._low: dict[int, Any] = {}
        self._bases: dict[Word, int] = {}

    # ---- Which values are addresses

    @property
    def lengths(self) -> frozenset[str]:
        """Names of unknown lengths: an address plus one of them is an address too."""
        return self.domain.counters.forms.lengths

    def context(self) -> Any:
        """All that answers about addresses hang on: of buffers' sizes only those about two of them do."""
        apart = (*self.buffers.items(), *self.ends.items()) if self._taken or self._crossed else ()
        return self.lengths, frozenset(self.aligned.items()), frozenset(apart)

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
        if name in ("and", "test") and bits == 64 and self._low_bits(values):
            return False
        if name == "cmp" and bits == 64 and self._crossing(*values[:2]):
            return True
        if all(type(v) is int for v in values):
            return self._moved(name, values) or self.addresses.spoiled(name, bits, values)
        if bits != 64 or name not in SUMS or name == "neg":
            return True
        x, y = (*values, 1 if name in ("inc", "dec") else 0)[:2]
        one, two = self.place(x), self.place(y)
        if name == "cmp":
            return not comparable(one, two, y == 0)
        return self._sum_is_none((x, y), name in ("sub", "sbb", "dec"))

    def _crossing(self, x: Any, y: Any) -> bool:
        """Whether how addresses of two buffers compare hangs on how far apart these lie.

        Up to its end one of the lower buffer is less than one of the upper, from its beginning on.
        """
        one, two = self.place(x), self.place(y)
        if not isinstance(one, int) or not isinstance(two, int) or one == two:
            return False
        self._crossed = True
        (low, lower), (high, upper) = sorted(((one, x), (two, y)), key=lambda both: both[0])
        if low not in self.buffers or high not in self.buffers:
            return True
        (start, size), (above, _) = self.buffers[low], self.buffers[high]
        behind = self._span(lower, self.ends.get(low, start + size))
        before = self._span(upper, above)
        return behind is None or before is None or behind[1] > before[0]

    def _span(self, address: Any, other: Any) -> tuple[int, int] | None:
        """Between what an address minus another one lies; None where that is not known."""
        counters = self.domain.counters
        one, two = (tuple(self.domain.plain_bytes(value, 8).tolist()) for value in (address, other))
        exact = counters.forms.exact(counters.forms.sum(one, two, minus=True), signed=True)
        return exact and counters.forms.span(*exact)

    def _low_bits(self, values: tuple[Any, ...]) -> bool:
        """Whether an AND keeps or clears low bits of an address alone, and these are known."""
        for value, mask in (values, values[::-1]):
            if type(value) is int and type(mask) is int and self.place(mask) is None:
                asked = mask if mask < LINE else WORD - 1 - mask
                if asked < LINE and self._known_low(value, (1 << asked.bit_length()) - 1):
                    return True
        return False

    def _known_low(self, value: int, asked: int) -> bool:
        """Whether these low bits of an address are the same in this case; Choose where they can be chosen.

        The stack pointer is a multiple of 16 at a call (System V AMD64 ABI, 3.2.2).
        """
        place = self.place(value)
        if place == STACK:
            return asked < 16
        if place not in self.aligned:
            return False
        name, known = self.aligned[place]
        if asked & ~known:
            raise Choose(address_of(name), 0, asked & ~known)
        return True

    def ask_low(self, values: tuple[Any, ...]) -> None:
        """The same of a part of an address that an AND of fewer than 64 bits takes."""
        for value, mask in (values, values[::-1]):
            if type(mask) is int and mask < LINE and type(value) is tuple and value[0] in self._low:
                self._known_low(self._low[value[0]], (1 << mask.bit_length()) - 1)

    def _moved(self, name: str, values: tuple[Any, ...]) -> bool:
        """Whether a difference tells by how much a stack pointer was aligned: that hangs on the caller's."""
        if name not in ("sub", "sbb", "cmp"):
            return False
        both = self.place(values[0]) == self.place(values[1]) == STACK
        return both and self.addresses.zone(values[0]) != self.addresses.zone(values[1])

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
        places = [self.place(value) for value in values]
        total = (first + (-1 if minus else 1) * sum(rest)) % WORD
        return self.addresses.strays((first, *rest), total) or not self.addresses.sums(places, total)

    def _constant(self, value: Any) -> int:
        return value if type(value) is int else self.domain.counters.origin(tuple(value))[1]

    def _choose(self, value: Word) -> None:
        """Added to an address, a public value of few unknown bits is taken value by value."""
        vary = tuple(map(self.domain.expressions.varying, value))
        if sum(v.bit_count() for v in vary) <= FEW_BITS and self.domain.is_public(value):
            self.domain.choose(value, vary)

    def compared(self, name: str, bits: int, values: tuple[Any, ...]) -> tuple[int, int] | None:
        """CF and ZF of a comparison of two buffers' distance with a number; None for any other operation.

        None too where they are not the same for all buffers that do not overlap: then each answer is a case.
        """
        x, y = values if len(values) == 2 else (0, 0)
        if name != "cmp" or bits != 64 or type(x) is not int or type(y) is not int:
            return None
        distance, number = (x, y) if self.place(x) == DISTANCE else (y, x)
        taken = self._taken.get(self.addresses.steps(distance), ())
        never = self.addresses.apart(distance, self.buffers, taken)
        if never is None or self.place(number) is not None:
            return None
        signed = number - WORD if number >> 63 else number
        if min(signed, 0) <= never[0] or never[1] <= max(signed, -1):
            return None
        less = signed < 0  # of unsigned numbers a negative one is above all distances
        return int(less if distance == x else not less), 0

    def take(self, name: str, values: tuple[Any, ...]) -> None:
        """Note of which two buffers a difference is the distance."""
        if name in ("sub", "sbb"):
            one, two = map(self.place, values)
            if isinstance(one, int) and isinstance(two, int) and one != two:
                for pair in ((one, two), (two, one)):
                    self._taken.setdefault(pair[0] - pair[1], set()).add(pair)

    def not_zero(self, values: tuple[Any, ...]) -> bool:
        """Whether one of the values is an address at which something lies: that is never 0."""
        return any(comparable(self.place(value), None, True) for value in values)

    def flags(self, name: str, values: tuple[Any, ...], outcome: Any) -> Any:
        """The outcome of an operation that is not spoiled, without what its flags tell of an address."""
        result, cf, of, flags = outcome
        x, y = (*values, 0)[:2]
        if name == "xor" or (name in ("sub", "sbb", "cmp") and exact(self.place(x), self.place(y))):
            return outcome
        if name in ("and", "test") and x != y:
            address, mask = (x, y) if self.place(y) is None else (y, x)
            if mask < LINE:
                return outcome
            if name == "and" and self.place(address) == STACK and self.domain.stack:
                self.domain.aligned, result = realigned.align(
                    self.domain.aligned, address, mask, *self.domain.stack
                )
        unknown = Unknown("bits of an address")
        zero = flags and flags[0]
        if name in SUMS and self._wraps(name, x, y):
            cf, zero = None if cf is None else unknown, unknown
        return result, cf, unknown if name in SUMS else of, (zero, unknown, unknown) if flags else flags

    def _wraps(self, name: str, x: Any, y: Any) -> bool:
        """Whether a sum's CF and ZF hang on how far apart buffers lie, or on what another file defines."""
        hidden = {DISTANCE, UNDEFINED} & {self.place(x), self.place(y)}
        return bool(hidden) or (name in ("sub", "sbb") and self._crossing(x, y))

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
        place = self.place(value)
        if place is None:
            return value
        name = f"the address {value:#x}" if type(value) is int else f"the address {self._named(value)}"
        if place == DISTANCE:
            name = name.replace("address", "distance")
            self.domain.counters.layout.add(name)
        expressions = self.domain.expressions
        ids = tuple(expressions.inputs(name, 8).tolist())
        if type(value) is int:
            ids = self._with_low(value, ids)
        self._opaque[ids] = value
        return ids

    def _with_low(self, value: int, ids: Word) -> Word:
        """The bytes of an address, its low bits as they are known; `ask_low` knows the first again."""
        place = self.place(value)
        known = 15 if place == STACK else self.aligned.get(place or 0, ("", 0))[1]
        low = self.domain.expressions.map(keep(0xFF & ~known), ids[0]) ^ (value & known)
        self._low[low] = value
        return (low, *ids[1:])

    def _named(self, value: Word) -> str:
        base, offset = self.domain.counters.origin(tuple(value))
        return f"{offset:#x} plus length {self._bases.setdefault(base, len(self._bases) + 1)}"

    def known(self, ids: Word) -> Any:
        """The address that these 8 bytes are, or the bytes."""
        return self._opaque.get(ids, ids)
