"""AES (FIPS 197, updated 9 May 2023): the round transformations, the key schedule, the ciphers.

A state is 16 bytes in the order of the input: byte 4c + r stands in row r of column c (3.4). The round
transformations take uint8 arrays of the shape (…, 16); all but SUBBYTES are linear over GF(2). KEYEXPANSION,
CIPHER, INVCIPHER and EQINVCIPHER are written once for every arithmetic (`aeskit.models.arithmetic`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from aeskit.models.arithmetic import Arithmetic
    from aeskit.trace import Note

Bytes = NDArray[np.uint8]
S = TypeVar("S")

ROUNDS = {16: 10, 24: 12, 32: 14}
"""Nr by the key's length in bytes (FIPS 197, table 3)."""

# ---- GF(2^8), 4 ---------------------------------------------------------------------------------------


def xtimes(byte: int) -> int:
    """XTIMES: the product with {02} modulo x^8 + x^4 + x^3 + x + 1 (4.2, equation 4.5)."""
    return byte << 1 & 0xFF ^ (byte >> 7) * 0x1B


def multiply(a: int, b: int) -> int:
    """The product a • b in GF(2^8) as a sum of repeated XTIMES (4.2)."""
    product = 0
    while b:
        product ^= a * (b & 1)
        a, b = xtimes(a), b >> 1
    return product


def inverse(byte: int) -> int:
    """The multiplicative inverse b^254; {00} stays {00} (4.4, equation 4.11)."""
    power = 1
    for _ in range(254):
        power = multiply(power, byte)
    return power


def affine(byte: int) -> int:
    """The affine transformation of the S-box, constant {63} included (5.1.1, equation 5.3)."""
    doubled = byte << 8 | byte
    return (doubled >> 8 ^ doubled >> 7 ^ doubled >> 6 ^ doubled >> 5 ^ doubled >> 4) & 0xFF ^ 0x63


def _inverses() -> list[int]:
    """Every inverse at once, by the powers of the generator {03}: g^k and g^(255-k) are a pair."""
    powers = [1]
    for _ in range(254):
        powers.append(powers[-1] ^ xtimes(powers[-1]))
    found = [0] * 256
    for k, power in enumerate(powers):
        found[power] = powers[-k % 255]
    return found


SBOX = bytes(affine(byte) for byte in _inverses())
"""SBOX() as a table (5.1.1, table 4)."""
INV_SBOX = bytes(SBOX.index(byte) for byte in range(256))
"""INVSBOX() as a table (5.3.2, table 6)."""

# ---- The round transformations on arrays, 5.1 and 5.3 ---------------------------------------------------

_SBOX = np.frombuffer(SBOX, np.uint8)
_INV_SBOX = np.frombuffer(INV_SBOX, np.uint8)

# s'[r, c] = s[r, (c + r) mod 4]: for each byte of the new state, the byte of the old one (5.1.2).
SHIFT_ROWS = tuple(4 * ((c + r) % 4) + r for c in range(4) for r in range(4))
INV_SHIFT_ROWS = tuple(SHIFT_ROWS.index(i) for i in range(16))
_SHIFT_ROWS, _INV_SHIFT_ROWS = np.array(SHIFT_ROWS), np.array(INV_SHIFT_ROWS)


def sub_bytes(state: Bytes) -> Bytes:
    """SUBBYTES on bytes of any shape (5.1.1)."""
    return _SBOX.take(state)


def inv_sub_bytes(state: Bytes) -> Bytes:
    """INVSUBBYTES on bytes of any shape (5.3.2)."""
    return _INV_SBOX.take(state)


def shift_rows(state: Bytes) -> Bytes:
    """SHIFTROWS on states of the shape (…, 16) (5.1.2)."""
    return state.take(_SHIFT_ROWS, axis=-1)


def inv_shift_rows(state: Bytes) -> Bytes:
    """INVSHIFTROWS on states of the shape (…, 16) (5.3.1)."""
    return state.take(_INV_SHIFT_ROWS, axis=-1)


def mix_columns(state: Bytes) -> Bytes:
    """MIXCOLUMNS on states of the shape (…, 16): s'_r = {02}s_r ⊕ {03}s_r+1 ⊕ s_r+2 ⊕ s_r+3 (5.1.3)."""
    s0, s1, s2, s3 = _rows_from(state)
    return (_xtimes(s0 ^ s1) ^ s1 ^ s2 ^ s3).view(np.uint8)


def inv_mix_columns(state: Bytes) -> Bytes:
    """INVMIXCOLUMNS on states of the shape (…, 16).

    s'_r = {0e}s_r ⊕ {0b}s_r+1 ⊕ {0d}s_r+2 ⊕ {09}s_r+3 (5.3.3).
    """
    s0, s1, s2, s3 = _rows_from(state)
    twice = _xtimes(s0 ^ s1)
    four_times = _xtimes(_xtimes(s0 ^ s2))
    eight_times = _xtimes(_xtimes(_xtimes(s0 ^ s1 ^ s2 ^ s3)))
    return (eight_times ^ four_times ^ twice ^ s1 ^ s2 ^ s3).view(np.uint8)


def _rows_from(state: Bytes) -> list[NDArray[np.uint32]]:
    """The columns as integers, rotated so that byte r of result k is s_(r+k mod 4)."""
    columns = np.ascontiguousarray(state).view("<u4")
    return [columns] + [columns >> 8 * k | columns << (32 - 8 * k) for k in (1, 2, 3)]


def _xtimes(columns: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """XTIMES on each of the four bytes of an integer (4.2)."""
    reduced = (columns >> 7 & 0x01010101) * np.uint32(0x1B)
    return np.left_shift(columns & 0x7F7F7F7F, 1) ^ reduced


# ---- Key schedule, 5.2 ----------------------------------------------------------------------------------


def key_expansion(a: Arithmetic[S], key: S, note: Note | None = None, name: str = "K") -> list[S]:
    """KEYEXPANSION (5.2, algorithm 2): the Nr + 1 round keys, 16 bytes each.

    `note` hears each round key as ``K[7]``; `name` is the letter in front of the bracket.
    """
    Nk = a.length(key) // 4
    Nr = Nk + 6
    w: list[S] = []
    for i in range(Nk):
        w.append(a.part(key, 4 * i, 4 * i + 4))
    rcon = 1
    for i in range(Nk, 4 * Nr + 4):
        temp = w[i - 1]
        if i % Nk == 0:
            rot_word = a.join(a.part(temp, 1, 4), a.part(temp, 0, 1))
            temp = a.xor(a.sub_bytes(rot_word), a.string(bytes([rcon, 0, 0, 0])))
            rcon = xtimes(rcon)
        elif Nk > 6 and i % Nk == 4:
            temp = a.sub_bytes(temp)
        w.append(a.xor(w[i - Nk], temp))
    round_keys = [a.join(*w[4 * r : 4 * r + 4]) for r in range(Nr + 1)]
    if note:
        for r, round_key in enumerate(round_keys):
            words = f"w[{4 * r}] … w[{4 * r + 3}]"
            note(
                f"{name}[{r}] = {words}",
                "FIPS 197, 5.2",
                "key schedule",
                **{f"{name}[{r}]": a.value(round_key)},
            )
    return round_keys


def key_expansion_eic(
    a: Arithmetic[S], w: Sequence[S], note: Note | None = None, name: str = "dK"
) -> list[S]:
    """KEYEXPANSIONEIC (5.3.5, algorithm 5): the round keys of EQINVCIPHER, numbered as those of CIPHER.

    The first and the last are those of `w`, the others its INVMIXCOLUMNS. EQINVCIPHER uses them from the
    last to the first; a schedule in memory usually holds them in that order.
    """
    dw = [w[0], *(a.inv_mix_columns(round_key) for round_key in w[1:-1]), w[-1]]
    _note_keys(a, note, name, "FIPS 197, 5.3.5", dw)
    return dw


def _note_keys(a: Arithmetic[S], note: Note | None, name: str, place: str, round_keys: Sequence[S]) -> None:
    if note is None:
        return
    for r, round_key in enumerate(round_keys):
        words = f"{name}[{r}]: words {4 * r} to {4 * r + 3}"
        note(words, place, "key schedule", **{f"{name}[{r}]": a.value(round_key)})


# ---- The ciphers, 5.1 and 5.3 ---------------------------------------------------------------------------
# Their steps are named as in FIPS 197 (2001), appendix C: round[1].start, s_box, s_row, m_col, …


def cipher(a: Arithmetic[S], block: S, w: Sequence[S], note: Note | None = None, name: str = "") -> S:
    """CIPHER (5.1, algorithm 1) with the round keys `w`; `name` is put before each value's name."""
    see = _observer(a, note, name, "FIPS 197, 5.1")
    Nr = len(w) - 1
    state = see(1, "start", a.add_round_key(block, w[0]))
    for r in range(1, Nr):
        state = see(r, "s_box", a.sub_bytes(state))
        state = see(r, "s_row", a.shift_rows(state))
        state = see(r, "m_col", a.mix_columns(state))
        state = see(r + 1, "start", a.add_round_key(state, w[r]))
    state = see(Nr, "s_box", a.sub_bytes(state))
    state = see(Nr, "s_row", a.shift_rows(state))
    return see(Nr, "output", a.add_round_key(state, w[Nr]))


def inv_cipher(a: Arithmetic[S], block: S, w: Sequence[S], note: Note | None = None, name: str = "") -> S:
    """INVCIPHER (5.3, algorithm 3) with the round keys `w` of KEYEXPANSION; `name` as in `cipher`."""
    see = _observer(a, note, name, "FIPS 197, 5.3")
    Nr = len(w) - 1
    state = see(1, "istart", a.add_round_key(block, w[Nr]))
    for r in range(1, Nr):
        state = see(r, "is_row", a.inv_shift_rows(state))
        state = see(r, "is_box", a.inv_sub_bytes(state))
        state = see(r, "ik_add", a.add_round_key(state, w[Nr - r]))
        state = see(r + 1, "istart", a.inv_mix_columns(state))
    state = see(Nr, "is_row", a.inv_shift_rows(state))
    state = see(Nr, "is_box", a.inv_sub_bytes(state))
    return see(Nr, "ioutput", a.add_round_key(state, w[0]))


def eq_inv_cipher(a: Arithmetic[S], block: S, dw: Sequence[S], note: Note | None = None, name: str = "") -> S:
    """EQINVCIPHER (5.3.5, algorithm 4) with the round keys `dw` of KEYEXPANSIONEIC; what AESDEC computes."""
    see = _observer(a, note, name, "FIPS 197, 5.3.5")
    Nr = len(dw) - 1
    state = see(1, "istart", a.add_round_key(block, dw[Nr]))
    for r in range(1, Nr):
        state = see(r, "is_box", a.inv_sub_bytes(state))
        state = see(r, "is_row", a.inv_shift_rows(state))
        state = see(r, "im_col", a.inv_mix_columns(state))
        state = see(r + 1, "istart", a.add_round_key(state, dw[Nr - r]))
    state = see(Nr, "is_box", a.inv_sub_bytes(state))
    state = see(Nr, "is_row", a.inv_shift_rows(state))
    return see(Nr, "ioutput", a.add_round_key(state, dw[0]))


def _observer(a: Arithmetic[S], note: Note | None, name: str, place: str) -> Callable[[int, str, S], S]:
    """A function that notes a state as ``round[r].step`` and hands it back; nothing else without `note`."""
    if note is None:
        return lambda r, step, state: state

    def see(r: int, step: str, state: S) -> S:
        label = f"{name}.round[{r}].{step}" if name else f"round[{r}].{step}"
        note(label, place, f"round {r}", **{label: a.value(state)})
        return state

    return see
