"""A laid-out ELF file in the emulator's memory."""

from __future__ import annotations

from aeskit.machine.bochs.emulator import Emulator
from aeskit.machine.bochs.memory import PAGE
from aeskit.machine.loader import Image


def map_image(emulator: Emulator, image: Image) -> None:
    """Map every section.

    A page that two sections share can be written if either can. Symbols without a definition stay unmapped: a
    call of one is a fault at its address.
    """
    writable = set()
    for section in image.sections:
        if "w" in section.permissions:
            writable |= set(range(section.address // PAGE, -(-section.end // PAGE)))
    for section in image.sections:
        for page in range(section.address // PAGE, -(-section.end // PAGE)):
            start = max(page * PAGE, section.address)
            piece = section.data[start - section.address : (page + 1) * PAGE - section.address]
            emulator.map(start, bytes(piece), page in writable)
