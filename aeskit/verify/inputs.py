"""The bytes that a case stands for: keys, starts and data, reproducible and independent of one another."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from hashlib import shake_128

from aeskit import bits
from aeskit.verify import peer
from aeskit.verify.cases import Case, has_two_keys, sectors, streams

_KEYS = 8
"""Different keys of one size and seed: schedules are dear to the model."""


@dataclass(frozen=True, slots=True)
class Inputs:
    """What a function is given. `key`: XTS has the data key, then the tweak key.

    `iv` of sectors in a row: their first tweaks, encrypted, and as many IVs.
    """

    mode: str
    direction: str
    key: bytes
    iv: bytes
    data: bytes
    stealing: str = ""


def of(case: Case) -> Inputs:
    """The bytes that a case stands for."""
    size = case.key_bits // 8
    if case.mode == "keys":
        key = _start_key(case.start, size, case.seed)
        return Inputs(case.mode, case.direction, key, b"", key)
    key = _bytes("key", 2 * size if has_two_keys(case.mode) else size, case.seed, case.length % _KEYS)
    iv = b"" if case.mode == "ecb" else _start(case, key)
    data = _bytes("data", case.length, case.seed, case.length)
    return Inputs(case.mode, case.direction, key, iv, data, case.stealing)


def _start(case: Case, key: bytes) -> bytes:
    if case.mode == "cbc_streams":
        return _bytes("iv", 16 * streams(case.length), case.seed, case.length)
    if case.mode == "xts_sectors":
        return _bytes("iv", 2 * 16 * sectors(case.length), case.seed, case.length)
    drawn = _bytes("iv", 16, case.seed, case.length)
    if case.start == "random":
        return drawn
    if case.mode == "xts":
        return peer.block(key[len(key) // 2 :], _first_tweak(case.start, drawn), forward=False)
    width, lane = _carry(case.start)
    ones = (1 << width) - 1
    return bits.to_be(((bits.from_be(drawn) | ones) - lane) % (1 << 128), 16)


def _first_tweak(start: str, drawn: bytes) -> bytes:
    if start in ("clear", "set"):
        return drawn[:15] + bytes([drawn[15] & 0x7F | (0x80 if start == "set" else 0)])
    width, lane = _carry(start)
    return bits.to_le(1 << (width - 1 - lane), 16)


def _start_key(start: str, size: int, seed: int) -> bytes:
    if start == "random":
        return _bytes("key", size, seed)
    if start.startswith("bit"):
        return bits.to_le(1 << int(start[3:]), size)
    return bytes(size) if start == "zeros" else b"\xff" * size


def _carry(start: str) -> tuple[int, int]:
    width, lane = start.removeprefix("carry").split("_lane")
    return int(width), int(lane)


@lru_cache(maxsize=4096)
def _bytes(what: str, size: int, *seeds: int) -> bytes:
    """Reproducible bytes, independent for each purpose."""
    return shake_128(repr((what, size, seeds)).encode()).digest(size)
