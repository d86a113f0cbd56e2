"""Stack pointers that a function aligns: by how much that moves them hangs on the caller.

Aligned to more than a call's 16 bytes, a pointer lies for some callers where it was and for others up to one
alignment lower. A proof takes it as in a zone of the stack of its own, which no other pointer leads to and no
sum leads out of, and refuses what is not the same for all callers: an access by the aligned pointer that may
be over what was written before, one by an older pointer into what may be the aligned frame, and every
question about how far apart the two are.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

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
    mask: int
    left: bool = False
    """Whether the stack pointer has risen above it since; its pointers may still be somewhere."""


Frames = tuple[Frame, ...]
"""From the outermost inwards, those that are left among them."""


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
    if here(frames):
        room = min(room, here(frames)[-1].new + here(frames)[-1].room - old)
    if room < 0:
        raise MachineError("a stack pointer is aligned that is older than one which is aligned already")
    if room > ZONE // 2:
        raise MachineError(f"a stack pointer is aligned with {room} bytes below what was written")
    step = max(alignment, GAP)  # so that alignments of less than that differ in nothing else
    for above in range(min(ZONES, (old - stack.address) // ZONE), 0, -1):
        new = (stack.address + above * ZONE - GAP - room) // step * step
        frame = Frame(old, new, room, alignment, mask)
        gone = replace(frame, left=True)
        bottom = stack.address + (above - 1) * ZONE
        others = [f for f in frames if f != gone and bottom <= f.new < bottom + ZONE]
        if new >= bottom and not others:
            return (*(f for f in frames if f != gone), frame), new
    raise MachineError(f"stack pointers are aligned in more than {ZONES} ways, or to too many bytes")


def here(frames: Frames) -> Frames:
    """The frames that are not left."""
    return tuple(frame for frame in frames if not frame.left)


def refusal(frames: Frames, address: int, size: int) -> str:
    """Why some callers' stack may not be touched there; empty where all may."""
    for frame in here(frames):
        if address < frame.old and address + size > frame.new + frame.room:
            return "for some callers this is over what was written before the stack was aligned"
        if frame.old <= address + size - 1 and address < frame.old + frame.room:
            return "for some callers this is within the frame of the aligned stack pointer"
    return ""


def alignment(frames: Frames, address: int) -> int:
    """Of what a pointer of that side is known to be a multiple, where its number is."""
    return next((frame.alignment for frame in reversed(here(frames)) if address < frame.old), CALL)


def left(frames: Frames, rsp: int) -> Frames:
    """The frames when the stack pointer has risen to `rsp`."""
    return tuple(frame if rsp < frame.old else replace(frame, left=True) for frame in frames)
