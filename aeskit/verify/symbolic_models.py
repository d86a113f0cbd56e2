"""The models' arithmetic over GF(2): the same model code, on expressions instead of bytes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aeskit.bits import BLOCK
from aeskit.machine.counters import Word
from aeskit.machine.symbolic import Symbolic
from aeskit.models import aes
from aeskit.models.arithmetic import Arithmetic
from aeskit.trace import Note

KEPT_SUMS = 100_000

Ids = NDArray[np.int64]


class SymbolicModel(Arithmetic[Ids]):
    """A string is an int64 array of ids of the domain's expressions."""

    def __init__(self, domain: Symbolic) -> None:
        """Compute in the domain that the machine runs in, so that equal means the same id."""
        self.domain = domain
        self._blocks: dict[Any, Ids] = {}
        self._sequences: dict[tuple[bytes, int], Ids] = {}
        self._sums: dict[tuple[bytes, bytes], Ids] = {}

    def string(self, data: bytes) -> Ids:
        """Constants."""
        return self.domain.array(data)

    def value(self, string: Ids) -> Any:
        """The ids themselves."""
        return string

    def length(self, string: Ids) -> int:
        """In bytes."""
        return len(string)

    def part(self, string: Ids, start: int, stop: int) -> Ids:
        """A slice."""
        return string[start:stop]

    def join(self, *strings: Ids) -> Ids:
        """One behind the other."""
        return np.concatenate(strings) if strings else np.zeros(0, np.int64)

    def xor(self, left: Ids, right: Ids) -> Ids:
        """Byte by byte; remembered."""
        key = (left.tobytes(), right.tobytes())
        found = self._sums.get(key)
        if found is None:
            if len(self._sums) > KEPT_SUMS:
                self._sums.clear()
            found = self._sums[key] = self.domain.xor(left, right)
        return found

    def sub_bytes(self, string: Ids) -> Ids:
        """An atom for each byte."""
        return self.domain.substitute(string, "forward")

    def inv_sub_bytes(self, string: Ids) -> Ids:
        """An atom for each byte."""
        return self.domain.substitute(string, "inverse")

    def linear(self, body: Callable[[Any], Any], string: Ids) -> Ids:
        """The body's matrix, on each block."""
        plan = self.domain.plan(body, body, BLOCK)
        blocks = string.reshape(-1, BLOCK).tolist()
        return np.array([plan(self.domain.expressions, block) for block in blocks], np.int64).reshape(-1)

    def encrypt(self, w: Sequence[Ids], string: Ids, note: Note | None = None, name: str = "") -> Ids:
        """CIPHER, remembered: a message of another length has the same blocks."""
        return self._remembered(aes.cipher, w, string, note, name)

    def decrypt(self, w: Sequence[Ids], string: Ids, note: Note | None = None, name: str = "") -> Ids:
        """INVCIPHER, remembered."""
        return self._remembered(aes.inv_cipher, w, string, note, name)

    def _remembered(self, cipher: Any, w: Sequence[Ids], block: Ids, note: Note | None, name: str) -> Ids:
        key = (cipher, w[0].tobytes(), len(w), block.tobytes())
        found = None if note else self._blocks.get(key)
        if found is None:
            found = self._blocks[key] = cipher(self, block, w, note, name)
        return found

    def counters(self, block: Ids, count: int) -> Ids:
        """A carry out of the low quadword is asked of what is assumed about it, and may split the run.

        Where nothing is assumed the sequence is remembered.
        """
        if count == 1:
            return block
        if self.domain.counters.assumed:
            return self._sequence(block, count)
        key = (block.tobytes(), count)
        found = self._sequences.get(key)
        if found is None:
            if len(self._sequences) > KEPT_SUMS:
                self._sequences.clear()
            found = self._sequences[key] = self._sequence(block, count)
        return found

    def _sequence(self, block: Ids, count: int) -> Ids:
        words = self.domain.counters
        high, low = (tuple(block[at : at + 8][::-1].tolist()) for at in (0, 8))
        out: list[Word] = []
        for j in range(count):
            out += [self._upper(high, low, j)[::-1], words.add(low, j)[::-1]]
        return np.array(out, np.int64).reshape(-1)

    def _upper(self, high: Word, low: Word, j: int) -> Word:
        """The upper quadword of a counter + j; the carry stays undecided where it can."""
        words = self.domain.counters
        question = words.between(low, (1 << 64) - j, (1 << 64) - 1) if j else False
        answer = question if isinstance(question, bool) else words.decided(question)
        if answer is None:
            undecided = words.with_carry(high, low, j)
            if undecided is not None:
                return undecided
            answer = self.domain.decided(question)
        return words.add(high, int(answer))
