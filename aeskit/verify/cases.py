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

LEVELS = ("brief", "quick", "full")
"""``brief`` is for slow engines: every length, but key sizes and orders of stealing take turns."""
KEY_BITS = (128, 192, 256)
STRIDES = (4, 5, 8, 16)
"""Blocks of one main-loop pass, of the implementations here and those known elsewhere."""
LANES = {"xts": 16, "ctr": 32}
"""A carry is brought onto each lane of the longest stride, CTR's with eight registers of four lanes."""

ONE_SET = 4096
"""Messages so far apart meet in one set of the L1 cache: many at once have a path of their own there."""

_CARRY = "|carry(?:32|64|128)_lane(?:{})"
_STARTS = {
    "keys": r"random|zeros|ones|bit(?:0|[1-9][0-9]{0,2})",
    "xts": "random|clear|set" + _CARRY.format("|".join(map(str, range(LANES["xts"])))),
    "ctr": "random" + _CARRY.format("|".join(map(str, range(LANES["ctr"])))),
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


SECTOR = 512
"""Sectors in a row have a multiple of so many bytes."""
_UNITS = {"brief": 26, "quick": 36, "full": 80}
"""The most sectors of a level's cases."""


def has_two_keys(mode: str) -> bool:
    """Whether a key is a data key with a tweak key behind it."""
    return mode in ("xts", "xts_sectors")


def takes(mode: str, length: int) -> bool:
    """Whether a message of the mode can have this length."""
    if mode in ("xts", "cts"):
        return length >= 16
    if mode == "keys":
        return 8 * length in KEY_BITS
    if mode == "xts_sectors":
        return length >= SECTOR and length % SECTOR == 0
    return mode == "ctr" or length % 16 == 0


def sectors(length: int) -> int:
    """Into how many sectors `length` bytes are cut: as many or as few as can be, in turn."""
    units = length // SECTOR
    counts = [count for count in range(1, units + 1) if units % count == 0]
    return counts[-1 - units % 3 % len(counts)]


def streams(length: int) -> int:
    """Into how many messages `length` bytes are cut for CBC of many at once: up to 40, in turn."""
    blocks = length // 16
    counts = [count for count in range(1, 41) if blocks % count == 0]
    return counts[-1 - blocks % 3 % len(counts)] if blocks else 1


def returns(mode: str, length: int) -> bool:
    """Whether the native functions come back from this length, having changed nothing if they refuse it."""
    return takes(mode, length) or (mode in ("xts", "cts") and length < 16)


def lengths(mode: str, level: str) -> list[int]:
    """Every length from 0 to 600, then k strides ± 47, of those that the functions take; 16 and 17 pages."""
    if mode == "xts_sectors":
        return [SECTOR * units for units in range(1, _UNITS[level] + 1)]
    passes = {"brief": (8,), "quick": (8, 16), "full": range(1, 17)}[level]
    near = {16 * stride * k + off for stride in STRIDES for k in passes for off in range(-47, 48)}
    if level != "full":
        near = {
            length for length in near if length % 16 in (0, 1, 15) or (length % 3 == 0 and level == "quick")
        }
    if mode == "cbc_streams" and level != "brief":
        near |= {16 * ONE_SET, 17 * ONE_SET}
    return sorted(length for length in {*range(601), *near} if returns(mode, length))


def cases(mode: str, direction: str, level: str) -> Iterator[Case]:
    """Every case of a mode's direction, by length so that a run stopped early has seen the short ones."""
    if mode == "keys":
        yield from _key_cases(level)
        return
    for length in lengths(mode, level):
        for key_bits, stealing in _variants(mode, length, level):
            for start in _starts(mode, length, level):
                yield Case(mode, direction, key_bits, length, start, 0, stealing)
            if level == "full":
                yield Case(mode, direction, key_bits, length, "random", 1, stealing)


def _variants(mode: str, length: int, level: str) -> list[tuple[int, str]]:
    """Key sizes with orders of stealing; in the brief level the one whose turn it is."""
    orders = ("CS1", "CS2", "CS3") if mode == "cts" else ("",)
    every = [(key_bits, order) for key_bits in KEY_BITS for order in orders]
    return [every[length % len(every)]] if level == "brief" else every


def _starts(mode: str, length: int, level: str) -> Iterator[str]:
    yield "random"
    if mode not in ("ctr", "xts") or not takes(mode, length):
        return
    if mode == "xts":
        yield from ("clear", "set") if level == "full" else ("set",) if length % 2 else ("clear",)
    for lane in range(LANES[mode]):
        # It shows in block lane + 1: handed back alone, behind a block or a part of one; the last one, one
        # before a tail, one in the middle of later passes.
        beyond = length - 16 * (lane + 1)
        ends = beyond in (-9, 0, 16, 23) or (level == "full" and beyond in (1, 256, 512))
        if ends or length in (16 * 33 + 7, 16 * 36):
            yield from (f"carry{width}_lane{lane}" for width in (32, 64, 128))


def _key_cases(level: str) -> Iterator[Case]:
    for key_bits in KEY_BITS:
        for start in ("zeros", "ones", *(f"bit{bit}" for bit in range(key_bits))):
            yield Case("keys", "expand", key_bits, key_bits // 8, start)
        for seed in range({"brief": 20, "quick": 200, "full": 2000}[level]):
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
