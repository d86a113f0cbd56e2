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
from aeskit.verify.proving import parts

KEPT = 64 << 20
"""Bytes of one kind of result that are remembered, about."""

Ids = NDArray[np.int64]


class _Known(dict[Any, Ids]):
    """Results by what they are of; emptied where they have become too many."""

    size = 0

    def keep(self, key: Any, ids: Ids) -> Ids:
        """Remember a result and give it back; the key is about as large."""
        self.size += 2 * ids.nbytes + 200
        if self.size > KEPT:
            self.clear()
            self.size = 0
        self[key] = ids
        return ids


class SymbolicModel(Arithmetic[Ids]):
    """A string is an int64 array of ids of the domain's expressions."""

    run = 16
    """Messages of other lengths have the same runs, which are remembered as a whole."""

    def __init__(self, domain: Symbolic) -> None:
        """Compute in the domain that the machine runs in, so that equal means the same id."""
        self.domain = domain
        self._blocks, self._sums, self._sequences = _Known(), _Known(), _Known()

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
        return self._sums.keep(key, self.domain.xor(left, right)) if found is None else found

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

    def _remembered(self, cipher: Any, w: Sequence[Ids], string: Ids, note: Note | None, name: str) -> Ids:
        if note:
            return np.asarray(cipher(self, string, w, note, name))
        key = (cipher, *[round_key.tobytes() for round_key in w], string.tobytes())
        found = self._blocks.get(key)
        if found is not None:
            return found
        if len(string) == BLOCK:
            return self._blocks.keep(key, cipher(self, string, w))
        blocks = [self.block(string, j) for j in range(len(string) // BLOCK)]
        return self._blocks.keep(key, self.join(*[self._remembered(cipher, w, b, None, "") for b in blocks]))

    def powers(self, block: Ids, count: int) -> Ids:
        """Remembered, and continued where more are asked for."""
        return self._grown(("powers", block.tobytes()), block, count, lambda last, j: self.mul_alpha(last))

    def counters(self, block: Ids, count: int) -> Ids:
        """A carry out of the low quadword is asked of what is assumed about it, and may split the run.

        Remembered as `powers` are, under what is assumed.
        """
        if count == 1:
            return block
        words, whole = self.domain.counters, tuple(block[::-1].tolist())
        parts.learn(words, whole)
        if parts.asked(words, whole):
            key = (block.tobytes(), frozenset(words.assumed.items()), words.public)
            return self._grown(
                key, block, count, lambda last, j: np.array(parts.add(words, whole, j)[::-1], np.int64)
            )
        low, high = whole[:8], whole[8:]
        key = (block.tobytes(), words.known(words.origin(low)[0]), words.public)

        def following(last: Ids, j: int) -> Ids:
            return np.array([*self._upper(high, low, j)[::-1], *words.add(low, j)[::-1]], np.int64)

        return self._grown(key, block, count, following)

    def _grown(self, key: Any, first: Ids, count: int, following: Callable[[Ids, int], Ids]) -> Ids:
        """`count` blocks, of which block j comes from the one before it."""
        found = self._sequences.get(key)
        if found is None or len(found) < BLOCK * count:
            blocks = [first] if found is None else [found]
            for j in range(sum(map(len, blocks)) // BLOCK, count):
                blocks.append(following(blocks[-1][-BLOCK:], j))
            found = self._sequences.keep(key, np.concatenate(blocks))
        return found[: BLOCK * count]

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
