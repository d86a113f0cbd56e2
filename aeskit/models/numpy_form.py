"""The numpy form, for bulk: a string is a uint8 array of the shape (…, length).

The axes in front are data units or messages of one length that run side by side.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from aeskit.bits import BLOCK, BitOrder
from aeskit.models import aes, gf128
from aeskit.models.aes import Bytes
from aeskit.models.arithmetic import Arithmetic, choose
from aeskit.trace import Note


class Numpy(Arithmetic[Bytes]):
    """Arrays; a run of 4096 blocks is 64 KiB, which stays in the second-level cache."""

    run = 4096

    def string(self, data: bytes) -> Bytes:
        """The bytes as a one-dimensional array (read-only, nothing copied)."""
        return np.frombuffer(data, np.uint8)

    def value(self, string: Bytes) -> bytes:
        """The bytes, those of the axes in front one after another."""
        return string.tobytes()

    def length(self, string: Bytes) -> int:
        """Of the last axis."""
        return string.shape[-1]

    def part(self, string: Bytes, start: int, stop: int) -> Bytes:
        """A view of the last axis."""
        return string[..., start:stop]

    def join(self, *strings: Bytes) -> Bytes:
        """Along the last axis; a string without axes in front goes to every message."""
        if not strings:
            return np.zeros(0, np.uint8)
        front = np.broadcast_shapes(*(string.shape[:-1] for string in strings))
        return np.concatenate([np.broadcast_to(s, front + s.shape[-1:]) for s in strings], axis=-1)

    def xor(self, left: Bytes, right: Bytes) -> Bytes:
        """Elementwise."""
        return left ^ right

    def sub_bytes(self, string: Bytes) -> Bytes:
        """By the table."""
        return aes.sub_bytes(string)

    def inv_sub_bytes(self, string: Bytes) -> Bytes:
        """By the table."""
        return aes.inv_sub_bytes(string)

    def linear(self, body: Callable[[Bytes], Bytes], string: Bytes) -> Bytes:
        """The body itself, every block at once."""
        return body(_blocks(string)).reshape(string.shape)

    def expand(self, key: bytes, note: Note | None = None, name: str = "K") -> list[Bytes]:
        """By the plain form: the words depend on each other, so arrays would have one word at a time."""
        return [self.string(round_key) for round_key in choose("plain").expand(key, note, name)]

    def add_round_key(self, string: Bytes, round_key: Bytes) -> Bytes:
        """One round key to every block."""
        return (_blocks(string) ^ round_key[..., None, :]).reshape(string.shape)

    def powers(self, block: Bytes, count: int) -> Bytes:
        """By doubling the sequence (`gf128.powers`)."""
        return gf128.powers(block, count).reshape(*block.shape[:-1], BLOCK * count)

    def counters(self, block: Bytes, count: int) -> Bytes:
        """Two quadwords, with the carry of the lower into the higher."""
        halves = np.ascontiguousarray(block).view(">u8").astype(np.uint64)
        high, low = halves[..., :1], halves[..., 1:]
        lows = low + np.arange(count, dtype=np.uint64)
        highs = high + (lows < low)
        sequence = np.stack([highs, lows], axis=-1).astype(">u8").view(np.uint8)
        return sequence.reshape(*block.shape[:-1], BLOCK * count)

    def products(self, block: Bytes, factors: Sequence[int], order: BitOrder) -> Bytes:
        """By the block's multiplication as a linear map (`gf128.products`)."""
        return gf128.products(block.tobytes(), factors, order).reshape(-1)


def _blocks(string: Bytes) -> Bytes:
    return string.reshape(*string.shape[:-1], -1, BLOCK)
