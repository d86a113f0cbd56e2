"""An ELF file of x86-64 as it is written: sections, segments, symbols, relocations (System V gABI, 4).

The file is hostile: each count, size and name is held against the file and the limits below before anything
is read by it, so that no file takes more than seconds, or more memory than the limits say. So this is no
library: pyelftools trusts what a file says of sizes, and few bytes keep it busy for hours.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from typing import NamedTuple

from aeskit.machine.errors import LoadError
from aeskit.printed import printable

MAX_FILE, MAX_MEMORY = 256 << 20, 128 << 20
"""Bytes of a file, and of what it asks to be loaded."""
MAX_ENTRIES = 1_000_000
"""Of sections, symbols and relocations together."""
MAX_SEGMENTS = 256
MAX_NAME, MAX_NAMES = 1 << 16, 64 << 20
"""Bytes of a name, and of all names together."""
MAX_DEBUG = 16 << 20
"""Bytes of a section that is not loaded, when decompressed."""

RELOCATABLE, PROGRAM, LIBRARY = 1, 2, 3
"""e_type."""
SYMTAB, RELA, NOBITS, REL, DYNSYM, RELR = 2, 4, 8, 9, 11, 19
"""sh_type."""
WRITE, ALLOC, EXECUTE, MERGE, STRINGS, COMPRESSED = 1, 2, 4, 0x10, 0x20, 0x800
"""sh_flags."""
LOAD, RELRO = 1, 0x6474E552
"""p_type."""
UNDEFINED, ABSOLUTE, RESERVED = 0, 0xFFF1, 0xFF00
"""st_shndx; those from RESERVED on are no section's."""
FUNCTION, SECTION, FILE, INDIRECT = 2, 3, 4, 10
"""Types of symbols; INDIRECT is STT_GNU_IFUNC."""

_X86_64 = 62
_HEADER, _SECTION, _SEGMENT = struct.Struct("<16sHHIQQQIHHHHHH"), struct.Struct("<IIQQQQIIQQ"), "<IIQQQQQQ"
_SYMBOL, _RELA, _COMPRESSION = struct.Struct("<IBBHQQ"), struct.Struct("<QIIq"), struct.Struct("<IIQQ")
_ENTRIES = {SYMTAB: _SYMBOL.size, DYNSYM: _SYMBOL.size, RELA: _RELA.size, REL: 16, RELR: 8}
"""Bytes of an entry, by the section's type."""


class Section(NamedTuple):
    """A section header."""

    name: str
    type: int
    flags: int
    address: int
    offset: int
    size: int
    link: int
    info: int
    align: int
    entry: int


class Segment(NamedTuple):
    """A program header."""

    type: int
    flags: int
    offset: int
    address: int
    physical: int
    file_size: int
    size: int
    align: int


class Symbol(NamedTuple):
    """An entry of a symbol table; `section` is an index, or one of UNDEFINED, ABSOLUTE and their kind."""

    name: str
    type: int
    local: bool
    section: int
    value: int
    size: int


class Relocation(NamedTuple):
    """An entry of a RELA table."""

    offset: int
    type: int
    symbol: int
    addend: int


class Elf:
    """A file's headers, checked; LoadError for one that is not for x86-64, or broken."""

    def __init__(self, data: bytes, name: str) -> None:
        """Read the headers of `data`; `name` is for messages."""
        self.data, self.name = data, printable(name)
        self._letters, self._entries = MAX_NAMES, MAX_ENTRIES
        self._symbols: dict[int, list[Symbol]] = {}
        self._need(len(data) <= MAX_FILE, f"must have at most {MAX_FILE >> 20} MB")
        self._need(len(data) >= _HEADER.size, "ends in the ELF header")
        identity, self.kind, machine, *_ = head = _HEADER.unpack_from(data)
        bits, order = identity[4], identity[5]
        self._need(
            (machine, bits, order) == (_X86_64, 2, 1),
            f"must be for x86-64, not for machine {machine}, class {bits}, byte order {order}",
        )
        self._shoff, phoff = head[6], head[5]
        phentsize, phnum, shentsize, shnum, shstrndx = head[9:14]
        self.segments = self._segments(phoff, phentsize, phnum)
        self.sections = self._sections(shentsize, shnum, shstrndx)

    def _need(self, holds: bool, must: str) -> None:
        if not holds:
            raise LoadError(f"{self.name} {must}")

    def _segments(self, offset: int, size: int, count: int) -> list[Segment]:
        if not count:
            return []
        self._need(size == struct.calcsize(_SEGMENT), f"must have program headers of 56 bytes, not {size}")
        self._need(count <= MAX_SEGMENTS, f"has {count} program headers, more than any such file")
        self._need(offset + size * count <= len(self.data), "has program headers behind its end")
        rows = struct.iter_unpack(_SEGMENT, self.data[offset : offset + size * count])
        found = [Segment(*row) for row in rows]
        for number, segment in enumerate(found):
            if segment.type == LOAD:
                self._need(
                    segment.offset + segment.file_size <= len(self.data),
                    f"ends before segment {number} does",
                )
                self._need(
                    segment.file_size <= segment.size and segment.address + segment.size <= 1 << 64,
                    f"has a segment {number} that is larger than its room",
                )
        self._loaded(sum(segment.size for segment in found if segment.type == LOAD))
        return found

    def _loaded(self, size: int) -> None:
        self._need(size <= MAX_MEMORY, f"asks for {size} bytes: more than any such file has")

    def _sections(self, size: int, count: int, names: int) -> list[Section]:
        at = self._shoff
        if not at:
            return []
        self._need(size == _SECTION.size, f"must have section headers of 64 bytes, not {size}")
        self._need(at + size <= len(self.data), "has section headers behind its end")
        count = count or _SECTION.unpack_from(self.data, at)[5]
        self._need(count < RESERVED, f"has {count} sections, more than any such file")
        self._need(at + size * count <= len(self.data), "has section headers behind its end")
        rows = list(_SECTION.iter_unpack(self.data[at : at + size * count]))
        table = Section("", *rows[names][1:]) if 0 < names < count else None
        found = [Section(self._text(table, row[0]) if table else "", *row[1:]) for row in rows]
        self._count(count)
        for section in found:
            self._check(section)
        self._loaded(sum(section.size for section in found if section.flags & ALLOC))
        return found

    def _count(self, entries: int) -> None:
        self._entries -= entries
        self._need(self._entries >= 0, f"has more than {MAX_ENTRIES} sections, symbols and relocations")

    def _check(self, section: Section) -> None:
        inside = section.offset + section.size <= len(self.data)
        if section.type and section.type != NOBITS and not inside:
            raise LoadError(f"{self.name}: section {section.name} ends behind the file")
        if section.align & section.align - 1:
            raise LoadError(f"{self.name}: the alignment of section {section.name} is no power of two")
        if section.flags & ALLOC and section.flags & COMPRESSED:
            raise LoadError(f"{self.name}: section {section.name} is both compressed and loaded")
        size = _ENTRIES.get(section.type)
        if size:
            if section.entry != size:
                told = f"must have entries of {size} bytes, not {section.entry}"
                raise LoadError(f"{self.name}: section {section.name} {told}")
            self._count(section.size // size * (63 if section.type == RELR else 1))

    def _text(self, table: Section, offset: int) -> str:
        begin, end = table.offset + offset, min(table.offset + table.size, len(self.data))
        stop = self.data.find(b"\0", begin, min(end, begin + MAX_NAME))
        self._need(begin <= stop, f"names something at {offset:#x}, where no name is")
        self._letters -= stop - begin
        self._need(self._letters >= 0, f"has names of more than {MAX_NAMES >> 20} MB")
        return printable(self.data[begin:stop].decode(errors="replace"))

    def section(self, index: int) -> Section:
        """The section of an index; LoadError where there is none."""
        self._need(index < len(self.sections), f"names section {index}, which is not there")
        return self.sections[index]

    def content(self, section: Section) -> bytes:
        """The bytes of a section, decompressed; LoadError for more than MAX_DEBUG, or broken ones."""
        if section.type == NOBITS:
            self._loaded(section.size)
            return bytes(section.size)
        data = self.data[section.offset : section.offset + section.size]
        if not section.flags & COMPRESSED:
            return data
        self._need(len(data) >= _COMPRESSION.size, f"is broken: section {section.name}")
        kind, _, size, _ = _COMPRESSION.unpack_from(data)
        self._need(kind == 1 and 0 < size <= MAX_DEBUG, f"has a section {section.name} that is not read")
        try:
            return zlib.decompressobj().decompress(data[_COMPRESSION.size :], size)
        except zlib.error as error:
            raise LoadError(f"{self.name} is broken: section {section.name}: {error}") from None

    def symbols(self, index: int) -> list[Symbol]:
        """The entries of the symbol table with this section index."""
        if index not in self._symbols:
            self._symbols[index] = self._read_symbols(index)
        return self._symbols[index]

    def _read_symbols(self, index: int) -> list[Symbol]:
        table = self.section(index)
        self._need(table.type in (SYMTAB, DYNSYM), f"takes section {index} for a symbol table")
        names, found = self.section(table.link), []
        for name, info, _, section, value, size in _SYMBOL.iter_unpack(self._whole(table)):
            text = self._text(names, name) if name else ""
            found.append(Symbol(text, info & 15, not info >> 4, section, value, size))
        return found

    def _whole(self, table: Section) -> bytes:
        """The bytes of a table, without what is too short for an entry."""
        size = table.size // table.entry * table.entry
        return self.data[table.offset : table.offset + size]

    def relocations(self, section: Section) -> Iterator[Relocation]:
        """The entries of a RELA section."""
        for offset, kind, symbol, addend in _RELA.iter_unpack(self._whole(section)):
            yield Relocation(offset, kind, symbol, addend)

    def relative(self, section: Section) -> Iterator[int]:
        """The offsets that a RELR section names: an address, then bits for the quadwords behind it."""
        base = 0
        for (word,) in struct.iter_unpack("<Q", self._whole(section)):
            if not word & 1:
                yield word
                base = word + 8
                continue
            yield from (base + 8 * bit for bit in range(63) if word >> bit + 1 & 1)
            base += 8 * 63
