"""T · x^k as the instructions of a vector register compute it, every lane at once.

A register is 16, 32 or 64 bytes, a tweak a lane, in the order of XTS (IEEE 1619-2018, 5.2). The operations
are those of the Intel SDM, volume 2; `note` hears each instruction with the register that it sets.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from aeskit.bits import BLOCK, from_le, to_le
from aeskit.models.gf128 import REDUCTION
from aeskit.trace import Note

REGISTERS = (16, 32, 64)

Lanes = NDArray[np.uint8]


def double(t: bytes, note: Note | None = None) -> bytes:
    """Each lane times x by five instructions that need no more than SSE2 or its VEX form.

    Dword 3 holds bit 127, dword 1 bit 63; shifted arithmetically by 31 they are masks of ones or zeros. The
    constant c keeps 0x87 of the first and 1 of the second, and clears what stood in dwords 1 and 3.
    """
    lanes = _lanes(t)
    c = np.tile(np.array([REDUCTION, 0, 1, 0], "<u4"), len(lanes)).view(np.uint8).reshape(-1, BLOCK)
    s = lanes.view("<u4")[:, [3, 0, 1, 0]].copy().view(np.uint8)
    _tell(note, "vpshufd s, t, 0x13", "dwords 3, 0, 1, 0 of t", s=s)
    s = (s.view("<i4") >> 31).view(np.uint8)
    _tell(note, "vpsrad  s, s, 31", "each dword's sign in all of its bits", s=s)
    s = s & c
    _tell(note, "vpand   s, s, c", "0x87 if bit 127 was set, 1 in the high quadword if bit 63 was", s=s)
    d = (lanes.view("<u8") + lanes.view("<u8")).view(np.uint8)
    _tell(note, "vpaddq  d, t, t", "each quadword doubled, its top bit lost", d=d)
    d = d ^ s
    _tell(note, "vpxor   d, d, s", "both lost bits are back: = t · x", d=d)
    return d.tobytes()


def multiply(t: bytes, k: int, note: Note | None = None) -> bytes:
    """Each lane times x^k, 1 ≤ k ≤ 63, by a carry-less product with 0x87; byte shifts where k is 8, 16, …"""
    if not 1 <= k <= 63:
        raise ValueError(f"k must be 1 to 63, not {k}")
    return (_by_bits if k % 8 else _by_bytes)(_lanes(t), k, note).tobytes()


def _by_bytes(t: Lanes, k: int, note: Note | None) -> Lanes:
    count = k // 8
    c = _shift_bytes(t, -(BLOCK - count))
    _tell(note, f"vpsrldq    c, t, {BLOCK - count}", f"the {k} bits that leave the top of each lane", c=c)
    c = _clmul(c, 0)
    _tell(note, "vpclmulqdq c, c, p, 0x00", "… times 0x87: low quadword of c, low quadword of p", c=c)
    r = _shift_bytes(t, count)
    _tell(note, f"vpslldq    r, t, {count}", f"the rest moves up by {count} byte{'s' * (count > 1)}", r=r)
    r = r ^ c
    _tell(note, "vpxor      r, r, c", f"= t · x^{k}", r=r)
    return r


def _by_bits(t: Lanes, k: int, note: Note | None) -> Lanes:
    c = (t.view("<u8") >> np.uint64(64 - k)).view(np.uint8)
    _tell(note, f"vpsrlq     c, t, {64 - k}", f"the {k} bits that leave each quadword", c=c)
    f = _clmul(c, 1)
    _tell(note, "vpclmulqdq f, c, p, 0x01", "those of the high quadword times 0x87", f=f)
    c = _shift_bytes(c, 8)
    _tell(note, "vpslldq    c, c, 8", "those of the low quadword into the high one", c=c)
    r = (t.view("<u8") << np.uint64(k)).view(np.uint8)
    _tell(note, f"vpsllq     r, t, {k}", "the rest of each quadword", r=r)
    r = r ^ c
    _tell(note, "vpxor      r, r, c", "both quadwords shifted as one number", r=r)
    r = r ^ f
    _tell(note, "vpxor      r, r, f", f"= t · x^{k}", r=r)
    return r


def _lanes(t: bytes) -> Lanes:
    if len(t) not in REGISTERS:
        raise ValueError(f"a register must have 16, 32 or 64 bytes, not {len(t)}")
    return np.frombuffer(t, np.uint8).reshape(-1, BLOCK)


def _shift_bytes(lanes: Lanes, up: int) -> Lanes:
    """Within each lane: towards byte 15 (PSLLDQ), or towards byte 0 for a negative `up` (PSRLDQ)."""
    shifted = np.roll(lanes, up, axis=1)
    shifted[:, slice(None, up) if up > 0 else slice(up, None)] = 0
    return shifted


def _clmul(lanes: Lanes, quadword: int) -> Lanes:
    """PCLMULQDQ of one quadword of each lane with 0x87: products without carries, 128 bits wide."""
    made = []
    for lane in lanes:
        value, product = from_le(lane.tobytes()[8 * quadword : 8 * quadword + 8]), 0
        for bit in range(8):
            product ^= value << bit if REDUCTION >> bit & 1 else 0
        made.append(to_le(product, BLOCK))
    return np.frombuffer(b"".join(made), np.uint8).reshape(-1, BLOCK)


def _tell(note: Note | None, instruction: str, meaning: str, **values: Lanes) -> None:
    if note is not None:
        data = {name: lanes.tobytes() for name, lanes in values.items()}
        note(f"{instruction:<26}# {meaning}", "", "", **data)
