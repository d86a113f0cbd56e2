"""AES rounds and carry-less products. The round's parts are the model's."""

from __future__ import annotations

import numpy as np

from aeskit.machine.semantics import Array, Kind, split, vector
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


# ---- GFNI (SDM volume 2; bytes are polynomials modulo x^8 + x^4 + x^3 + x + 1)

_PARITY = np.array([n.bit_count() & 1 for n in range(256)], np.uint8)


# DEST.byte[j].bit[i] := parity(SRC2.qword.byte[7 - i] AND SRC1.byte[j]) XOR imm8.bit[i], by quadwords
@vector("gf2p8affineqb:1", kind=LINEAR, control=(1,), scattered=True)
def gf2p8affineqb(a: Array, matrix: Array, imm: int) -> Array:
    """Eight bytes by one matrix of bits."""
    rows = split(np.broadcast_to(matrix, a.shape), 8)[..., None, ::-1]
    bits = _PARITY[split(a, 8)[..., None] & rows]
    return np.packbits(bits, -1, "little").reshape(a.shape) ^ np.uint8(imm)


# The same of the inverse of SRC1.byte[j]; SubBytes is 63 XOR a matrix of that inverse
@vector("gf2p8affineinvqb:1", kind=LINEAR, control=(1,), scattered=True, substitution="forward")
def gf2p8affineinvqb(a: Array, matrix: Array, imm: int) -> Array:
    """SubBytes done: its matrix is undone (FIPS 197, 5.3.2), then comes the other."""
    inverse = np.full_like(a, 0x05)
    for count in (1, 3, 6):
        inverse ^= a << np.uint8(count) | a >> np.uint8(8 - count)
    return gf2p8affineqb(inverse, matrix, imm)


# DEST.byte[j] := SRC1.byte[j] times SRC2.byte[j]
@vector("gf2p8mulb:1", kind=LINEAR, control=(1,))
def gf2p8mulb(a: Array, b: Array) -> Array:
    """Products in the field, linear where the second is constant."""
    out, factor = np.zeros_like(a), np.broadcast_to(b, a.shape).copy()
    for bit in range(8):
        out = out ^ np.where(a >> np.uint8(bit) & 1, factor, np.uint8(0))
        factor = factor << np.uint8(1) ^ (factor >> np.uint8(7)) * np.uint8(0x1B)
    return out
