"""A mutant: an implementation with one fault, over AES that is right. Vectors are measured by what they kill.

A killer is what a vector can find: these faulty implementations, or changed machine code (`machine`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Protocol

from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from aeskit.answers.check import Checker, Status
from aeskit.answers.engine import BLOCK, Call, Engine, Unsupported
from aeskit.vectors import TestVector
from aeskit.verify import peer

STRIDES = (2, 4, 8, 16)
"""Blocks of a main loop's pass, from two to four registers of four."""


class Killer(Protocol):
    """What a set of vectors shall kill."""

    @property
    def name(self) -> str:
        """Unique: ``ctr: lane 3 of 8 loses the carry at 64 bits``."""
        ...

    @property
    def mode(self) -> str:
        """The mode whose vectors it is held against."""
        ...

    @property
    def family(self) -> str:
        """The kind of fault, a row of the table."""
        ...

    def kills(self, vectors: Sequence[TestVector]) -> Iterator[int]:
        """The numbers of the vectors that find it, as they are tried one after the other."""
        ...


Run = Callable[[Call], bytes]
Pieces = Callable[[Call, tuple[int, ...]], bytes]


class Faulty(Engine):
    """Answers with a fault in one place; where none is given, right by the peer."""

    def __init__(
        self,
        name: str,
        mode: str,
        *,
        run: Run | None = None,
        in_place: Run | None = None,
        pieces: Pieces | None = None,
        after: Run | None = None,
        schedule: Callable[[bytes], bytes] | None = None,
    ) -> None:
        """Put a faulty function where one is given."""
        self.name, self._mode = name, mode
        self._run, self._in_place, self._pieces = run or right, in_place, pieces
        self._after, self._schedule = after, schedule

    def crypt(self, call: Call) -> bytes:
        """With the fault, if it is one of every call."""
        if call.mode != self._mode or call.bits is not None:
            raise Unsupported(f"is a fault of {self._mode}, in whole bytes")
        return self._run(call)

    def layouts(self, call: Call, pieces: tuple[int, ...]) -> Iterator[tuple[str, bytes]]:
        """With the fault, if it is one of a layout."""
        if self._in_place:
            yield "in place", self._in_place(call)
        if self._pieces and pieces:
            yield "in pieces", self._pieces(call, pieces)

    def after(self, call: Call) -> bytes:
        """With the fault, if it is one of what continues."""
        found = self._after(call) if self._after else right_after(call)
        if found is None:
            raise Unsupported("nothing continues this message")
        return found

    def schedule(self, key: bytes) -> bytes:
        """With the fault, if it is one of the schedule."""
        if not self._schedule:
            raise Unsupported("is no fault of the key schedule")
        return self._schedule(key)


@dataclass(frozen=True)
class Mutant:
    """One faulty implementation."""

    name: str
    mode: str
    family: str
    engine: Engine

    def kills(self, vectors: Sequence[TestVector]) -> Iterator[int]:
        """See `Killer.kills`; vectors of other modes are passed over."""
        checker = Checker(self.engine)
        for number, vector in enumerate(vectors):
            if vector.mode == self.mode and checker.check(vector).status is Status.FAILED:
                yield number


def mutant(mode: str, family: str, fault: str, **functions: Any) -> Mutant:
    """A mutant whose faulty functions are those given to `Faulty`."""
    name = f"{mode}: {fault}"
    return Mutant(name, mode, family, Faulty(name, mode, **functions))


def fixed(function: Callable[..., Any], *values: Any) -> Any:
    """The function with its last arguments given: what a loop means by its value now."""
    return lambda *first: function(*first, *values)


def right(call: Call) -> bytes:
    """The right answer."""
    return peer.answer(call.mode, call.direction, call.key, call.iv, call.data, call.stealing)[0]


def right_after(call: Call) -> bytes | None:
    """What really continues the message."""
    return peer.answer(call.mode, call.direction, call.key, call.iv, call.data, call.stealing)[1]


def aes(key: bytes, forward: bool, data: bytes) -> bytes:
    """AES of whole blocks; contexts are kept, as keys come back."""
    result: bytes = _update(key, forward)(data)
    return result


@lru_cache(maxsize=4096)
def _update(key: bytes, forward: bool) -> Any:
    cipher: Any = Cipher(algorithms.AES(key), modes.ECB())
    return (cipher.encryptor() if forward else cipher.decryptor()).update


def blocks(data: bytes) -> list[bytes]:
    """Whole blocks; a partial one at the end is left out."""
    return [data[at : at + BLOCK] for at in range(0, len(data) - BLOCK + 1, BLOCK)]


def spoiled(data: bytes, block: int, byte: int = 0) -> bytes:
    """One bit of a block flipped."""
    at = BLOCK * block + byte
    return data[:at] + bytes([data[at] ^ 0x10]) + data[at + 1 :]


def remainders(mode: str, run: Run, least: int = 1) -> list[Mutant]:
    """The code after the main loop, and the lanes within it, each wrong by itself.

    For every stride s: k blocks left over after at least one pass, k blocks without a pass, and lane k of
    every pass but the first. `least` blocks are the fewest that a message has.
    """

    def of(pick: Callable[[int], Sequence[int]]) -> Run:
        def faulty(call: Call) -> bytes:
            result = run(call)
            for block in pick(len(call.data) // BLOCK):
                result = spoiled(result, block)
            return result

        return faulty

    found = []
    for s in STRIDES:
        for k in range(1, s):
            passed = of(fixed(lambda m, s, k: [m - 1] if m > s and m % s == k else [], s, k))
            found.append(mutant(mode, "remainder", f"{k} blocks after passes of {s}", run=passed))
        for k in range(s):
            lane = of(fixed(lambda m, s, k: range(s + k, m - m % s, s), s, k))
            found.append(mutant(mode, "main loop", f"lane {k} of {s} from the second pass on", run=lane))
        for k in range(s):
            late = of(fixed(lambda m, s, k: range(3 * s + k, m - m % s, s), s, k))
            found.append(mutant(mode, "fourth pass", f"lane {k} of {s} from the fourth pass on", run=late))
        whole = of(fixed(lambda m, s: [m - 1] if m >= s and m % s == 0 else [], s))
        found.append(mutant(mode, "remainder", f"nothing left over after passes of {s}", run=whole))
    for k in range(least, max(STRIDES)):
        short = of(fixed(lambda m, k: [m - 1] if m == k else [], k))
        found.append(mutant(mode, "remainder", f"exactly {k} blocks", run=short))
    for size in (16, 24, 32):
        found.append(_scratch(mode, run, size))
        for k in range(least, 9):
            found.append(_short(mode, run, size, k, tail=False))
        for k in range(0 if mode == "ctr" else 1, 9) if mode in ("xts", "ctr", "cts") else ():
            found.append(_short(mode, run, size, k, tail=True))
    return found


def _short(mode: str, run: Run, size: int, k: int, tail: bool) -> Mutant:
    """The code of one key size for one short length."""

    def faulty(call: Call) -> bytes:
        result, key = run(call), len(call.key) // (2 if mode == "xts" else 1)
        m, b = divmod(len(call.data), BLOCK)
        return spoiled(result, max(m - 1, 0)) if (key, m, b > 0) == (size, k, tail) else result

    what = f"a tail after {k} blocks" if tail else f"{k} blocks"
    return mutant(mode, "key size", f"AES-{8 * size}: {what}", run=faulty)


def _scratch(mode: str, run: Run, size: int) -> Mutant:
    """A round key's register reused as scratch: one key size, and only after more than 128 bytes."""

    def faulty(call: Call) -> bytes:
        result, key = run(call), len(call.key) // (2 if mode == "xts" else 1)
        return spoiled(result, 8) if key == size and len(call.data) >= 9 * BLOCK else result

    return mutant(mode, "round keys", f"AES-{8 * size}: a round key is lost after 8 blocks", run=faulty)
