"""The simplest value that still shows a fault: zeros, one bit, one byte, a few bytes, counting bytes.

Which values are tried depends on nothing but the value given and the answers: the same fault is shown by the
same value every time. A value that shows it with two of its units alone is found by halving, as in delta
debugging (Zeller and Hildebrandt, "Simplifying and Isolating Failure-Inducing Input", 2002).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

T = TypeVar("T")
Shows = Callable[[bytes], bool]
"""Whether a value shows the fault."""


def simplest(value: bytes, shows: Shows) -> bytes:
    """A value of the same size that shows what `value` shows, as simple as was found.

    What `shows` raises to end the search comes out of it: whoever gives it keeps the best so far.
    """
    for plain in _plain(len(value)):
        if plain == value or shows(plain):
            return plain
    at = fewest([n for n, byte in enumerate(value) if byte], lambda some: shows(_bytes(value, some)))
    value = _bytes(value, at)
    bits = fewest(_ones(value), lambda some: shows(_only(len(value), some)))
    few, counting = _only(len(value), bits), counted(len(value))
    if 2 * len(_bytes_set(few)) > len(value) > 2 and few != counting and shows(counting):
        return counting
    return few


def _plain(size: int) -> list[bytes]:
    """Zeros, then one bit: 1 in each byte order, the top bit in each."""
    ends = [b"\x01" + bytes(size - 1), bytes(size - 1) + b"\x01"] if size else []
    ends += [bytes(size - 1) + b"\x80", b"\x80" + bytes(size - 1)] if size else []
    return list(dict.fromkeys([bytes(size), *ends]))


def counted(size: int) -> bytes:
    """00 01 02 … of that size."""
    return bytes(n % 256 for n in range(size))


def fewest(units: Sequence[T], enough: Callable[[list[T]], bool]) -> list[T]:
    """Some of the units that are enough, none of which can be left out by itself; all of them are enough."""
    left, parts = list(units), 2
    while len(left) > 1:
        size = -(-len(left) // parts)
        pieces = [left[at : at + size] for at in range(0, len(left), size)]
        kept = next((piece for piece in pieces if enough(piece)), None)
        if kept is None and len(pieces) > 2:
            rests = (left[:at] + left[at + size :] for at in range(0, len(left), size))
            rest = next((rest for rest in rests if enough(rest)), None)
            if rest is not None:
                left, parts = rest, max(parts - 1, 2)
                continue
        if kept is not None:
            left, parts = kept, 2
        elif size == 1:
            break
        else:
            parts = min(2 * parts, len(left))
    return left


def _bytes(value: bytes, places: Sequence[int]) -> bytes:
    """The value with these bytes alone."""
    kept = set(places)
    return bytes(byte if at in kept else 0 for at, byte in enumerate(value))


def _bytes_set(value: bytes) -> list[int]:
    return [at for at, byte in enumerate(value) if byte]


def _ones(value: bytes) -> list[int]:
    """Its bits that are 1: 8 times the byte's place, plus the bit's, the least significant being 0."""
    return [8 * at + bit for at, byte in enumerate(value) for bit in range(8) if byte >> bit & 1]


def _only(size: int, bits: Sequence[int]) -> bytes:
    out = bytearray(size)
    for bit in bits:
        out[bit // 8] |= 1 << bit % 8
    return bytes(out)


def described(value: bytes) -> str:
    """``all zeros``, ``only bit 7 of byte 15``, and so on; empty for a value without such a shape."""
    places, ones = _bytes_set(value), _ones(value)
    if not places:
        return "all zeros" if value else "empty"
    if len(ones) == 1:
        return f"only bit {ones[0] % 8} of byte {ones[0] // 8}"
    if len(places) == 1:
        return f"only byte {places[0]}"
    if value == counted(len(value)):
        return "counting bytes"
    if 2 * len(places) <= len(value):
        return f"{len(places)} bytes, from {places[0]} to {places[-1]}"
    return ""
