"""What a model computes with: one small interface, so that a mode is written once and runs in every form.

A *string* is a byte string of any kind: `bytes` in the plain form, a uint8 array in the numpy form, an
expression in a symbolic one. The models cut strings, join them, add them and send whole blocks through AES;
they never look inside. `choose` gives the arithmetic of a form's name.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any, Generic, Literal, TypeVar

from aeskit.bits import BLOCK, BitOrder
from aeskit.models import aes, gf128
from aeskit.trace import Note

S = TypeVar("S")
Form = Literal["galois", "plain", "numpy"]
FORMS: tuple[Form, ...] = ("galois", "plain", "numpy")


class Arithmetic(ABC, Generic[S]):
    """The operations of a form. A symbolic one defines those that are abstract and inherits the rest."""

    run = 1
    """Blocks that a mode may hand over as one string; with 1, every string of blocks is a single block."""

    # ---- Strings

    @abstractmethod
    def string(self, data: bytes) -> S:
        """Bytes known now, as a string."""

    @abstractmethod
    def value(self, string: S) -> bytes:
        """The string's bytes; a symbolic form may give its own object, which then goes to `note`."""

    @abstractmethod
    def length(self, string: S) -> int:
        """The string's length in bytes."""

    @abstractmethod
    def part(self, string: S, start: int, stop: int) -> S:
        """Bytes start to stop - 1 of a string."""

    @abstractmethod
    def join(self, *strings: S) -> S:
        """The strings one after another."""

    @abstractmethod
    def xor(self, left: S, right: S) -> S:
        """The sum ⊕ of two strings of one length."""

    def block(self, string: S, j: int, count: int = 1) -> S:
        """`count` whole blocks of a string, from block j (counted from 0)."""
        return self.part(string, BLOCK * j, BLOCK * (j + count))

    def runs(self, blocks: int, note: Note | None = None) -> Iterator[tuple[int, int]]:
        """Cut `blocks` blocks into runs: (first, count). One block at a time when someone listens."""
        step = 1 if note else self.run
        for first in range(0, blocks, step):
            yield first, min(step, blocks - first)

    # ---- AES, on each block of a string

    @abstractmethod
    def sub_bytes(self, string: S) -> S:
        """SUBBYTES on a string of any length (FIPS 197, 5.1.1)."""

    @abstractmethod
    def inv_sub_bytes(self, string: S) -> S:
        """INVSUBBYTES on a string of any length (FIPS 197, 5.3.2)."""

    @abstractmethod
    def linear(self, body: Any, string: S) -> S:
        """A linear map of blocks, given as its body on uint8 arrays of the shape (…, 16)."""

    def shift_rows(self, string: S) -> S:
        """SHIFTROWS (FIPS 197, 5.1.2)."""
        return self.linear(aes.shift_rows, string)

    def inv_shift_rows(self, string: S) -> S:
        """INVSHIFTROWS (FIPS 197, 5.3.1)."""
        return self.linear(aes.inv_shift_rows, string)

    def mix_columns(self, string: S) -> S:
        """MIXCOLUMNS (FIPS 197, 5.1.3)."""
        return self.linear(aes.mix_columns, string)

    def inv_mix_columns(self, string: S) -> S:
        """INVMIXCOLUMNS (FIPS 197, 5.3.3)."""
        return self.linear(aes.inv_mix_columns, string)

    def add_round_key(self, string: S, round_key: S) -> S:
        """ADDROUNDKEY (FIPS 197, 5.1.4): one round key to every block."""
        return self.xor(string, round_key)

    def expand(self, key: bytes, note: Note | None = None, name: str = "K") -> list[S]:
        """KEYEXPANSION of a key known now (FIPS 197, 5.2): the round keys."""
        return aes.key_expansion(self, self.string(key), note, name)

    def expand_for_decryption(self, key: bytes, note: Note | None = None, name: str = "K") -> list[S]:
        """The same round keys; a listener hears those of EQINVCIPHER as well, which AESDEC is given."""
        w = self.expand(key, note, name)
        if note:
            aes.key_expansion_eic(self, w, note, f"d{name}")
        return w

    def encrypt(self, w: Sequence[S], string: S, note: Note | None = None, name: str = "") -> S:
        """CIPHER of each block under the round keys `w`; `name` is put before each state's name."""
        return aes.cipher(self, string, w, note, name)

    def decrypt(self, w: Sequence[S], string: S, note: Note | None = None, name: str = "") -> S:
        """INVCIPHER of each block under the round keys `w` of KEYEXPANSION."""
        return aes.inv_cipher(self, string, w, note, name)

    # ---- Sequences of blocks

    def mul_alpha(self, block: S) -> S:
        """A block times α in GF(2^128) (IEEE 1619-2018, 5.2)."""
        return self.linear(gf128.mul_alpha, block)

    def powers(self, block: S, count: int) -> S:
        """The `count` blocks T, T ⊗ α, T ⊗ α^2, …"""
        sequence = [block]
        while len(sequence) < count:
            sequence.append(self.mul_alpha(sequence[-1]))
        return self.join(*sequence)

    @abstractmethod
    def counters(self, block: S, count: int) -> S:
        """The `count` blocks T, T + 1, T + 2, … as 128-bit big-endian integers (SP 800-38A, B.1)."""

    def products(self, block: S, factors: Sequence[int], order: BitOrder) -> S:
        """A block times each polynomial, as one string; sums of its products with 1, x, x^2, …"""
        return self.join(*(self._product(block, factor, order) for factor in factors))

    def _product(self, block: S, factor: int, order: BitOrder) -> S:
        total, image = self.string(bytes(BLOCK)), block
        while factor:
            if factor & 1:
                total = self.xor(total, image)
            image = self.linear(lambda blocks: gf128.mul_alpha(blocks, order), image)
            factor >>= 1
        return total


@cache
def choose(form: Form) -> Arithmetic[Any]:
    """The arithmetic of a form: ``galois`` the judge, ``plain`` integers, ``numpy`` for bulk."""
    match form:
        case "galois":
            from aeskit.models.galois_form import Galois

            return Galois()
        case "plain":
            from aeskit.models.plain_form import Plain

            return Plain()
        case "numpy":
            from aeskit.models.numpy_form import Numpy

            return Numpy()
    raise ValueError(f"form must be one of {', '.join(FORMS)}, not {form!r}")
