"""Shuffles, permutes, blends, unpacks and byte shifts: whole bytes, chosen by constants."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from aeskit.machine import semantics
from aeskit.machine.semantics import Array, Kind, join, split

MOVE = Kind.MOVE
vector, family = partial(semantics.vector, scattered=True), partial(semantics.family, scattered=True)


def _fields(imm: int, bits: int, count: int) -> list[int]:
    return [imm >> bits * n & (1 << bits) - 1 for n in range(count)]


# IF SRC2[i][7] THEN DEST[i] := 0 ELSE DEST[i] := SRC1[SRC2[i][3:0]], lane by lane
@vector("pshufb:1", kind=MOVE, control=(1,))
def pshufb(a: Array, control: Array) -> Array:
    """Bytes by index; 0x80 writes zero."""
    picked = np.take_along_axis(a, (control & 15).astype(np.intp), -1)
    return np.where(control & 0x80, 0, picked).astype(a.dtype)


# DEST[i] := SRC[imm8[2i+1:2i]], doublewords
@vector("pshufd:4", kind=MOVE, arity=1)
def pshufd(a: Array, imm: int) -> Array:
    """Doublewords by index."""
    return join(split(a, 4)[..., _fields(imm, 2, 4), :])


# The four low (high) words by index, the others as they are
@vector("pshuflw:2", kind=MOVE, arity=1)
def pshuflw(a: Array, imm: int) -> Array:
    """Low words by index."""
    return join(split(a, 2)[..., [*_fields(imm, 2, 4), 4, 5, 6, 7], :])


@vector("pshufhw:2", kind=MOVE, arity=1)
def pshufhw(a: Array, imm: int) -> Array:
    """High words by index."""
    return join(split(a, 2)[..., [0, 1, 2, 3, *(4 + n for n in _fields(imm, 2, 4))], :])


# DEST[63:0] from SRC1, DEST[127:64] from SRC2, by index
@vector("shufps:4", kind=MOVE)
def shufps(a: Array, b: Array, imm: int) -> Array:
    """Two doublewords of each."""
    s = _fields(imm, 2, 4)
    return join(np.concatenate((split(a, 4)[..., s[:2], :], split(b, 4)[..., s[2:], :]), -2))


@vector("shufpd:8", kind=MOVE)
def shufpd(a: Array, b: Array, imm: int) -> Array:
    """A quadword of each; two bits of the immediate a lane."""
    rows = np.arange(len(a))
    low, high = imm >> 2 * rows & 1, imm >> 2 * rows + 1 & 1
    return np.concatenate((split(a, 8)[rows, low], split(b, 8)[rows, high]), -1)


# DEST := elements of SRC1 and SRC2 in turn, from the low (high) halves
def _unpack(size: int, high: bool) -> Callable[[Array, Array], Array]:
    half = slice(8, 16) if high else slice(0, 8)

    def body(a: Array, b: Array) -> Array:
        pair = np.stack((split(a[..., half], size), split(b[..., half], size)), -2)
        return pair.reshape(*a.shape[:-1], 16)

    return body


for _high, _letter in ((False, "l"), (True, "h")):
    for _name, _size in (("bw", 1), ("wd", 2), ("dq", 4), ("qdq", 8)):
        vector(f"punpck{_letter}{_name}:{_size}", kind=MOVE)(_unpack(_size, _high))
    vector(f"unpck{_letter}ps:4", kind=MOVE)(_unpack(4, _high))
    vector(f"unpck{_letter}pd:8", kind=MOVE)(_unpack(8, _high))


# DEST := (SRC1:SRC2) >> (imm8 × 8), lane by lane
@vector("palignr:1", kind=MOVE)
def palignr(a: Array, b: Array, imm: int) -> Array:
    """A 16-byte window on b, then a, then zeros."""
    wide = np.concatenate((b, a, np.zeros_like(a)), -1)
    at = min(imm, 32)
    return wide[..., at : at + 16]


# DEST := (SRC1:SRC2) >> (imm8 × element), over the whole register
@family("align{}", "dq", kind=MOVE)
def align(size: int) -> Callable[[Array, Array, int], Array]:
    """A window on b, then a."""

    def body(a: Array, b: Array, imm: int) -> Array:
        at = imm % (a.size // size) * size
        return np.concatenate((b.reshape(-1), a.reshape(-1)))[at : at + a.size].reshape(-1, 16)

    return body


# DEST := DEST << (imm8 × 8), DEST >> (imm8 × 8), lane by lane
@vector("pslldq", kind=MOVE, arity=1)
def pslldq(a: Array, imm: int) -> Array:
    """Towards the high bytes."""
    n, zero = min(imm, 16), np.zeros_like(a)
    return np.concatenate((zero[..., :n], a[..., : 16 - n]), -1)


@vector("psrldq", kind=MOVE, arity=1)
def psrldq(a: Array, imm: int) -> Array:
    """Towards the low bytes."""
    n, zero = min(imm, 16), np.zeros_like(a)
    return np.concatenate((a[..., n:], zero[..., :n]), -1)


# Each 128 bits of DEST: one of the four of SRC1 and SRC2, or 0
@vector("perm2i128", "perm2f128", kind=MOVE)
def perm2(a: Array, b: Array, imm: int) -> Array:
    """Lanes by index; bit 3 writes zero."""
    lanes, zero = np.concatenate((a, b)), np.zeros_like(a[0])
    return np.stack([zero if f & 8 else lanes[f & 3] for f in _fields(imm, 4, 2)])


# DEST[i] := SRC[imm8[2i+1:2i]] quadwords of each 256 bits, or by a register of indices
@vector("permq:8", "permpd:8", kind=MOVE, arity=1)
def permq(a: Array, imm: int) -> Array:
    """Quadwords by immediate."""
    return a.reshape(-1, 4, 8)[:, _fields(imm, 2, 4)].reshape(-1, 16)


def _indices(control: Array, size: int) -> Array:
    flat = np.ascontiguousarray(control, np.uint8).view(f"<u{size}").reshape(-1)
    return flat.astype(np.int64)


# DEST[i] := SRC[index i], over the whole register
def _permute(size: int) -> Callable[[Array, Array], Array]:
    def body(control: Array, a: Array) -> Array:
        parts = a.reshape(-1, size)
        return parts[_indices(control, size) % len(parts)].reshape(-1, 16)

    return body


for _letter, _size in (("b", 1), ("w", 2), ("d", 4)):
    vector(f"perm{_letter}:{_size}", kind=MOVE, control=(0,))(_permute(_size))
vector("permps:4", kind=MOVE, control=(0,))(_permute(4))
vector("permq by register:8", "permpd by register:8", kind=MOVE, control=(0,))(_permute(8))


# DEST[i] := (SRC1, SRC2)[index i]; the index is the destination (permi2) or the first source (permt2)
def _permute2(size: int, index_first: bool) -> Callable[[Array, Array, Array], Array]:
    def body(x: Array, y: Array, b: Array) -> Array:
        control, a = (x, y) if index_first else (y, x)
        parts = np.concatenate((a.reshape(-1, size), b.reshape(-1, size)))
        return parts[_indices(control, size) % len(parts)].reshape(-1, 16)

    return body


for _letter, _size in (("b", 1), ("w", 2), ("d", 4), ("q", 8), ("ps", 4), ("pd", 8)):
    _two = {"kind": MOVE, "arity": 3, "reads_destination": True}
    vector(f"permi2{_letter}:{_size}", control=(0,), **_two)(_permute2(_size, True))  # type: ignore[arg-type]
    vector(f"permt2{_letter}:{_size}", control=(1,), **_two)(_permute2(_size, False))  # type: ignore[arg-type]


# DEST := lanes of SRC1 in the low half, of SRC2 in the high, by index
@vector("shufi32x4:4", "shuff32x4:4", "shufi64x2:8", "shuff64x2:8", kind=MOVE)
def shuf128(a: Array, b: Array, imm: int) -> Array:
    """Lanes by index."""
    half, bits = len(a) // 2, 1 if len(a) == 2 else 2
    picks = _fields(imm, bits, 2 * half)
    return np.concatenate((a[picks[:half]], b[picks[half:]]))


# DEST[i] := SRC1[index i], lane by lane; the doubleword's bits 1:0, the quadword's bit 1
@vector("permilps:4", kind=MOVE, arity=1)
def permilps(a: Array, imm: int) -> Array:
    """Doublewords by immediate."""
    return pshufd(a, imm)


@vector("permilps by register:4", kind=MOVE, control=(1,))
def permilps_by_register(a: Array, control: Array) -> Array:
    """Doublewords by register."""
    picks = (np.ascontiguousarray(control, np.uint8).view("<u4") & 3).astype(np.intp)
    return join(np.take_along_axis(split(a, 4), picks[..., None], -2))


# DEST[i] := IF imm8[i] THEN SRC2[i] ELSE SRC1[i]
def _blend(size: int, per_lane: bool) -> Callable[[Array, Array, int], Array]:
    def body(a: Array, b: Array, imm: int) -> Array:
        x, y = a.reshape(-1, size), b.reshape(-1, size)
        at = np.arange(len(x)) % (16 // size if per_lane else len(x))
        return np.where((imm >> at & 1)[:, None], y, x).reshape(-1, 16)

    return body


vector("pblendw", kind=MOVE)(_blend(2, per_lane=True))
vector("pblendd", "blendps", kind=MOVE)(_blend(4, per_lane=False))
vector("blendpd", kind=MOVE)(_blend(8, per_lane=False))


# DEST[i] := IF MASK[i][top bit] THEN SRC2[i] ELSE SRC1[i]
def _blend_by_sign(size: int) -> Callable[[Array, Array, Array], Array]:
    def body(a: Array, b: Array, mask: Array) -> Array:
        top = split(np.broadcast_to(mask, a.shape), size)[..., -1:] & 0x80
        return join(np.where(top, split(b, size), split(a, size)))

    return body


vector("pblendvb", kind=MOVE, arity=3, control=(2,))(_blend_by_sign(1))
vector("blendvps", kind=MOVE, arity=3, control=(2,))(_blend_by_sign(4))
vector("blendvpd", kind=MOVE, arity=3, control=(2,))(_blend_by_sign(8))


# DEST[i] := IF k[i] THEN SRC2[i] ELSE SRC1[i]
@semantics.vector(
    "pblendmb:1",
    "pblendmw:2",
    "pblendmd:4",
    "pblendmq:8",
    "blendmps:4",
    "blendmpd:8",
    kind=MOVE,
    merge_first=True,
)
def blendm(a: Array, b: Array) -> Array:
    """The second; the mask lets the first show."""
    return b


# DEST := SRC with each doubleword (odd, even) twice
@vector("movshdup:4", kind=MOVE, arity=1)
def movshdup(a: Array) -> Array:
    """Odd doublewords."""
    return pshufd(a, 0xF5)


@vector("movsldup:4", kind=MOVE, arity=1)
def movsldup(a: Array) -> Array:
    """Even doublewords."""
    return pshufd(a, 0xA0)
