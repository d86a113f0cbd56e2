"""A faulty cipher and faulty key schedules, held against the vectors of ECB and of the mode ``keys``."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from aeskit.answers.engine import Call
from aeskit.answers.mutants.base import Mutant, fixed, mutant
from aeskit.bits import xor
from aeskit.models import aes
from aeskit.models.plain_form import Plain

Expand = Callable[[bytes], list[bytes]]


class _Box(Plain):
    """Plain AES with another S-box; its inverse stays right, as tables do that are typed twice."""

    def __init__(self, box: bytes, inverse: bytes) -> None:
        self._box, self._inverse = box, inverse

    def sub_bytes(self, string: bytes) -> bytes:
        """By the other table."""
        return string.translate(self._box)

    def inv_sub_bytes(self, string: bytes) -> bytes:
        """By the other table."""
        return string.translate(self._inverse)


_PLAIN = Plain()


def expand(
    key: bytes,
    constant: Callable[[int], int] = lambda i: aes_constant(i),
    rotate: Callable[[bytes], bytes] = lambda word: word[1:] + word[:1],
    substitute: Callable[[bytes, int], bytes] = lambda word, i: word.translate(aes.SBOX),
    second: bool = True,
    before: Callable[[int, int], int] = lambda i, Nk: i - Nk,
) -> list[bytes]:
    """KEYEXPANSION with a place for every fault (FIPS 197, 5.2)."""
    Nk = len(key) // 4
    w = [key[4 * i : 4 * i + 4] for i in range(Nk)]
    for i in range(Nk, 4 * (Nk + 7)):
        temp = w[i - 1]
        if i % Nk == 0:
            temp = xor(substitute(rotate(temp), i), bytes([constant(i // Nk), 0, 0, 0]))
        elif Nk > 6 and i % Nk == 4 and second:
            temp = substitute(temp, i)
        w.append(xor(w[before(i, Nk)], temp))
    return [b"".join(w[i : i + 4]) for i in range(0, len(w), 4)]


def aes_constant(i: int) -> int:
    """The first byte of Rcon[i] (FIPS 197, 5.2, table 5)."""
    return (0x01, 0x02, 0x04, 0x08, 0x10, 0x20, 0x40, 0x80, 0x1B, 0x36)[i - 1]


def mutants() -> list[Mutant]:
    """Every fault of the cipher and of its key schedule; each is held against ECB and against ``keys``."""
    found: list[Mutant] = []
    for name, faulty in _schedules().items():
        found.append(
            mutant("keys", "key schedule", name, schedule=fixed(lambda key, f: b"".join(f(key)), faulty))
        )
        found.append(mutant("ecb", "key schedule", name, run=fixed(lambda call, f: _cipher(call, f), faulty)))
    for at in range(0, 256, 4):
        box = _swapped(aes.SBOX, at)
        found.append(
            mutant(
                "ecb",
                "S-box",
                f"entries {at:#04x} and {at + 1:#04x} change places",
                run=_boxed(box, aes.INV_SBOX),
            )
        )
        inverse = _swapped(aes.INV_SBOX, at)
        found.append(
            mutant(
                "ecb",
                "S-box",
                f"inverse entries {at:#04x} and {at + 1:#04x} change places",
                run=_boxed(aes.SBOX, inverse),
            )
        )
    return found


def _schedules() -> dict[str, Expand]:
    found: dict[str, Expand] = {
        "the words are not rotated": lambda key: expand(key, rotate=bytes),
        "the words are rotated the other way": lambda key: expand(
            key, rotate=lambda word: word[-1:] + word[:-1]
        ),
        "the words are not substituted": lambda key: expand(key, substitute=lambda word, i: word),
        "AES-256 without its second substitution": lambda key: expand(key, second=False),
        "AES-192 takes the word 4 before": lambda key: expand(
            key, before=lambda i, Nk: i - 4 if Nk == 6 else i - Nk
        ),
        "AES-256 takes the word 4 before": lambda key: expand(
            key, before=lambda i, Nk: i - 4 if Nk == 8 else i - Nk
        ),
    }
    for wrong in range(1, 11):
        constant = fixed(lambda i, wrong: 0 if i == wrong else aes_constant(i), wrong)
        found[f"no round constant {wrong}"] = fixed(lambda key, c: expand(key, constant=c), constant)
    powers = lambda i: 1 << (i - 1) & 0xFF  # noqa: E731
    found["the round constants are not reduced"] = lambda key: expand(key, constant=powers)
    for size in (16, 24, 32):
        for round_ in (0, 1, size // 4 + 5, size // 4 + 6):
            found[f"AES-{8 * size}: round key {round_} has a bit flipped"] = fixed(
                lambda key, size, r: _flipped(key, size, r), size, round_
            )
    for bit in range(0, 256, 8):
        found[f"bit {bit} of the key is not read"] = fixed(lambda key, bit: expand(_without(key, bit)), bit)
    return found


def _flipped(key: bytes, size: int, round_: int) -> list[bytes]:
    w = expand(key)
    if len(key) == size:
        w[round_] = bytes([w[round_][0] ^ 1]) + w[round_][1:]
    return w


def _without(key: bytes, bit: int) -> bytes:
    at = bit // 8
    return key[:at] + bytes([key[at] & 0xFE]) + key[at + 1 :] if at < len(key) else key


def _cipher(call: Call, expand_key: Expand) -> bytes:
    run = _PLAIN.encrypt if call.forward else _PLAIN.decrypt
    return run(expand_key(call.key), call.data) if call.data else b""


def _boxed(box: bytes, inverse: bytes) -> Callable[[Call], bytes]:
    a = _Box(box, inverse)

    def faulty(call: Call) -> bytes:
        if not call.data:
            return b""
        w = aes.key_expansion(a, call.key)
        return a.encrypt(w, call.data) if call.forward else a.decrypt(w, call.data)

    return faulty


def _swapped(table: bytes, at: int) -> bytes:
    changed = np.frombuffer(table, np.uint8).copy()
    changed[[at, at + 1]] = changed[[at + 1, at]]
    return changed.tobytes()
