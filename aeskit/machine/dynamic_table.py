"""The table by which a loader finds a file's relocations, held against the sections by which we do.

A loader reads no section headers: what it relocates PT_DYNAMIC says (System V gABI 4, chapter 5).
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

from aeskit.machine import elf as e
from aeskit.machine.errors import LoadError

Span = tuple[int, int]
"""The addresses of a table's first byte and of its end."""
DYNAMIC = 2
"""p_type."""
TABLES = ((7, 8, e.RELA), (23, 2, e.RELA), (17, 18, e.REL), (36, 35, e.RELR))
"""Tags of a table's address and of its bytes, and the type of its section."""
SYMBOLS, STRINGS = 6, 5
"""Tags of the addresses of the symbols and of their names."""
MOST = 1 << 16
"""Bytes of PT_DYNAMIC that are read."""


def check(elf: e.Elf) -> None:
    """LoadError where the loader's relocations are not those of the sections, in the bytes that it sees."""
    tags = dict(_entries(elf))
    for kind in (e.RELA, e.REL, e.RELR) if tags else ():
        spans = [(tags.get(a, 0), tags.get(a, 0) + tags.get(n, 0)) for a, n, k in TABLES if k == kind]
        listed = [s for s in elf.sections if s.type == kind and s.flags & e.ALLOC and s.size]
        _are_applied(elf, listed, spans)
        for section in (s for s in listed if s.link):
            symbols = elf.section(section.link)
            _is(elf, symbols, tags.get(SYMBOLS))
            _is(elf, elf.section(symbols.link), tags.get(STRINGS))
        _list_all(elf, sorted((s.address, s.address + s.size) for s in listed), spans)


def _are_applied(elf: e.Elf, listed: list[e.Section], spans: list[Span]) -> None:
    for section in listed:
        last = section.address + section.size
        inside = any(begin <= section.address and last <= end for begin, end in spans)
        if not inside or elf.content(section) != _mapped(elf, section.address, section.size):
            raise LoadError(f"{elf.name} has relocations in {section.name} that no loader applies")


def _is(elf: e.Elf, section: e.Section, address: int | None) -> None:
    """LoadError for a table of names that the loader takes from elsewhere."""
    if section.address != address or elf.content(section) != _mapped(elf, address, section.size):
        raise LoadError(f"{elf.name} has relocations by the names in {section.name}, where no loader looks")


def _list_all(elf: e.Elf, ends: list[Span], spans: list[Span]) -> None:
    for at, end in spans:
        for first, last in ends:
            at = last if first <= at < last else at
        if at < end:
            raise LoadError(f"{elf.name} has relocations at {at:#x} that no section lists")


def _entries(elf: e.Elf) -> Iterator[tuple[int, int]]:
    """(tag, value) up to the end of the table, which the tag 0 is."""
    for segment in (s for s in elf.segments if s.type == DYNAMIC):
        data = _mapped(elf, segment.address, min(segment.size, MOST))
        for tag, value in struct.iter_unpack("<QQ", data[: len(data) // 16 * 16]):
            if not tag:
                break
            yield tag, value


def _mapped(elf: e.Elf, address: int, size: int) -> bytes:
    """The file's bytes that are loaded at an address, as many as there are."""
    for segment in elf.segments:
        offset = address - segment.address
        if segment.type == e.LOAD and 0 <= offset < segment.file_size:
            begin = segment.offset + offset
            return elf.data[begin : begin + min(size, segment.file_size - offset)]
    return b""
