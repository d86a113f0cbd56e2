"""Addresses that a file's constants hold: in a proof each is known as a whole, and its bytes are not."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from functools import partial
from typing import TYPE_CHECKING

from aeskit.machine.memory import Region

if TYPE_CHECKING:
    from aeskit.machine.loader import Image
    from aeskit.machine.pointers import Pointers

Held = tuple[int, int]
"""(offset in a section, bytes)"""


def hide(image: Image, regions: list[Region], pointers: Pointers) -> None:
    """From now on what is read of `regions`, those of the image's sections, are such bytes."""
    held: dict[int, list[Held]] = {}
    for address, size in sorted(image.addresses):
        at = bisect_right(regions, address, key=lambda region: region.address) - 1
        if at >= 0 and address + size <= regions[at].end:
            held.setdefault(at, []).append((address - regions[at].address, size))
    for at, places in held.items():
        numbers = bytes(image.sections[at].data)
        regions[at].fill = partial(_fill, regions[at], numbers, places, pointers)


def _fill(
    region: Region, numbers: bytes, places: list[Held], pointers: Pointers, start: int, size: int
) -> None:
    """Put the bytes of the addresses that have any from `start` on in the place of their numbers."""
    first = max(bisect_right(places, start, key=lambda held: held[0]) - 1, 0)
    behind = bisect_left(places, start + size, key=lambda held: held[0])
    for offset, count in places[first:behind]:
        ids = pointers.opaque(int.from_bytes(numbers[offset : offset + count], "little"))
        if type(ids) is tuple:
            region.data[offset : offset + count] = ids[:count]
