"""Addresses of the loader's choosing told as those that a reader of the file knows."""

from __future__ import annotations

import re
from dataclasses import replace

from aeskit.machine.loader import BASE, Image
from aeskit.verify.review.code import Code
from aeskit.verify.review.model import Line

_ADDRESS = re.compile(r"(?<![$\w])0x[0-9a-f]+\b")
_ONE = re.compile(r"\b1 bytes\b")


def place(image: Image, address: int) -> str:
    """``.text+0x40`` in an object; in a library or program the address that the file itself gives."""
    section = image.section_at(address)
    if section is None:
        return image.externals.get(address, f"{address:#x}")
    if section.name.startswith("segment "):
        shared = all(s.address >= BASE for s in image.sections if s.name.startswith("segment "))
        return f"{address - BASE * shared:#x}"
    return f"{section.name}+{address - section.address:#x}"


def words(text: str, code: Code) -> str:
    """A text with ``+0x40`` for addresses in the function, and the file's own for others."""

    def named(found: re.Match[str]) -> str:
        address = int(found[0], 16)
        if address in code.inside:
            return f"+{address - code.entry:#x}"
        known = code.image.section_at(address)
        return place(code.image, address) if known else found[0]

    own = re.sub(rf" in {re.escape(code.symbol)}(\+0x[0-9a-f]+)?(?=$|;)", "", text)
    return _ONE.sub("1 byte", _ADDRESS.sub(named, own))


def told(line: Line, code: Code) -> Line:
    """A line with such words."""
    details = tuple(words(detail, code) for detail in line.details)
    text, evidence = words(line.text, code), words(line.evidence, code)
    return replace(line, text=text, evidence=evidence, details=details)
