"""Cases: what is computed. Pure data, the same on every run; where the buffers lie is a layout's business.

A case says how its inputs are made; `aeskit.verify.inputs` makes them. Starts (of the tweak, counter or IV):

- ``random``;
- ``clear``, ``set``: XTS, the first tweak's top bit (x^127, which the next doubling folds back);
- ``carryK_laneJ``, K of 32, 64, 128: between lane J and the next, CTR's counter carries out of its low K
  bits, and XTS's tweak moves a single bit out of its low K bits;
- keys: ``random``, ``zeros``, ``ones``, ``bitN``: the N-th bit alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

LEVELS = ("quick", "full")
KEY_BITS = (128, 192, 256)
STRIDES = (4, 5, 8, 16)
"""Blocks of one main-loop pass, of the implementations here and those known elsewhere."""
LANES = 16
"""A carry is brought onto each lane of the longest stride."""

_CARRY = r"|carry(?:32|64|128)_lane(?:[0-9]|1[0-5])"
_STARTS = {
    "keys": r"random|zeros|ones|bit(?:0|[1-9][0-9]{0,2})",
    "xts": "random|clear|set" + _CARRY,
    "ctr": "random" + _CARRY,
}


@dataclass(frozen=True, slots=True)
class Case:
    """One computation: mode, direction, key size, length, start, seed."""

    mode: str
    direction: str
    key_bits: int
    length: int
    """Bytes of the data; for the mode ``keys``, of the key."""
    start: str = "random"
    seed: int = 0
    stealing: str = ""

    @property
    def title(self) -> str:
        """As findings write it: ``AES-256, CS3, 33 bytes``."""
        start = "" if self.start == "random" else f", {self.start.replace('_', ' ')}"
        size = "" if self.mode == "keys" else f", {self.length} bytes"
        return f"AES-{self.key_bits}" + (f", {self.stealing}" if self.stealing else "") + size + start


def takes(mode: str, length: int) -> bool:
    """Whether a message of the mode can have this length."""
    if mode in ("xts", "cts"):
        return length >= 16
    return mode == "ctr" or length % 16 == 0


def returns(mode: str, length: int) -> bool:
    """Whether the native functions come back from this length, having changed nothing if they refuse it."""
    return takes(mode, length) or (mode in ("xts", "cts") and length < 16)


def lengths(mode: str, level: str) -> list[int]:
    """Every length from 0 to 600, then k strides ± 47, of those that the functions take."""
    passes = range(1, 17) if level == "full" else (8, 16)
    near = {16 * stride * k + off for stride in STRIDES for k in passes for off in range(-47, 48)}
    if level == "quick":
        near = {length for length in near if length % 3 == 0 or length % 16 in (0, 1, 15)}
    return sorted(length for length in {*range(601), *near} if returns(mode, length))


def cases(mode: str, direction: str, level: str) -> Iterator[Case]:
    """Every case of a mode's direction, by length so that a run stopped early has seen the short ones."""
    if mode == "keys":
        yield from _key_cases(level)
        return
    seeds = range(3 if level == "full" else 1)
    for length in lengths(mode, level):
        for key_bits in KEY_BITS:
            for stealing in ("CS1", "CS2", "CS3") if mode == "cts" else ("",):
                for start in _starts(mode, length, key_bits, level):
                    for seed in seeds if start == "random" else (0,):
                        yield Case(mode, direction, key_bits, length, start, seed, stealing)


def _starts(mode: str, length: int, key_bits: int, level: str) -> Iterator[str]:
    yield "random"
    if mode == "xts" and takes(mode, length):
        yield "set" if level == "quick" and length % 2 else "clear"
        if level == "full":
            yield "set"
    if mode not in ("ctr", "xts"):
        return
    # A carry after lane J shows in block J + 1. Lengths: the last block, a tail, a second pass of any stride.
    for lane in range(LANES):
        after = length - 16 * (lane + 1)
        if (
            after in (16, 23)
            or length in (16 * 33 + 7, 16 * 36)
            or (level == "full" and after in (1, 256, 512))
        ):
            yield from (f"carry{width}_lane{lane}" for width in (32, 64, 128))


def _key_cases(level: str) -> Iterator[Case]:
    for key_bits in KEY_BITS:
        for start in ("zeros", "ones", *(f"bit{bit}" for bit in range(key_bits))):
            yield Case("keys", "expand", key_bits, key_bits // 8, start)
        for seed in range(2000 if level == "full" else 200):
            yield Case("keys", "expand", key_bits, key_bits // 8, "random", seed)


def check(case: Case) -> None:
    """ValueError unless `cases` could yield such a case, at whatever length and seed."""
    if case.key_bits not in KEY_BITS:
        raise ValueError(f"key size must be 128, 192 or 256 bits, not {case.key_bits}")
    if not returns(case.mode, case.length) or (case.mode == "keys" and 8 * case.length != case.key_bits):
        raise ValueError(f"{case.mode} with AES-{case.key_bits} does not take {case.length} bytes")
    if (case.stealing in ("CS1", "CS2", "CS3")) != (case.mode == "cts"):
        raise ValueError(f'stealing must be CS1, CS2 or CS3 for cts alone, not "{case.stealing}"')
    wrong = not re.fullmatch(_STARTS.get(case.mode, "random"), case.start)
    if wrong or (case.start.startswith("bit") and int(case.start[3:]) >= case.key_bits):
        raise ValueError(f'there is no start "{case.start}" for {case.mode} with AES-{case.key_bits}')
