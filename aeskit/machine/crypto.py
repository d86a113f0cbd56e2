"""AES rounds and carry-less products. The round's parts are the model's."""

from __future__ import annotations

import numpy as np

from aeskit.machine.semantics import Array, Kind, vector
from aeskit.models import aes

LINEAR, BILINEAR = Kind.LINEAR, Kind.BILINEAR


# STATE := MixColumns(SubBytes(ShiftRows(SRC1))); DEST := STATE XOR SRC2
@vector("aesenc", kind=LINEAR, substitution="forward")
def aesenc(state: Array, key: Array) -> Array:
    """A round, SubBytes done."""
    return aes.mix_columns(aes.shift_rows(state)) ^ key


# STATE := SubBytes(ShiftRows(SRC1)); DEST := STATE XOR SRC2
@vector("aesenclast", kind=LINEAR, substitution="forward")
def aesenclast(state: Array, key: Array) -> Array:
    """The last round."""
    return aes.shift_rows(state) ^ key


# STATE := InvMixColumns(InvSubBytes(InvShiftRows(SRC1))); DEST := STATE XOR SRC2
@vector("aesdec", kind=LINEAR, substitution="inverse")
def aesdec(state: Array, key: Array) -> Array:
    """A round of the equivalent inverse cipher."""
    return aes.inv_mix_columns(aes.inv_shift_rows(state)) ^ key


# STATE := InvSubBytes(InvShiftRows(SRC1)); DEST := STATE XOR SRC2
@vector("aesdeclast", kind=LINEAR, substitution="inverse")
def aesdeclast(state: Array, key: Array) -> Array:
    """Its last round."""
    return aes.inv_shift_rows(state) ^ key


# DEST := InvMixColumns(SRC)
@vector("aesimc", kind=LINEAR, arity=1)
def aesimc(a: Array) -> Array:
    """A round key for the equivalent inverse cipher."""
    return aes.inv_mix_columns(a)


# X1, X3 := SRC[63:32], SRC[127:96]; DEST := SubWord(X1), RotWord(SubWord(X1)) XOR RCON, the same of X3
@vector("aeskeygenassist", kind=LINEAR, arity=1, substitution="forward")
def aeskeygenassist(a: Array, imm: int) -> Array:
    """Words of the key schedule, SubWord done."""
    rcon = np.zeros(16, np.uint8)
    rcon[[4, 12]] = imm
    return a[..., [4, 5, 6, 7, 5, 6, 7, 4, 12, 13, 14, 15, 13, 14, 15, 12]] ^ rcon


def carryless(x: int, y: int) -> int:
    """The product of two polynomials over GF(2)."""
    if x.bit_count() > y.bit_count():
        x, y = y, x
    product = 0
    while x:
        low = x & -x
        product ^= y * low
        x ^= low
    return product


# TEMP1 := SRC1's quadword imm8[0], TEMP2 := SRC2's quadword imm8[4]; DEST := their product over GF(2)
@vector("pclmulqdq", kind=BILINEAR)
def pclmulqdq(a: Array, b: Array, imm: int) -> Array:
    """The 127-bit product."""
    at, bt = 8 * (imm & 1), 8 * (imm >> 4 & 1)
    x = np.ascontiguousarray(a[..., at : at + 8]).view("<u8").ravel().tolist()
    y = np.ascontiguousarray(np.broadcast_to(b, a.shape)[..., bt : bt + 8]).view("<u8").ravel().tolist()
    products = b"".join(carryless(p, q).to_bytes(16, "little") for p, q in zip(x, y, strict=True))
    return np.frombuffer(products, np.uint8).reshape(a.shape)
