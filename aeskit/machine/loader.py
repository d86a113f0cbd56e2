"""Object files, libraries and programs as an `Image`: bytes at addresses, symbols, source lines.

Sections of a relocatable file are laid out one behind the other as a linker would, and their relocations
applied (System V ABI, AMD64 supplement 1.0, 4.4): none better aligned than it asks, and constants that a
linker merges with other files' apart, for it keeps no order among them. A library or program is mapped by its
segments.
"""

from __future__ import annotations

import io
import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

from elftools.elf.elffile import ELFFile

from aeskit.machine import decode, relocate, stand_ins
from aeskit.machine.assemble import assemble
from aeskit.machine.errors import LoadError, NotDefined
from aeskit.printed import printable

BASE = 0x2C5B_0000
"""Below 2^31, as code that is not position-independent asks, and no number that code has other uses for."""
MAX_FILE = 256 << 20
MAX_MEMORY = 256 << 20
MAX_ENTRIES = 1_000_000
"""Of sections, symbols and relocations together: more is a broken file."""

GAP = 64
"""Bytes at least between two sections, where nothing lies."""

PROTECTOR = "the stack protector's word"
_WORD = bytes.fromhex("005ac3963ca56987")
_PROTECTED = re.compile(rb"\x64[\x48-\x4f].[\x04\x0c\x14\x1c\x24\x2c\x34\x3c]\x25\x28\0\0\0", re.DOTALL)
"""An instruction with %fs:0x28: its prefixes, opcode and address."""

_WRITE, _ALLOC, _EXECUTE, _MERGE, _STRINGS = 1, 2, 4, 0x10, 0x20


@dataclass
class Section:
    """Bytes at an address, as the loader placed them."""

    name: str
    address: int
    data: bytearray
    permissions: str

    @property
    def end(self) -> int:
        """The address behind the last byte."""
        return self.address + len(self.data)


@dataclass(frozen=True)
class Place:
    """Where a section lies: from `address` on, or with `step` in parts of `size` bytes, one every `step`."""

    address: int
    size: int
    step: int = 0

    def at(self, offset: int) -> int:
        """The address of a byte of the section, or of its end."""
        part, within = divmod(offset, self.size) if self.step else (0, offset)
        return self.address + part * self.step + within


@dataclass
class Image:
    """A file as it lies in memory."""

    name: str
    sections: list[Section] = field(default_factory=list)
    symbols: dict[str, int] = field(default_factory=dict)
    """Functions, data and labels that the file still names."""
    labels: dict[str, int] = field(default_factory=dict)
    """Local labels, ``.Lmain`` and their kind, where the assembler kept them."""
    functions: dict[str, int] = field(default_factory=dict)
    """Names of functions to their size in bytes; 0 where the file does not say."""
    externals: dict[int, str] = field(default_factory=dict)
    """Addresses that stand for symbols which this file does not define, or leaves to the loader to choose."""
    stand_ins: set[str] = field(default_factory=set)
    """Functions of others that the file names and that `stand_ins` has."""
    locals: set[str] = field(default_factory=set)
    """Names that only this file sees."""
    doubtful: set[str] = field(default_factory=set)
    """Names that stand for several addresses of one rank: all local, or none."""
    lines: dict[int, str] = field(default_factory=dict)
    """Address to ``file:line``."""
    _starts: list[int] = field(default_factory=list, repr=False)

    def address_of(self, symbol: str) -> int:
        """The address of a symbol; LoadError with what there is."""
        if symbol in self.doubtful:
            raise LoadError(f"{self.name} has several symbols called {symbol}")
        if symbol in self.symbols:
            return self.symbols[symbol]
        known = sorted(self.functions) or sorted(self.symbols)
        raise LoadError(f"{self.name} has no symbol {symbol}; it has {', '.join(known[:20]) or 'none'}")

    def code_at(self, address: int, size: int) -> bytes:
        """Up to `size` bytes of the section at `address`; LoadError (NotDefined) where no code lies."""
        for section in self.sections:
            if section.address <= address < section.end and "x" in section.permissions:
                return bytes(section.data[address - section.address :][:size])
        if address in self.externals:
            raise NotDefined(f"{self.externals[address]} is called, but {self.name} does not define it")
        raise LoadError(f"no code at {address:#x} in {self.name}")

    def line_at(self, address: int) -> str:
        """``file:line`` of the instruction at `address`, or an empty string."""
        if not self._starts:
            self._starts = sorted(self.lines)
        at = bisect_right(self._starts, address) - 1
        return self.lines[self._starts[at]] if at >= 0 else ""

    def label_at(self, address: int) -> str:
        """``symbol+0x12``: the last symbol at or before `address` in its section."""
        section = next((s for s in self.sections if s.address <= address < s.end), None)
        if section is None:
            return self.externals.get(address, f"{address:#x}")
        near = [(at, name) for name, at in self.symbols.items() if section.address <= at <= address]
        at, name = max(near, default=(section.address, section.name))
        return name if at == address else f"{name}+{address - at:#x}"


def load(path: str | Path, *, include: Sequence[str | Path] = (), define: Sequence[str] = ()) -> Image:
    """Read a `.o`, `.so`, program or `.S`; `include` and `define` are for assembling only.

    LoadError for anything else, with what is wrong.
    """
    path = Path(path)
    if path.suffix in (".S", ".s", ".asm") and path.is_file():
        return from_bytes(assemble(path, include=include, define=define), path.name)
    try:
        if path.stat().st_size > MAX_FILE:
            raise LoadError(f"{path} must have at most {MAX_FILE >> 20} MB")
        data = path.read_bytes()
    except OSError as error:
        raise LoadError(f"{path} cannot be read: {error.strerror}") from None
    return from_bytes(data, path.name)


def from_bytes(data: bytes, name: str = "object") -> Image:
    """The image of an ELF file's bytes; LoadError if they are none, or broken."""
    if data[:4] != b"\x7fELF":
        raise LoadError(
            f"{name} must be an ELF file or assembler source; it starts with {data[:4].hex() or 'nothing'}"
        )
    try:
        return _read(data, name)
    except LoadError as error:  # it may name what the file calls a section
        raise LoadError(printable(str(error))) from None
    except Exception as error:  # the parser trusts the file, so a broken one raises anything
        told = printable(f"{name} is a broken ELF file: {type(error).__name__}: {error}")
        raise LoadError(told) from None


def _read(data: bytes, name: str) -> Image:
    elf = ELFFile(io.BytesIO(data))
    machine, bits, kind = elf["e_machine"], elf.elfclass, elf["e_type"]
    if machine != "EM_X86_64" or bits != 64 or not elf.little_endian:
        raise LoadError(f"{name} must be for x86-64, not {machine} of {bits} bits")
    _check(elf, data, name)
    image = Image(name)
    if kind == "ET_REL":
        places = _lay_out(elf, image)
        placed = {index: place.address for index, place in places.items()}
        relocate.relocatable(elf, image, places)
    elif kind in ("ET_DYN", "ET_EXEC"):
        placed = _map(elf, image, BASE if kind == "ET_DYN" else 0)
        relocate.dynamic(elf, image, BASE if kind == "ET_DYN" else 0)
    else:
        raise LoadError(f"{name} must be relocatable, a library or a program, not {kind}")
    _lines(elf, image, placed, kind == "ET_REL")
    _stand_in(image)
    return image


def _stand_in(image: Image) -> None:
    """Place what is not in the file: functions of others, where one is named; the stack protector's word."""
    if any("x" in section.permissions and _PROTECTED.search(section.data) for section in image.sections):
        _add(image, Section(PROTECTOR, decode.THREAD + decode.PROTECTOR, bytearray(_WORD), "r"))
    if image.stand_ins:
        _add(image, Section(stand_ins.NAME, stand_ins.ADDRESS, bytearray(stand_ins.CODE), "rx"))
    for name in image.stand_ins:
        image.symbols.setdefault(name, stand_ins.ADDRESS + stand_ins.FUNCTIONS[name])


def _add(image: Image, section: Section) -> None:
    if any(s.address < section.end and section.address < s.end for s in image.sections):
        raise LoadError(f"{image.name} has bytes at {section.address:#x}: there must be none")
    image.sections.append(section)


def _check(elf: ELFFile, data: bytes, name: str) -> None:
    total = entries = 0
    for section in elf.iter_sections():
        header = section.header
        if header["sh_type"] != "SHT_NOBITS" and header["sh_offset"] + header["sh_size"] > len(data):
            raise LoadError(f"{name}: section {section.name} ends behind the file")
        if header["sh_flags"] & _ALLOC:
            total += header["sh_size"]
        entries += 1 + (header["sh_size"] // header["sh_entsize"] if header["sh_entsize"] else 0)
    for segment in elf.iter_segments():
        total += segment["p_memsz"] if segment["p_type"] == "PT_LOAD" else 0
    if total > MAX_MEMORY or entries > MAX_ENTRIES:
        raise LoadError(f"{name} asks for {total} bytes and {entries} entries: more than any such file has")


def _lay_out(elf: ELFFile, image: Image) -> dict[int, Place]:
    """Place the sections that take memory; where each lies by its index."""
    placed, end = {}, BASE
    changed = {s["sh_info"] for s in elf.iter_sections() if s["sh_type"] in ("SHT_REL", "SHT_RELA")}
    for index, section in enumerate(elf.iter_sections()):
        header = section.header
        if not header["sh_flags"] & _ALLOC or not header["sh_size"]:
            continue
        zero = header["sh_type"] == "SHT_NOBITS"
        content = bytearray(header["sh_size"]) if zero else bytearray(section.data())
        place = _next(header, end, index not in changed)
        placed[index], end = place, place.at(len(content)) + GAP
        for at in range(0, len(content), place.size):
            part = content[at : at + place.size]
            image.sections.append(Section(section.name, place.at(at), part, _permissions(header["sh_flags"])))
    return placed


def _next(header: Any, end: int, may_merge: bool) -> Place:
    """Where a section is put: behind `end`, aligned as it asks and no better."""
    align, size = min(max(header["sh_addralign"], 1), 1 << 16), header["sh_size"]
    merged = may_merge and header["sh_flags"] & (_MERGE | _STRINGS) == _MERGE and header["sh_entsize"]
    if merged:
        size = header["sh_entsize"]
        align = min(align, size & -size)
    twice = 2 * align
    address = -(-(end - align) // twice) * twice + align
    return Place(address, size, -(-(size + GAP) // twice) * twice if merged else 0)


def _permissions(flags: int) -> str:
    return "r" + "w" * bool(flags & _WRITE) + "x" * bool(flags & _EXECUTE)


def _map(elf: ELFFile, image: Image, base: int) -> dict[int, int]:
    fixed = [
        (base + segment["p_vaddr"], base + segment["p_vaddr"] + segment["p_memsz"])
        for segment in elf.iter_segments("PT_GNU_RELRO")
    ]
    for number, segment in enumerate(elf.iter_segments()):
        if segment["p_type"] == "PT_LOAD":
            content = bytearray(segment["p_memsz"])
            content[: segment["p_filesz"]] = segment.data()[: segment["p_memsz"]]
            flags = segment["p_flags"]
            rights = "r" + "w" * bool(flags & 2) + "x" * bool(flags & 1)
            whole = Section(f"segment {number}", base + segment["p_vaddr"], content, rights)
            image.sections += _parts(whole, fixed)
    return {i: base + s["sh_addr"] for i, s in enumerate(elf.iter_sections()) if s["sh_flags"] & _ALLOC}


def _parts(whole: Section, fixed: list[tuple[int, int]]) -> list[Section]:
    """A segment, cut where `fixed` begins and ends: there the loader protects what it has relocated."""
    ends = [end for pair in fixed for end in pair if whole.address < end < whole.end]
    edges = sorted({whole.address, whole.end, *ends})
    return [_part(whole, begin, end, fixed) for begin, end in pairwise(edges)] or [whole]


def _part(whole: Section, begin: int, end: int, fixed: list[tuple[int, int]]) -> Section:
    content = whole.data[begin - whole.address : end - whole.address]
    if not any(low <= begin < high for low, high in fixed):
        return Section(whole.name, begin, content, whole.permissions)
    name = f"{whole.name}, protected when relocated"
    return Section(name, begin, content, whole.permissions.replace("w", ""))


def _lines(elf: ELFFile, image: Image, placed: dict[int, int], relative: bool) -> None:
    """Fill `image.lines` from DWARF where the file has it and tells which section it means."""
    if elf.get_section_by_name(".debug_line") is None:
        return
    code = [placed[i] for i, s in enumerate(elf.iter_sections()) if i in placed and s["sh_flags"] & _EXECUTE]
    if relative and len(code) != 1:
        return
    base = code[0] if relative else (BASE if elf["e_type"] == "ET_DYN" else 0)
    try:
        dwarf = elf.get_dwarf_info()
        for unit in dwarf.iter_CUs():
            _unit_lines(dwarf, unit, image, base)
    except Exception:  # lines are a courtesy: a file without readable ones is still good
        return


def _unit_lines(dwarf: object, unit: object, image: Image, base: int) -> None:
    program = dwarf.line_program_for_CU(unit)  # type: ignore[attr-defined]
    if program is None:
        return
    first = 0 if program["version"] >= 5 else 1
    names = [entry.name.decode(errors="replace") for entry in program["file_entry"]]
    for entry in program.get_entries():
        state = entry.state
        if state is None or state.end_sequence or not 0 <= state.file - first < len(names):
            continue
        image.lines.setdefault(base + state.address, f"{names[state.file - first]}:{state.line}")
        if len(image.lines) > MAX_ENTRIES:
            return
