"""Engines: whoever answers a vector. `Call` in, bytes out; `Unsupported` for what an engine does not have."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from aeskit import bits
from aeskit.vectors import TestVector
from aeskit.vectors.test_vector import DECREMENTS

BLOCK = 16


class Unsupported(Exception):
    """The engine does not have what the vector asks for; the text says what is missing."""


@dataclass(frozen=True, slots=True)
class Call:
    """One message in one direction. `bits` is None for whole bytes; `strict` refuses equal XTS key halves.

    `down`: the counter of CTR goes down from block to block.
    """

    mode: str
    direction: str
    key: bytes
    iv: bytes
    data: bytes
    stealing: str = ""
    bits: int | None = None
    strict: bool = False
    down: bool = False

    @property
    def forward(self) -> bool:
        """Whether it encrypts."""
        return self.direction == "encrypt"


class Engine(ABC):
    """What answers; a subclass has at least `crypt`."""

    name: str

    @abstractmethod
    def crypt(self, call: Call) -> bytes:
        """The result of one call. Unsupported, or ValueError where the engine refuses the call."""

    def layouts(self, call: Call, pieces: tuple[int, ...]) -> Iterator[tuple[str, bytes]]:
        """The result once more, in other layouts, each with its name."""
        return iter(())

    def batch(self, call: Call, size: int) -> Iterator[tuple[str, bytes]]:
        """The result of several data units of `size` bytes in one call, with its name."""
        return iter(())

    def after(self, call: Call) -> bytes:
        """What continues the message after a call."""
        raise Unsupported("gives nothing that continues a message")

    def schedule(self, key: bytes) -> bytes:
        """The encryption round keys of an AES key."""
        raise Unsupported("shows no round keys")

    def stepper(self, call: Call) -> Callable[[bytes, bytes], bytes]:
        """A function of IV and text for the many calls of a Monte Carlo test."""
        return lambda iv, text: self.crypt(replace(call, iv=iv, data=text))


def call_of(vector: TestVector, direction: str) -> Call:
    """What a vector gives to an engine in one direction."""
    data = vector.plaintext if direction == "encrypt" else vector.ciphertext
    return Call(
        vector.mode,
        direction,
        vector.key,
        vector.iv,
        data,
        vector.stealing,
        vector.bits,
        not vector.valid,
        DECREMENTS in vector.flags,
    )


def counting_down(engine: Engine, call: Call) -> bytes:
    """CTR whose counter goes down, each block from its own counter: SP 800-38A, B leaves the step open."""
    first, size = bits.from_be(call.iv), call.bits or 8 * len(call.data)
    return b"".join(
        engine.crypt(
            replace(
                call,
                iv=bits.to_be((first - number) % (1 << 128), BLOCK),
                data=call.data[BLOCK * number : BLOCK * (number + 1)],
                bits=size % 128 if call.bits and size < 128 * (number + 1) else None,
                down=False,
            )
        )
        for number in range(-(-size // 128))
    )


def units(vector: TestVector, call: Call) -> list[Call]:
    """The call of each data unit: their tweaks follow one another as little-endian numbers."""
    size = vector.unit_bits
    if size is None:
        return [call]
    if size % 8:
        raise Unsupported(f"several data units of {size} bits, no whole bytes")
    first, step = bits.from_le(call.iv), size // 8
    return [
        replace(
            call,
            iv=bits.to_le((first + number) % (1 << 128), BLOCK),
            data=call.data[step * number : step * (number + 1)],
            bits=None,
        )
        for number in range(len(call.data) // step)
    ]
