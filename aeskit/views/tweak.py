"""The tweak and what its bits become: one bit flipped in T_j, and what moves in T_{j+1}.

Needs anywidget: ``pip install 'aeskit[lab]'``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from aeskit.bits import BitOrder, format_polynomial, from_le, to_polynomial, xor
from aeskit.trace import Note, Recorder
from aeskit.views.cells import Lanes, register, step_lanes
from aeskit.views.widget import LanesWidget

NAMES = ("T_j", "T_{j+1}")
HINT = "Flip a bit of T_j: what moves in T_{j+1} is marked."

Double = Callable[[bytes], bytes]


class Run(Protocol):
    """A sequence of instructions on a register, as in `models.tweak_registers`."""

    def __call__(self, t: bytes, /, *, note: Note | None = None) -> bytes:
        """Give the last register, and tell `note` of each instruction."""


def flips(tweak: bytes, double: Double, cells: str = "bits", high_first: bool = True) -> LanesWidget:
    """T_j, which can be edited, above T_{j+1} = `double` of it; after each edit what changed is marked."""
    before = [tweak]

    def derive(edited: tuple[bytes, ...]) -> tuple[Sequence[Lanes], str]:
        old, new = before[0], edited[0]
        before[0] = new
        return _pair(old, new, double), moved(xor(old, new), xor(double(old), double(new)))

    shown = _pair(tweak, tweak, double)
    return LanesWidget(
        *shown, editable=NAMES[:1], derive=derive, cells=cells, high_first=high_first, caption=HINT
    )


def moved(change: bytes, doubled: bytes) -> str:
    """A sentence: which bits of T_j changed, and which of T_{j+1} did as x times that."""
    if not any(change):
        return HINT
    here, there = _bits(change), _bits(doubled)
    if len(here) > 4:
        return f"{len(here)} bits of T_j changed, {len(there)} of T_{{j+1}}."
    terms = format_polynomial(to_polynomial(change, BitOrder.XTS))
    if 127 in here and len(here) == 1:
        why = "x · x^127 = x^128 = x^7 + x^2 + x + 1"
    else:
        factor = terms if len(here) == 1 else f"({terms})"
        why = f"x · {factor} = {format_polynomial(to_polynomial(doubled, BitOrder.XTS))}"
    return (
        f"{_count(here).capitalize()} of T_j changed, {_count(there)} of T_{{j+1}} with {_them(here)}: {why}."
    )


def instructions(start: bytes, run: Run, values: Sequence[str] = (), cells: str = "dwords") -> LanesWidget:
    """The register t, which can be edited, and below it each instruction of `run` with what it sets."""

    def draw(edited: tuple[bytes, ...]) -> tuple[Sequence[Lanes], str]:
        recorder = Recorder()
        run(edited[0], note=recorder.note)
        steps = [lanes for step in recorder.steps for lanes in step_lanes(step)]
        return [register("t", edited[0], values), *steps], ""

    shown, _ = draw((start,))
    return LanesWidget(*shown, editable=["t"], derive=draw, cells=cells)


def _pair(old: bytes, new: bytes, double: Double) -> list[Lanes]:
    return [Lanes(NAMES[0], new).against(old), Lanes(NAMES[1], double(new)).against(double(old))]


def _bits(data: bytes) -> list[int]:
    value = from_le(data)
    return [bit for bit in range(value.bit_length()) if value >> bit & 1]


def _count(numbers: Sequence[int]) -> str:
    return ("bit " if len(numbers) == 1 else "bits ") + ", ".join(map(str, reversed(numbers)))


def _them(numbers: Sequence[int]) -> str:
    return "it" if len(numbers) == 1 else "them"
