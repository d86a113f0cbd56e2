"""Source lines of machine code, out of .debug_line (DWARF 5, 6.2; versions 2 to 5).

Lines are a courtesy: where the tables are broken, or of a kind that is not read, there are fewer of them.
"""

from __future__ import annotations

from dataclasses import dataclass

from aeskit.machine import elf as e
from aeskit.machine.errors import LoadError
from aeskit.printed import printable

MAX_BYTES, MAX_LINES, MAX_FILE_NAME = 4 << 20, 1 << 18, 255
"""Bytes of tables that are read, lines that are kept, letters of a file's name."""

_STRING, _BLOCK, _DATA16, _LINE_STRP, _STRP = 0x08, 0x09, 0x1E, 0x1F, 0x0E
_DATA = {0x0B: 1, 0x05: 2, 0x06: 4, 0x07: 8, _DATA16: 16}
_UDATA, _PATH = 0x0F, 1
_TEXTS = {_LINE_STRP: ".debug_line_str", _STRP: ".debug_str"}
_64, _32 = 1, 10  # relocation types


class _Broken(Exception):
    """The table goes no further."""


class _Reader:
    """Numbers and texts from `at` on, none behind `end`."""

    def __init__(self, data: bytes | bytearray, at: int, end: int) -> None:
        self.data, self.at, self.end = data, at, min(end, len(data))

    def skip(self, size: int) -> int:
        at, self.at = self.at, self.at + size
        if self.at > self.end:
            raise _Broken
        return at

    def number(self, size: int) -> int:
        at = self.skip(size)
        return int.from_bytes(self.data[at : at + size], "little")

    def leb(self, signed: bool = False) -> int:
        """LEB128 (DWARF 5, 7.6), of 64 bits at most."""
        value = 0
        for shift in range(0, 70, 7):
            byte = self.number(1)
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value - (1 << shift + 7 if signed and byte & 0x40 else 0)
        raise _Broken

    def text(self) -> str:
        stop = self.data.find(b"\0", self.at, self.end)
        if stop < 0:
            raise _Broken
        at = self.skip(stop + 1 - self.at)
        return printable(self.data[at : min(stop, at + MAX_FILE_NAME)].decode(errors="replace"))


def read(elf: e.Elf, placed: dict[int, int], base: int) -> dict[int, str]:
    """Address to ``file:line``, `MAX_LINES` at most.

    `placed` gives the addresses of sections by their index; `base` is where a linked file is mapped.
    """
    found: dict[int, str] = {}
    try:
        tables = _Tables(elf, placed)
        reader = _Reader(tables.data, 0, MAX_BYTES)
        while reader.at < reader.end and len(found) < MAX_LINES:
            tables.unit(reader, base, found)
    except (_Broken, LoadError):
        return found
    return found


class _Tables:
    """The section with the tables of lines, relocated, and those with its texts."""

    def __init__(self, elf: e.Elf, placed: dict[int, int]) -> None:
        self.elf = elf
        number = self._index(".debug_line")
        self.data = bytearray(self._content(number))
        self.texts = {form: self._content(self._index(name)) for form, name in _TEXTS.items()}
        for section in elf.sections:
            if number and elf.kind == e.RELOCATABLE and section.type == e.RELA and section.info == number:
                self._relocate(section, placed)

    def _index(self, name: str) -> int:
        return next((i for i, section in enumerate(self.elf.sections) if section.name == name), 0)

    def _content(self, number: int) -> bytes:
        return self.elf.content(self.elf.sections[number]) if number else b""

    def _relocate(self, section: e.Section, placed: dict[int, int]) -> None:
        symbols = self.elf.symbols(section.link)
        for entry in self.elf.relocations(section):
            size = {_64: 8, _32: 4}.get(entry.type, 0)
            if not size or entry.symbol >= len(symbols) or entry.offset + size > len(self.data):
                raise _Broken
            symbol = symbols[entry.symbol]
            value = placed.get(symbol.section, 0) + symbol.value + entry.addend
            part = slice(entry.offset, entry.offset + size)
            self.data[part] = (value % (1 << 8 * size)).to_bytes(size, "little")

    def unit(self, reader: _Reader, base: int, found: dict[int, str]) -> None:
        """The lines of the unit at the reader, which is behind it then."""
        size, wide = reader.number(4), 4
        if size == 0xFFFFFFFF:
            size, wide = reader.number(8), 8
        inner = _Reader(self.data, reader.at, reader.at + size)
        reader.skip(size)
        try:
            program = self._header(inner, wide)
            _run(program, inner, base, found)
        except _Broken:  # the next one may be sound
            return

    def _header(self, reader: _Reader, wide: int) -> _Program:
        version = reader.number(2)
        if not 2 <= version <= 5:
            raise _Broken
        reader.skip(2 if version == 5 else 0)  # the sizes of an address and of a segment's selector
        begin = reader.number(wide) + reader.at
        least = reader.number(1)
        reader.skip(2 if version >= 4 else 1)  # operations of an instruction; what a statement is
        line_base, line_range, opcodes = reader.number(1), reader.number(1), reader.number(1)
        if not line_range or not opcodes:
            raise _Broken
        lengths = reader.data[reader.skip(opcodes - 1) :][: opcodes - 1]
        names = self._files(reader, wide) if version == 5 else _old_files(reader)
        reader.skip(begin - reader.at)
        signed = line_base - (line_base >> 7 << 8)
        return _Program(least, signed, line_range, bytes(lengths), names)

    def _files(self, reader: _Reader, wide: int) -> list[str]:
        self._entries(reader, wide)
        return self._entries(reader, wide)

    def _entries(self, reader: _Reader, wide: int) -> list[str]:
        """The paths of a table of directories or files (DWARF 5, 6.2.4.1)."""
        forms = [(reader.leb(), reader.leb()) for _ in range(reader.number(1))]
        count, paths = reader.leb(), []
        if not forms and count:
            raise _Broken
        for _ in range(count):
            read = {kind: self._value(reader, form, wide) for kind, form in forms}
            paths.append(read.get(_PATH, ""))
        return paths

    def _value(self, reader: _Reader, form: int, wide: int) -> str:
        """What a form holds, where it is a text."""
        if form == _STRING:
            return reader.text()
        if form in _TEXTS:
            texts = self.texts[form]
            return _Reader(texts, reader.number(wide), len(texts)).text()
        if form == _UDATA:
            reader.leb()
        elif form == _BLOCK:
            reader.skip(reader.leb())
        elif form in _DATA:
            reader.skip(_DATA[form])
        else:
            raise _Broken
        return ""


@dataclass
class _Program:
    """What a unit's header says."""

    least: int
    """Bytes that an advance of 1 stands for."""
    line_base: int
    line_range: int
    lengths: bytes
    """How many operands the standard opcodes have, from 1 on."""
    files: list[str]
    """By their numbers."""


def _old_files(reader: _Reader) -> list[str]:
    """The names of a table before version 5, where numbers begin with 1."""
    while reader.text():
        pass
    names = [""]
    while name := reader.text():
        names.append(name)
        for _ in range(3):
            reader.leb()
    return names


_COPY, _ADVANCE_PC, _ADVANCE_LINE, _SET_FILE, _CONST_ADD_PC, _FIXED_ADVANCE = 1, 2, 3, 4, 8, 9
_END, _SET_ADDRESS = 1, 2  # extended


def _run(program: _Program, reader: _Reader, base: int, found: dict[int, str]) -> None:
    """Make the rows of a unit (DWARF 5, 6.2.5), the first of each address."""
    address, line, file, special = 0, 1, 1, len(program.lengths) + 1
    while reader.at < reader.end and len(found) < MAX_LINES:
        opcode = reader.number(1)
        row = opcode >= special or opcode == _COPY
        if opcode >= special:
            advance, more = divmod(opcode - special, program.line_range)
            address, line = address + advance * program.least, line + program.line_base + more
        elif opcode == 0:
            size, extended = reader.leb(), reader.number(1)
            if extended == _SET_ADDRESS:
                address = reader.number(size - 1)
            elif extended == _END:
                address, line, file = 0, 1, 1
            reader.skip(0 if extended == _SET_ADDRESS else max(size - 1, 0))
        elif opcode == _ADVANCE_PC:
            address += reader.leb() * program.least
        elif opcode == _ADVANCE_LINE:
            line += reader.leb(signed=True)
        elif opcode == _SET_FILE:
            file = reader.leb()
        elif opcode == _CONST_ADD_PC:
            address += (255 - special) // program.line_range * program.least
        elif opcode == _FIXED_ADVANCE:
            address += reader.number(2)
        else:
            for _ in range(program.lengths[opcode - 1]):
                reader.leb()
        if row and file < len(program.files):
            found.setdefault(base + address, f"{program.files[file]}:{line}")
