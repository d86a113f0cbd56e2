"""Moves, broadcasts, inserts and extracts: bytes go where they are told, none is changed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from aeskit.machine.semantics import Array, Kind, family, join, signed, split, to_bytes, vector

MOVE = Kind.MOVE


# DEST := SRC
@vector(
    "movdqa",
    "movaps:4",
    "movapd:8",
    "movntdq",
    "movntdqa",
    "movntps",
    "movntpd",
    kind=MOVE,
    arity=1,
    aligned=True,
)
@vector("movdqa32:4", "movdqa64:8", kind=MOVE, arity=1, aligned=True)
@vector("movdqu", "lddqu", "movups:4", "movupd:8", kind=MOVE, arity=1, unaligned=True)
@vector("movdqu8:1", "movdqu16:2", "movdqu32:4", "movdqu64:8", kind=MOVE, arity=1, unaligned=True)
def move(a: Array) -> Array:
    """All of it."""
    return a


# DEST[31:0] := SRC[31:0], DEST[127:32] := 0
@vector("movd", kind=MOVE, arity=1, unaligned=True)
def movd(a: Array) -> Array:
    """The low doubleword."""
    return a[..., :4]


# DEST[63:0] := SRC[63:0], DEST[127:64] := 0
@vector("movq", kind=MOVE, arity=1, unaligned=True)
def movq(a: Array) -> Array:
    """The low quadword."""
    return a[..., :8]


# Between registers DEST := SRC1 with element 0 from SRC2; from memory the rest := 0; to memory element 0
for _name, _size in (("movss", 4), ("movsd", 8)):

    def _low(a: Array, b: Array, size: int = _size) -> Array:
        return np.concatenate((b[..., :size], a[..., size:]), -1)

    def _alone(a: Array, size: int = _size) -> Array:
        return a[..., :size]

    vector(_name, kind=MOVE)(_low)
    vector(f"{_name} load", f"{_name} store", kind=MOVE, arity=1, unaligned=True)(_alone)


# DEST[63:0] := SRC1[63:0], DEST[127:64] := SRC2[63:0]
@vector("movlhps", "movhps", "movhpd", kind=MOVE, unaligned=True)
def to_high(a: Array, b: Array) -> Array:
    """Low of a, then low of b."""
    return np.concatenate((a[..., :8], b[..., :8]), -1)


# DEST[63:0] := SRC2[63:0], DEST[127:64] := SRC1[127:64]
@vector("movlps", "movlpd", kind=MOVE, unaligned=True)
def to_low(a: Array, b: Array) -> Array:
    """Low of b, high of a."""
    return np.concatenate((b[..., :8], a[..., 8:]), -1)


# MEM := SRC[127:64]
@vector("movhps store", "movhpd store", kind=MOVE, arity=1, unaligned=True)
def from_high(a: Array) -> Array:
    """The high quadword."""
    return a[..., 8:]


vector("movlps store", "movlpd store", kind=MOVE, arity=1, unaligned=True)(movq)


# DEST[63:0] := SRC2[127:64], DEST[127:64] := SRC1[127:64]
@vector("movhlps", kind=MOVE)
def movhlps(a: Array, b: Array) -> Array:
    """High of b, high of a."""
    return np.concatenate((b[..., 8:], a[..., 8:]), -1)


# DEST[63:0] := SRC[63:0], DEST[127:64] := SRC[63:0]
@vector("movddup:8", kind=MOVE, arity=1, unaligned=True, scattered=True)
def movddup(a: Array) -> Array:
    """The even quadword twice."""
    return np.concatenate((a[..., :8], a[..., :8]), -1)


# DEST[every element] := SRC[first element]
@family("pbroadcast{}", "bwdq", kind=MOVE, arity=1, tile=True)
def pbroadcast(size: int) -> Callable[[Array], Array]:
    """The first element everywhere."""
    return lambda a: a.reshape(-1)[:size]


vector("broadcastss:4", kind=MOVE, arity=1, tile=True)(pbroadcast(4))
vector("broadcastsd:8", kind=MOVE, arity=1, tile=True)(pbroadcast(8))
vector("broadcasti128", "broadcastf128", kind=MOVE, arity=1, tile=True)(pbroadcast(16))
vector(
    "broadcasti32x4:4",
    "broadcastf32x4:4",
    "broadcasti64x2:8",
    "broadcastf64x2:8",
    kind=MOVE,
    arity=1,
    tile=True,
)(pbroadcast(16))
vector(
    "broadcasti32x8:4",
    "broadcastf32x8:4",
    "broadcasti64x4:8",
    "broadcastf64x4:8",
    kind=MOVE,
    arity=1,
    tile=True,
)(pbroadcast(32))
vector("broadcasti32x2:4", "broadcastf32x2:4", kind=MOVE, arity=1, tile=True)(pbroadcast(8))


# SEL := imm8 modulo the elements; TEMP := SRC1 with element SEL from SRC2
@family("pinsr{}", "bwdq", kind=MOVE)
def pinsr(size: int) -> Callable[[Array, Array, int], Array]:
    """One element from a general register or memory."""

    def body(a: Array, b: Array, imm: int) -> Array:
        out, at = a.copy(), imm % (16 // size) * size
        out[..., at : at + size] = b[..., :size]
        return out

    return body


# SEL := imm8 modulo the elements; DEST := SRC[element SEL]
@family("pextr{}", "bwdq", kind=MOVE, arity=1)
def pextr(size: int) -> Callable[[Array, int], Array]:
    """One element to a general register or memory."""

    def body(a: Array, imm: int) -> Array:
        at = imm % (16 // size) * size
        return a[..., at : at + size]

    return body


vector("extractps", kind=MOVE, arity=1)(pextr(4))


# TEMP := SRC1 with element imm8[5:4] := element imm8[7:6] of SRC2 (memory: all of it); zeros by imm8[3:0]
@vector("insertps", kind=MOVE, unaligned=True)
def insertps(a: Array, b: Array, imm: int) -> Array:
    """One doubleword, and zeros."""
    out, source = split(a, 4).copy(), split(b, 4)
    out[..., imm >> 4 & 3, :] = source[..., imm >> 6 if source.shape[-2] > 1 else 0, :]
    out[..., [n for n in range(4) if imm >> n & 1], :] = 0
    return join(out)


def _insert(size: int) -> Callable[[Array, Array, int], Array]:
    def body(a: Array, b: Array, imm: int) -> Array:
        out = a.reshape(-1, size).copy()
        out[imm % len(out)] = b.reshape(-1)[:size]
        return out.reshape(-1, 16)

    return body


def _extract(size: int) -> Callable[[Array, int], Array]:
    def body(a: Array, imm: int) -> Array:
        parts = a.reshape(-1, size)
        return parts[imm % len(parts)]

    return body


# DEST := SRC1 with the 128 or 256 bits that imm8 names from SRC2; DEST := SRC[those bits]
for _word, _make, _arity in (("insert", _insert, 2), ("extract", _extract, 1)):
    for _names, _bytes in (
        (("i128", "f128", "i32x4:4", "f32x4:4", "i64x2:8", "f64x2:8"), 16),
        (("i32x8:4", "f32x8:4", "i64x4:8", "f64x4:8"), 32),
    ):
        vector(*(_word + n for n in _names), kind=MOVE, arity=_arity, scattered=True)(_make(_bytes))


def _zero_extend(small: int, large: int) -> Callable[..., Array]:
    def body(a: Array, size: int) -> Array:
        parts = a.reshape(-1)[: size // large * small].reshape(-1, small)
        out = np.zeros((len(parts), large), a.dtype)
        out[:, :small] = parts
        return out.reshape(-1, 16)

    return body


def _sign_extend(small: int, large: int) -> Callable[..., Array]:
    def body(a: Array, size: int) -> Array:
        flat = a.reshape(*a.shape[:-2], -1)[..., : size // large * small]
        return to_bytes(signed(flat, small).astype(f"<i{large}"))

    return body


# DEST[i] := ZeroExtend(SRC[i]); DEST[i] := SignExtend(SRC[i])
_SIZES: dict[str, int] = {"b": 1, "w": 2, "d": 4, "q": 8}
for _pair in ("bw", "bd", "bq", "wd", "wq", "dq"):
    _from, _to = _SIZES[_pair[0]], _SIZES[_pair[1]]
    _more: dict[str, Any] = {"arity": 1, "sized": True, "unaligned": True}
    vector(f"pmovzx{_pair}:{_to}", kind=MOVE, **_more)(_zero_extend(_from, _to))
    vector(f"pmovsx{_pair}:{_to}", kind=Kind.LINEAR, whole=True, **_more)(_sign_extend(_from, _to))


# DEST[i] := Truncate(SRC[i])
def _truncate(large: int, small: int) -> Callable[[Array], Array]:
    return lambda a: join(split(a, large)[..., :small]).reshape(-1)


for _pair in ("wb", "db", "dw", "qb", "qw", "qd"):
    _from, _to = _SIZES[_pair[0]], _SIZES[_pair[1]]
    vector(f"pmov{_pair}:{_to}", kind=MOVE, arity=1)(_truncate(_from, _to))
