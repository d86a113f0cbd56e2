"""Values in addresses over GF(2): known ones, what stands for a length, a table's index, choices to make."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from aeskit.machine import indices
from aeskit.machine.addresses import WORD
from aeskit.machine.counters import Word
from aeskit.machine.decode import Instruction
from aeskit.machine.entries import APART, FAR, FIRST, Entries
from aeskit.machine.errors import MemoryFault
from aeskit.machine.memory import Memory
from aeskit.machine.splits import Choose

if TYPE_CHECKING:
    from aeskit.machine.symbolic import Symbolic


class Places:
    """The part of a domain that a memory operand asks."""

    def __init__(self, domain: Symbolic) -> None:
        """Works with the domain's expressions and counters."""
        self.domain, self.entries = domain, Entries(domain)

    def address(self, value: Any, instruction: Instruction) -> int:
        """A value that is an address by itself: known, or chosen by public bits."""
        if type(value) is int:
            return value
        if self.domain.is_public(value):
            self.choose(value)
        return self.domain.number(value, instruction, "an address")

    def placing(self, memory: Memory, instruction: Instruction, short: bool) -> Callable[[Any, int], int]:
        """The function that gives a register times its scale in the address of a memory operand.

        What stands for a length or an index does so in 64 bits alone, not in a `short` address of 32.
        """

        def place(value: Any, scale: int) -> int:
            if type(value) is int:
                return self._reached(0, value) * scale
            word = value
            for _ in range(scale.bit_length() - 1):
                word = self.domain.doubled(word)
            base, offset = self.domain.counters.origin(word)
            low = None if short else self.domain.counters.indexed.low(base)
            if low is not None and low.alone:
                return self._reached(self.entries.address(base, low, memory), offset)
            base, offset = self.domain.counters.origin(value)
            if base in self.domain.stand_ins:
                if short:
                    return self.domain.number(value, instruction, "an address of 32 bits")
                return self._reached(self.domain.stand_ins[base], offset) * scale
            return self.address(value, instruction) * scale

        return place

    def _reached(self, place: int, offset: int) -> int:
        """What lies `offset` from a place: no further than addresses reach, so at no other place's."""
        if FAR <= offset < WORD - FAR:
            raise MemoryFault("access", offset, 0, "no CPU has such an address")
        return (place + offset) % WORD

    def moved(self, value: Any, size: int) -> Any:
        """A pointer `size` bytes on: what is unknown of it stays so."""
        return (value + size) % WORD if type(value) is int else self.domain.counters.add(tuple(value), size)

    def together(self, base: Any, index: Any, scale: int) -> int | None:
        """base + index · scale where both hang on lengths alone and the sum is known, or None."""
        counters, forms = self.domain.counters, self.domain.counters.forms
        words = [tuple(self.domain.plain_bytes(value, 8).tolist()) for value in (base, index)]
        if not forms.are_lengths(*words):
            return None
        total, offset = counters.origin(forms.sum(words[0], forms.times(words[1], scale)))
        if total in self.domain.stand_ins:
            return self._reached(self.domain.stand_ins[total], offset)
        return None if any(total) else self._reached(0, offset)

    def misaligned(self, address: int, size: int) -> bool:
        """Whether an access of `size` bytes may be elsewhere than at a multiple of them."""
        return bool(address % size) or (address >= FIRST - APART and self.entries.granularity(address) < size)

    def choose(self, value: Word, masks: tuple[int, ...] = (0xFF,) * 8) -> None:
        """Raise Choose for the first byte of an input whose bits decide the bits `masks` of a value.

        For an index that was kept unknown where there is no other.
        """
        of_index = None
        for byte, mask in zip(value, masks, strict=False):
            for atom, matrix in self.domain.expressions.terms[byte >> 8]:
                what = self.domain.expressions.atoms[atom]
                bits = sum(1 << bit for bit in range(8) if matrix >> 8 * bit & mask)
                if what[0] == "input" and bits:
                    raise Choose(what[1], what[2], bits)
                if what[0] in indices.OF_INDICES and bits:
                    of_index = atom
                if what[0] == "sum" and bits:  # a bit of a sum hangs on those at and below it
                    below = (1 << 8 * what[3] + bits.bit_length()) - 1
                    self.choose(what[1], tuple(below.to_bytes(8, "little")))
        if of_index is not None:
            raise Choose(*indices.source(self.domain.expressions, of_index))
