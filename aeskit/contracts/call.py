"""One call as a contract sets it up: buffers, arguments, and what must hold afterwards."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from aeskit.bits import BLOCK
from aeskit.models import aes
from aeskit.models.arithmetic import Arithmetic
from aeskit.trace import Note

String = Any
"""A string of the call's arithmetic: uint8 or ids, one-dimensional."""

ODD = 0x35
"""Where a buffer lies that need not be aligned, behind a multiple of 64."""

ANY: Any = object()
"""As an expectation: the buffer may hold anything."""


@dataclass
class Buffer:
    """Memory that the caller passes: nothing outside it may be touched."""

    name: str
    data: String
    writable: bool
    expected: String | None = None
    """What it must hold afterwards; None for unchanged."""
    aligned: bool = True
    """At a multiple of 16 that is none of 32; else at an odd address."""
    moves: bool = False
    """Source and destination: what follows a message's first part lies further on in them."""

    def place(self, number: int, low: tuple[int, int] = (0, 0)) -> int:
        """Where buffer `number` lies behind a multiple of 64: no better aligned than it must be.

        `low` are low bits of its address that are fixed, below 64, as (mask, value).
        """
        at, (mask, value) = BLOCK if self.aligned else ODD + BLOCK * number, low
        return at + (value + mask + 1 - at) % (2 * mask + 2) if mask else at


@dataclass(frozen=True)
class UInt32:
    """A 32-bit argument: the upper half of its register is undefined."""

    value: int


class Length(int):
    """The data's length as an argument: a proof for every length puts an unknown in its place."""


class Blocks(int):
    """The same where the argument counts whole blocks."""


class Call:
    """One call of a function: what a contract fills in."""

    def __init__(
        self,
        arithmetic: Arithmetic[Any],
        unknown: Callable[[str, int], String],
        add: Callable[[String, int], String],
        length: int,
        key_size: int,
        in_place: bool = False,
    ) -> None:
        """`unknown` gives an input's string, `add` the sum of a little-endian word and a number.

        `length` is the data's, `key_size` a key's, both in bytes.
        """
        self.a, self._unknown, self.add = arithmetic, unknown, add
        self.length, self.key_size, self.in_place = Length(length), key_size, in_place
        self.buffers: list[Buffer] = []
        self.registers: list[Buffer | UInt32 | int] = []
        self.public: set[str] = set()
        self.alignments: dict[str, tuple[int, int]] = {}
        """By a buffer's name: low bits of its address that a case of a proof has fixed, as (mask, value)."""
        self.assumed: list[tuple[String, int, int]] = []
        self.source_data: String = None
        self.following: dict[str, Callable[[int], String]] = {}
        """Input name to what it must be for the rest of the message, behind a number of blocks."""
        self.on_public: Callable[[str], None] = lambda name: None
        """Hears the name of every public input before it is used."""
        self.on_assume: Callable[[String, int, int], None] = lambda word, low, high: None
        """Hears every assumption before the models use the word."""
        self.note: Note | None = None
        """Hears every value that the models name."""

    # ---- Inputs

    def unknown(self, name: str, size: int, public: bool = False) -> String:
        """`size` bytes of any value; a branch or address may depend on them only if they are public."""
        if size < 0:
            raise ValueError(f"{name} must have 0 bytes or more, not {size}")
        if public:
            self.public.add(name)
            self.on_public(name)
        return self._unknown(name, size)

    def assume(self, word: String, low: int, high: int) -> None:
        """Only calls are meant whose little-endian integer `word` lies from `low` to `high`."""
        self.assumed.append((word, low, high))
        self.on_assume(word, low, high)

    def round_keys(self, name: str = "K") -> list[String]:
        """The round keys of a key of `key_size` bytes, each unknown: so for every key."""
        return [self.unknown(f"{name}[{r}]", BLOCK) for r in range(aes.ROUNDS[self.key_size] + 1)]

    def schedule(self, w: Sequence[String], name: str = "K", zeros: bool = False) -> String:
        """496 bytes: 240 for CIPHER, 240 for EQINVCIPHER in the order of use, the key length as 32 bits.

        What round keys and length leave free is unknown, or zeros where a key expansion must write them.
        """
        a, size = self.a, BLOCK * len(w)
        inverse = aes.key_expansion_eic(a, list(w))[::-1]
        free = self._free(name, 240 - size, 240 - size, 12)
        if zeros:
            free = [a.string(bytes(len(part))) for part in free]
        return a.join(*w, free[0], *inverse, free[1], a.string(self.key_size.to_bytes(4, "little")), free[2])

    def library_schedule(self, w: Sequence[String], name: str = "K", inverse: bool = False) -> String:
        """244 bytes: the round keys of one direction in 240, then the number of middle rounds as 32 bits.

        What the round keys leave free of the 240 is unknown.
        """
        a = self.a
        keys = aes.key_expansion_eic(a, list(w))[::-1] if inverse else list(w)
        free = self._free(name, 240 - BLOCK * len(w))
        return a.join(*keys, *free, a.string((len(w) - 2).to_bytes(4, "little")))

    def _free(self, name: str, *sizes: int) -> list[String]:
        """Bytes of a schedule that nothing says anything about."""
        return [self.unknown(f"free bytes {n} of {name}", size) for n, size in enumerate(sizes, 1)]

    # ---- Memory

    def readable(self, name: str, *strings: String, aligned: bool = True) -> Buffer:
        """A buffer that the function may read."""
        joined = self.a.join(*(self._string(string, f"a part of {name}") for string in strings))
        return self._add(Buffer(name, joined, False, aligned=aligned))

    def writable(self, name: str, string: String, aligned: bool = False) -> Buffer:
        """A buffer that it may write as well; without `must` it must leave it as it was."""
        return self._add(Buffer(name, self._string(string, name), True, aligned=aligned))

    def data(self) -> tuple[Buffer, Buffer]:
        """Source and destination of `length` unknown bytes; in place they are one buffer."""
        self.source_data = self.unknown("data", self.length)
        if self.in_place:
            source = target = self.writable("data", self.source_data)
        else:
            source = self.readable("source", self.source_data, aligned=False)
            target = self.writable("destination", self.unknown("old destination", self.length))
        source.moves = target.moves = True
        return source, target

    def _add(self, buffer: Buffer) -> Buffer:
        if buffer.name == "stack" or any(known.name == buffer.name for known in self.buffers):
            raise ValueError(f"a call's buffers must have names of their own, not two {buffer.name!r}")
        self.buffers.append(buffer)
        return buffer

    def _string(self, given: String, what: str) -> String:
        """What is given, if it is a string of the call's arithmetic; else TypeError."""
        if isinstance(given, type(self.a.string(b""))):
            return given
        said = "bytes (call.a.string makes one of them)" if isinstance(given, bytes) else f"{given!r:.40}"
        raise TypeError(f"{what} must be a string of call.a, not {said}")

    # ---- What is asked

    def carries(self, name: str, after: Callable[[int], String]) -> None:
        """The message's rest behind k blocks is a call of its own whose input `name` is after(k)."""
        self.following[name] = after

    def arguments(self, *values: Buffer | UInt32 | int) -> None:
        """The integer arguments in order (System V AMD64: rdi, rsi, rdx, rcx, r8, r9, then the stack).

        TypeError and ValueError for what is no buffer and no number of 64 bits.
        """
        for number, value in enumerate(values, 1):
            _check_argument(f"argument {number}", value)
        self.registers = list(values)

    def must(self, buffer: Buffer, expected: String) -> None:
        """After the call `buffer` holds `expected`, a string of its size or ANY; TypeError, ValueError."""
        if not any(known is buffer for known in self.buffers):
            raise TypeError(f"what must hold something is a buffer of this call, not {buffer!r:.40}")
        if expected is not ANY:
            self._string(expected, f"what {buffer.name} must hold")
            has, given = self.a.length(buffer.data), self.a.length(expected)
            if has != given:
                raise ValueError(f"what {buffer.name} must hold must be {has} bytes long, not {given}")
        buffer.expected = expected


def _check_argument(what: str, value: Buffer | UInt32 | int) -> None:
    if isinstance(value, Buffer):
        return
    bits, number = (32, value.value) if isinstance(value, UInt32) else (64, value)
    if not isinstance(number, int):
        raise TypeError(f"{what} must be a buffer, a UInt32 or a whole number, not {number!r:.40}")
    if not 0 <= number < 1 << bits:
        raise ValueError(f"{what} must be from 0 to 2^{bits} - 1, not {number}")


@dataclass(frozen=True)
class Contract:
    """What a function promises: `setup` fills in a `Call`."""

    name: str
    title: str
    setup: Callable[[Call], None]
    minimum: int = 0
    """The shortest length, in bytes."""
    multiple: int = 1
    """Lengths are multiples of this."""
    key_sizes: tuple[int, ...] = (16, 24, 32)
    in_place: bool = True
    """Whether source and destination may be one buffer."""
    has_length: bool = True
    inductive: bool = True
    """Whether a message's rest is a call of the same kind; else no proof for every length is tried."""
    also: tuple[int, ...] = ()
    """Lengths that are asked besides those of every request, where its own are far apart."""
    notes: tuple[str, ...] = field(default=())

    def __post_init__(self) -> None:
        """TypeError and ValueError for what is no contract."""
        if not callable(self.setup):
            raise TypeError(f"setup must be a function of a call, not {self.setup!r:.40}")
        if not self.key_sizes:
            raise ValueError("key_sizes must have a size in bytes; a function without a key has (0,)")
        if self.minimum < 0:
            raise ValueError(f"minimum must be 0 or more bytes, not {self.minimum}")
        if self.multiple < 1:
            raise ValueError(f"multiple must be 1 or more bytes, not {self.multiple}")

    def lengths(self, first: int, last: int) -> list[int]:
        """The lengths from `first` to `last` that it allows."""
        if not self.has_length:
            return [0]
        return [n for n in range(max(first, self.minimum), last + 1) if n % self.multiple == 0]
