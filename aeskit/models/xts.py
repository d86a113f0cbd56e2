"""XTS-AES (IEEE 1619-2018, 5): a tweakable cipher of data units, any length from 16 bytes.

Key = Key1 | Key2: the data key, then the tweak key (5.1). Indices count from 0, as the standard's do.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

from aeskit.bits import BLOCK, to_le
from aeskit.models.arithmetic import Arithmetic, Form, choose
from aeskit.models.checks import Data, as_at_least_a_block, as_block, as_bytes, as_key
from aeskit.models.listener import Listener
from aeskit.trace import Note

S = TypeVar("S")
STANDARD = "IEEE 1619-2018"
KEY_SIZES = (32, 48, 64)
"""The standard has AES-128 and AES-256; 48 bytes is AES-192, the same procedure."""
MAX_BLOCKS = 1 << 20
"""Blocks that a data unit may have at most (SP 800-38E, 4; IEEE 1619, 5.1)."""


def encrypt(
    key: Data,
    tweak: Data,
    data: Data,
    *,
    form: Form = "numpy",
    note: Note | None = None,
    max_blocks: int | None = MAX_BLOCKS,
) -> bytes:
    """XTS-AES encryption of one data unit (5.3).

    Key 32, 48 or 64 bytes, tweak 16 (see `unit_tweak`), data at least 16; ValueError otherwise, as for more
    than `max_blocks` blocks (None lifts the limit). Equal key halves are taken: annex B's vector 1 has them.
    """
    return _one_unit(encrypt_data_unit, key, tweak, data, form, note, max_blocks)


def decrypt(
    key: Data,
    tweak: Data,
    data: Data,
    *,
    form: Form = "numpy",
    note: Note | None = None,
    max_blocks: int | None = MAX_BLOCKS,
) -> bytes:
    """XTS-AES decryption of one data unit (5.4); arguments as for `encrypt`."""
    return _one_unit(decrypt_data_unit, key, tweak, data, form, note, max_blocks)


def unit_tweak(number: int) -> bytes:
    """A data unit's number as the tweak i: 16 bytes, little-endian (5.1)."""
    if not 0 <= number < 1 << 128:
        raise ValueError(f"the data unit's number must be from 0 to 2^128 - 1, not {number}")
    return to_le(number, BLOCK)


def encrypt_sectors(
    key: Data, data: Data, first_sector: int, sector_size: int, *, form: Form = "numpy"
) -> bytes:
    """Encrypt units of `sector_size` bytes numbered from `first_sector`; whole ones, else ValueError."""
    return _many_units(encrypt_data_unit, key, data, first_sector, sector_size, form)


def decrypt_sectors(
    key: Data, data: Data, first_sector: int, sector_size: int, *, form: Form = "numpy"
) -> bytes:
    """Decrypt what `encrypt_sectors` made."""
    return _many_units(decrypt_data_unit, key, data, first_sector, sector_size, form)


# ---- The standard's procedures, in any arithmetic -------------------------------------------------------


def first_tweak(a: Arithmetic[S], Key2: Sequence[S], i: S, note: Note | None = None) -> S:
    """T_0 = AES-enc(Key2, i) ⊗ α^0 (5.3.1, step 1)."""
    T = a.encrypt(Key2, i, note, "i")
    Listener(a, note, STANDARD)("5.3.1, 1)", "T_j = AES-enc(Key2, i) ⊗ α^j", 0, "tweak", T=T)
    return T


def block_enc(a: Arithmetic[S], Key1: Sequence[S], P: S, T: S, j: int, tell: Listener[S]) -> S:
    """XTS-AES-blockEnc (5.3.1) of one block, or of a run of blocks from j with a run of tweaks."""
    tell("5.3.1, 1)", "T_j = AES-enc(Key2, i) ⊗ α^j", j, T=T)
    PP = a.xor(P, T)
    tell("5.3.1, 2)", "PP_j = P ⊕ T_j", j, PP=PP)
    CC = a.encrypt(Key1, PP, tell.note, f"PP_{j}")
    tell("5.3.1, 3)", "CC_j = AES-enc(Key1, PP_j)", j, CC=CC)
    return a.xor(CC, T)


def block_dec(a: Arithmetic[S], Key1: Sequence[S], C: S, T: S, j: int, tell: Listener[S]) -> S:
    """XTS-AES-blockDec (5.4.1), as `block_enc`."""
    tell("5.4.1, 1)", "T_j = AES-enc(Key2, i) ⊗ α^j", j, T=T)
    CC = a.xor(C, T)
    tell("5.4.1, 2)", "CC_j = C ⊕ T_j", j, CC=CC)
    PP = a.decrypt(Key1, CC, tell.note, f"CC_{j}")
    tell("5.4.1, 3)", "PP_j = AES-dec(Key1, CC_j)", j, PP=PP)
    return a.xor(PP, T)


def encrypt_data_unit(a: Arithmetic[S], Key1: Sequence[S], T: S, P: S, note: Note | None = None) -> S:
    """XTS-AES encryption of the data unit P (5.3.2) under the round keys of Key1, from T = T_0."""
    tell = Listener(a, note, STANDARD)
    m, b = divmod(a.length(P), BLOCK)
    C = []
    for q, count in a.runs(m - 1 if b else m, note):
        T_q = a.powers(T, count)
        C_q = block_enc(a, Key1, a.block(P, q, count), T_q, q, tell)
        tell("5.3.2, 1)" if q < m - 1 else "5.3.2, 3)", "C_j = CC_j ⊕ T_j", q, C=C_q)
        C.append(C_q)
        T = a.mul_alpha(a.block(T_q, count - 1))
    if b:
        CC = block_enc(a, Key1, a.block(P, m - 1), T, m - 1, tell)
        C_m, CP = a.part(CC, 0, b), a.part(CC, b, BLOCK)
        tell(
            "5.3.2, 4a) to c)", f"CC = C_{m} | CP: {b} and {BLOCK - b} bytes", None, "stealing", CC=CC, CP=CP
        )
        PP = a.join(a.part(P, BLOCK * m, BLOCK * m + b), CP)
        tell("5.3.2, 4d)", f"PP = P_{m} | CP", None, "stealing", PP=PP)
        C_m1 = block_enc(a, Key1, PP, a.mul_alpha(T), m, tell)
        tell("5.3.2, 4b)", "C_j = the first bytes of CC", m, "stealing", C=C_m)
        tell("5.3.2, 4e)", f"C_j = XTS-AES-blockEnc(PP, {m})", m - 1, "stealing", C=C_m1)
        C += [C_m1, C_m]
    return a.join(*C)


def decrypt_data_unit(a: Arithmetic[S], Key1: Sequence[S], T: S, C: S, note: Note | None = None) -> S:
    """XTS-AES decryption of the data unit C (5.4.2) under the round keys of Key1, from T = T_0.

    With a tail the last two tweaks are used in reverse order.
    """
    tell = Listener(a, note, STANDARD)
    m, b = divmod(a.length(C), BLOCK)
    P = []
    for q, count in a.runs(m - 1 if b else m, note):
        T_q = a.powers(T, count)
        P_q = block_dec(a, Key1, a.block(C, q, count), T_q, q, tell)
        tell("5.4.2, 1)" if q < m - 1 else "5.4.2, 3)", "P_j = PP_j ⊕ T_j", q, P=P_q)
        P.append(P_q)
        T = a.mul_alpha(a.block(T_q, count - 1))
    if b:
        PP = block_dec(a, Key1, a.block(C, m - 1), a.mul_alpha(T), m, tell)
        P_m, CP = a.part(PP, 0, b), a.part(PP, b, BLOCK)
        tell(
            "5.4.2, 4a) to c)", f"PP = P_{m} | CP: {b} and {BLOCK - b} bytes", None, "stealing", PP=PP, CP=CP
        )
        CC = a.join(a.part(C, BLOCK * m, BLOCK * m + b), CP)
        tell("5.4.2, 4d)", f"CC = C_{m} | CP", None, "stealing", CC=CC)
        P_m1 = block_dec(a, Key1, CC, T, m - 1, tell)
        tell("5.4.2, 4b)", "P_j = the first bytes of PP", m, "stealing", P=P_m)
        tell("5.4.2, 4e)", f"P_j = XTS-AES-blockDec(CC, {m - 1})", m - 1, "stealing", P=P_m1)
        P += [P_m1, P_m]
    return a.join(*P)


def next_tweak(a: Arithmetic[S], T: S, blocks: int) -> S:
    """The tweak that continues a data unit after that many whole blocks from T: T ⊗ α^blocks."""
    return a.block(a.powers(T, blocks + 1), blocks)


# ---- One unit and many ----------------------------------------------------------------------------------

_Procedure = Callable[..., Any]


def _schedules(a: Arithmetic[S], key: bytes, note: Note | None, decrypting: bool) -> tuple[list[S], list[S]]:
    half = len(key) // 2
    expand = a.expand_for_decryption if decrypting else a.expand
    K1 = expand(key[:half], note, "K1")
    return K1, a.expand(key[half:], note, "K2")


def _one_unit(
    procedure: _Procedure,
    key: Data,
    tweak: Data,
    data: Data,
    form: Form,
    note: Note | None,
    max_blocks: int | None,
) -> bytes:
    key, tweak, data = as_key(key, KEY_SIZES), as_block("tweak", tweak), as_at_least_a_block(data)
    _check_limit("data", len(data), max_blocks)
    a = choose(form)
    K1, K2 = _schedules(a, key, note, procedure is decrypt_data_unit)
    T = first_tweak(a, K2, a.string(tweak), note)
    return a.value(procedure(a, K1, T, a.string(data), note))


def _many_units(procedure: _Procedure, key: Data, data: Data, first: int, size: int, form: Form) -> bytes:
    key, data = as_key(key, KEY_SIZES), as_bytes("data", data)
    if size < BLOCK:
        raise ValueError(f"sector_size must be at least {BLOCK} bytes, not {size}")
    if len(data) % size:
        raise ValueError(f"data must be a multiple of the sector size, {size} bytes, not {len(data)}")
    _check_limit("sector_size", size, MAX_BLOCKS)
    units = len(data) // size
    tweaks = [unit_tweak(number) for number in range(first, first + units)]
    a = choose(form)
    K1, K2 = _schedules(a, key, None, False)
    if form == "plain" or not units:
        starts = range(0, len(data), size)
        return b"".join(
            procedure(a, K1, first_tweak(a, K2, i), data[start : start + size])
            for i, start in zip(tweaks, starts, strict=True)
        )
    # The array forms take all units side by side.
    i = np.frombuffer(b"".join(tweaks), np.uint8).reshape(units, BLOCK)
    T = first_tweak(a, K2, i)
    return a.value(procedure(a, K1, T, np.frombuffer(data, np.uint8).reshape(units, size)))


def _check_limit(what: str, size: int, max_blocks: int | None) -> None:
    if max_blocks is not None and size > BLOCK * max_blocks:
        raise ValueError(
            f"{what} must be at most {BLOCK * max_blocks} bytes ({max_blocks} blocks), not {size}"
        )
