"""Layouts: where a call's buffers lie and into which pieces its data is cut. Pure data, each with a name."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from itertools import combinations, islice

CONTINUES = ("xts", "ctr", "cbc")
"""Modes whose message can be given in pieces."""


@dataclass(frozen=True, slots=True)
class Layout:
    """Offsets are bytes beyond a multiple of 64; at a guard page they do not count."""

    name: str
    in_place: bool = False
    edge: str = ""
    """``end``: every buffer ends where a page without access begins; ``begin``: begins where one ends."""
    source: int = 0
    destination: int = 0
    iv: int = 0
    context: int = 0
    """A multiple of 4, the alignment of the schedule's C type."""
    cuts: tuple[int, ...] = ()
    """Where the second and the third piece begin."""

    @property
    def title(self) -> str:
        """As findings write it: ``in place``."""
        return self.name.replace("_", " ")


def _misaligned(offset: int, in_place: bool = False) -> Layout:
    name = f"in_place_misaligned_{offset}" if in_place else f"misaligned_{offset}"
    other = offset if in_place else (3 * offset + 5) % 16
    return Layout(name, in_place, "", offset, other, iv=offset, context=4 * (offset % 4))


_FIXED = (
    Layout("out_of_place"),
    Layout("in_place", in_place=True),
    Layout("ends_at_guard_page", edge="end"),
    Layout("begins_at_guard_page", edge="begin"),
    Layout("in_place_ends_at_guard_page", True, "end"),
    Layout("in_place_begins_at_guard_page", True, "begin"),
    *(_misaligned(offset) for offset in range(1, 16)),
    *(_misaligned(offset, in_place=True) for offset in range(1, 16)),
)
_NAMED = {layout.name: layout for layout in _FIXED}
_SPLIT = re.compile(r"(in_place_)?split((?:_[1-9][0-9]{0,6}){1,2})")


def named(name: str, mode: str, length: int) -> Layout:
    """The layout of that name, if a message of that mode and length can have it; ValueError otherwise."""
    found = _NAMED.get(name)
    if not found and (split := _SPLIT.fullmatch(name)):
        found = _split(tuple(map(int, split[2][1:].split("_"))), bool(split[1]))
        if not set(found.cuts) <= set(cuts(mode, length)) or list(found.cuts) != sorted(set(found.cuts)):
            found = None
    if not found or (mode == "keys" and found.in_place):
        raise ValueError(f'there is no layout "{name}" for {length} bytes of {mode}')
    return found


def of(mode: str, length: int, level: str, rotation: int = 0, splits: bool = True) -> tuple[Layout, ...]:
    """Every layout of a case; where not every split is made, another `rotation` gives others.

    Up to 600 bytes: all splits in two and, in the full level, all in three; in the quick one a twelfth of
    these, and a third of the misalignments in place. Beyond, and in the brief level: a sample.
    """
    if mode == "keys":
        return tuple(layout for layout in _FIXED if not layout.in_place)
    where = cuts(mode, length) if splits else range(0)
    pairs = len(where) * (len(where) - 1) // 2
    if level == "brief":
        misaligned = _FIXED[6 + rotation % 30 : 7 + rotation % 30]
        return _FIXED[:6] + misaligned + _some(where, 1 + len(where) // 2, 1 + pairs // 2, rotation)
    fixed = _FIXED if level == "full" else _FIXED[:21] + _FIXED[21 + rotation % 3 :: 3]
    if length <= 600:
        return fixed + _some(where, 1, 1 if level == "full" else 12, rotation)
    sample = 16 if level == "full" else 4
    return fixed + _some(where, 1 + len(where) // sample, 1 + pairs // sample, rotation)


def cuts(mode: str, length: int) -> range:
    """Where a piece may begin: at whole blocks; in XTS the last whole block travels with the tail."""
    if mode not in CONTINUES:
        return range(0)
    return range(16, length - 15 if mode == "xts" else length, 16)


def _some(where: range, two: int, three: int, rotation: int) -> tuple[Layout, ...]:
    """Each `two`-th split in two, both ways, and each `three`-th split in three."""
    turn = rotation % 12
    return _splits(where, two, turn % two, three, turn % three)


@cache
def _splits(where: range, two: int, first: int, three: int, first_of_three: int) -> tuple[Layout, ...]:
    halves = [_split((cut,), in_place) for cut in where[first::two] for in_place in (False, True)]
    pairs = islice(combinations(where, 2), first_of_three, None, three)
    return tuple(halves + [_split(pair, False) for pair in pairs])


def _split(where: tuple[int, ...], in_place: bool) -> Layout:
    name = ("in_place_" if in_place else "") + "split_" + "_".join(map(str, where))
    return Layout(name, in_place, cuts=where)
