"""Stack pointers that a function aligns: by how much that moves them hangs on the caller.

Aligned to more than a call's 16 bytes, a pointer lies for some callers where it was and for others up to one
alignment lower. A proof takes it as in a zone of the stack of its own, which no other pointer leads to and no
sum leads out of, and refuses what is not the same for all callers: an access by the aligned pointer that may
be over what was written before, one by an older pointer into what may be the aligned frame, and every
question about how far apart the two are.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from aeskit.machine.addresses import WORD, ZONE, ZONES
from aeskit.machine.errors import MachineError
from aeskit.machine.memory import UNREAD, Region
from aeskit.machine.semantics import Array

GAP = 64
"""Bytes above a frame that nothing may touch: more than one step of a string or of a pop."""
CALL = 16
"""The stack pointer's alignment at a call (System V AMD64 ABI, 3.2.2)."""


@dataclass(frozen=True)
class Frame:
    """One pointer that was aligned."""

    old: int
    """What it was."""
    new: int
    room: int
    """Bytes from `old` upwards that nothing had been written to: so far the aligned pointer reaches."""
    alignment: int


Frames = tuple[Frame, ...]
"""From the outermost inwards."""


def align(frames: Frames, old: int, mask: int, stack: Region, entry: Array) -> tuple[Frames, int]:
    """The frames, and the pointer, after `old` AND `mask`; `entry` is the stack as the call found it."""
    kept = mask & (old | ~(CALL - 1)) & WORD - 1
    alignment = kept & -kept
    if alignment <= CALL:
        return frames, old & mask
    data: Array = stack.data[old - stack.address :]
    if (data >= UNREAD).any():
        raise MachineError("what is written of the stack is not known here")
    written = np.flatnonzero(data != entry[old - stack.address :])
    room = int(written[0]) if len(written) else len(data)
    if frames:
        room = min(room, frames[-1].new + frames[-1].room - old)
    if room > ZONE // 2:
        raise MachineError(f"a stack pointer is aligned with {room} bytes below what was written")
    above = min(ZONES, (old - stack.address) // ZONE)
    new = (stack.address + above * ZONE - GAP - room) // alignment * alignment
    if new < stack.address + (above - 1) * ZONE:
        raise MachineError(f"a stack pointer is aligned {ZONES + 1 - above} times, or to {alignment} bytes")
    return (*frames, Frame(old, new, room, alignment)), new


def refusal(frames: Frames, address: int, size: int) -> str:
    """Why some callers' stack may not be touched there; empty where all may."""
    for frame in frames:
        if address < frame.old and address + size > frame.new + frame.room:
            return "for some callers this is over what was written before the stack was aligned"
        if frame.old <= address + size - 1 and address < frame.old + frame.room:
            return "for some callers this is within the frame of the aligned stack pointer"
    return ""


def alignment(frames: Frames, address: int) -> int:
    """Of what a pointer of that side is known to be a multiple, where its number is."""
    return next((frame.alignment for frame in reversed(frames) if address < frame.old), CALL)


def left(frames: Frames, rsp: int) -> Frames:
    """The frames that are still there when the stack pointer has risen to `rsp`."""
    return tuple(frame for frame in frames if rsp < frame.old)
