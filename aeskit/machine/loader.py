"""Object files, libraries and programs as an `Image`: bytes at addresses, symbols, source lines.

Sections of a relocatable file are laid out one behind the other as a linker would, and their relocations
applied (System V ABI, AMD64 supplement 1.0, 4.4): none better aligned than it asks, and constants that a
linker merges with other files' apart, for it keeps no order among them. A library or program is mapped by its
segments.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from aeskit.machine import decode, lines, relocate, stand_ins
from aeskit.machine import elf as e
from aeskit.machine.assemble import assemble
from aeskit.machine.errors import LoadError, NotDefined
from aeskit.printed import FEW, nearest

BASE = 0x2C5B_0000
"""Below 2^31, as code that is not position-independent asks, and no number that code has other uses for."""
GAP = relocate.APART
"""Bytes at least between two sections, where nothing lies."""
PAGE = 4096
MAX_ALIGN = 1 << 16
MAX_PARTS = 1 << 14
"""Of a file's sections and constants together, each of which is placed by itself."""
MAX_STRINGS = 1 << 10
"""Of a section's strings, of which each is placed by itself too; of more none may be read."""
UNREAD = "-"
"""Permissions of a section that is not to be read."""

_OTHERS = {
    b"BC\xc0\xde": "LLVM's bitcode: compile without -flto",
    b"!<ar": "an archive: take an object file out of it (ar x)",
}
"""How other files start, and what they are."""

PROTECTOR = "the stack protector's word"
_WORD = bytes.fromhex("005ac3963ca56987")
_PROTECTED = re.compile(rb"\x64[\x48-\x4f].[\x04\x0c\x14\x1c\x24\x2c\x34\x3c]\x25\x28\0\0\0", re.DOTALL)
"""An instruction with %fs:0x28: its prefixes, opcode and address."""


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
    """Where a section lies: its parts, which begin at `starts` in it, from `address` on, one every `step`."""

    address: int
    step: int = 0
    starts: Sequence[int] = (0,)

    def at(self, offset: int) -> int:
        """The address of a byte of the section, or of its end."""
        part = max(bisect_right(self.starts, offset) - 1, 0)
        return self.address + part * self.step + offset - self.starts[part]


@dataclass
class Image:
    """A file as it lies in memory."""

    name: str
    sections: list[Section] = field(default_factory=list)
    """In the order of their addresses."""
    symbols: dict[str, int] = field(default_factory=dict)
    """Functions, data and labels that the file still names."""
    labels: dict[str, int] = field(default_factory=dict)
    """Local labels, ``.Lmain`` and their kind, where the assembler kept them."""
    functions: dict[str, int] = field(default_factory=dict)
    """Names of functions to their size in bytes; 0 where the file does not say."""
    externals: dict[int, str] = field(default_factory=dict)
    """Addresses that stand for symbols which this file does not define, or leaves to the loader to choose."""
    outside: dict[str, int] = field(default_factory=dict)
    """The same by name."""
    addresses: list[tuple[int, int]] = field(default_factory=list)
    """Where it holds an address, and in how many bytes: a linker or the loader writes them."""
    linked: bool = False
    """Whether its sections lie as they do here wherever it is loaded; else a linker decides on that."""
    stand_ins: set[str] = field(default_factory=set)
    """Functions of others that the file names and that `stand_ins` has."""
    locals: set[str] = field(default_factory=set)
    """Names that only this file sees."""
    doubtful: set[str] = field(default_factory=set)
    """Names that stand for several addresses of one rank: all local, or none."""
    lines: dict[int, str] = field(default_factory=dict)
    """Address to ``file:line``."""
    unwind: tuple[int, int] = (0, 0)
    """Where the unwind tables (.eh_frame) lie, and their bytes; zeros where the file has none."""
    _starts: list[int] = field(default_factory=list, repr=False)

    def address_of(self, symbol: str) -> int:
        """The address of a symbol; LoadError with what there is."""
        if symbol in self.doubtful:
            raise LoadError(f"{self.name} has several symbols called {symbol}")
        if symbol in self.symbols:
            return self.symbols[symbol]
        if symbol in self.externals.values():
            what = "is defined elsewhere, or chosen when the file is loaded (IFUNC): name the code itself"
            raise LoadError(f"{self.name} only names {symbol}, which {what}")
        known = sorted(self.functions) or sorted(self.symbols)
        near = nearest(symbol, known)
        told = f"it has {near or f'{len(known):,} others' if known else 'none'}"
        if near and len(known) > FEW:
            told = f"of {len(known):,} the nearest are {near}"
        raise LoadError(f"{self.name} has no symbol {symbol}; {told}")

    def section_at(self, address: int) -> Section | None:
        """The section that an address lies in, or None."""
        at = bisect_right(self.sections, address, key=lambda section: section.address) - 1
        return self.sections[at] if at >= 0 and address < self.sections[at].end else None

    def code_at(self, address: int, size: int) -> bytes:
        """Up to `size` bytes of the section at `address`; LoadError (NotDefined) where no code lies."""
        section = self.section_at(address)
        if section and "x" in section.permissions:
            begin = address - section.address
            return bytes(section.data[begin : begin + size])
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
        section = self.section_at(address)
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
        if path.is_file() and path.stat().st_size > e.MAX_FILE:
            raise LoadError(f"{path} must have at most {e.MAX_FILE >> 20} MB")
        with path.open("rb") as file:
            data = file.read(e.MAX_FILE + 1)  # it may be no file that has a size
    except OSError as error:
        raise LoadError(f"{path} cannot be read: {error.strerror}") from None
    return from_bytes(data, path.name)


def from_bytes(data: bytes, name: str = "object") -> Image:
    """The image of an ELF file's bytes; LoadError if they are none, or broken."""
    if data[:4] != b"\x7fELF":
        what = _OTHERS.get(data[:4], f"what starts with {data[:4].hex()}" if data else "an empty file")
        raise LoadError(f"{name} must be an ELF file or assembler source, not {what}")
    return _read(e.Elf(data, name))


def _read(elf: e.Elf) -> Image:
    image, base = Image(elf.name), BASE if elf.kind == e.LIBRARY else 0
    placed: dict[int, int] = {}
    if elf.kind == e.RELOCATABLE:
        _need_code(elf)
        places = _lay_out(elf, image)
        placed = {index: place.address for index, place in places.items()}
        relocate.relocatable(elf, image, places)
    elif elf.kind in (e.LIBRARY, e.PROGRAM):
        image.linked = True
        _map(elf, image, base)
        slots = relocate.dynamic(elf, image, base)
        if slots:
            image.sections = [part for whole in image.sections for part in _parts(whole, slots)]
    else:
        told = f"not of ELF's type {elf.kind}"
        raise LoadError(f"{elf.name} must be relocatable, a library or a program, {told}")
    _stand_in(image)
    image.sections.sort(key=lambda section: section.address)
    _keep_apart(image)
    image.unwind = _unwind(elf, placed, base)
    image.lines = lines.read(elf, placed, base)
    return image


def _unwind(elf: e.Elf, placed: dict[int, int], base: int) -> tuple[int, int]:
    for index, section in enumerate(elf.sections):
        if section.name == ".eh_frame" and section.flags & e.ALLOC:
            return placed.get(index, base + section.address), section.size
    return 0, 0


def _need_code(elf: e.Elf) -> None:
    """LoadError for what gcc -flto writes: its own form of the code, and none for a machine."""
    code = any(section.flags & e.EXECUTE and section.size for section in elf.sections)
    if not code and any(section.name.startswith(".gnu.lto_") for section in elf.sections):
        raise LoadError(
            f"{elf.name} must hold machine code, not gcc's own form of it: compile without -flto, "
            "or with -ffat-lto-objects"
        )


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


def _keep_apart(image: Image) -> None:
    """What the file has must lie apart, and apart from where nothing is to be."""
    for one, two in pairwise(image.sections):
        if two.address < one.end:
            raise LoadError(f"{image.name} is broken: {one.name} and {two.name} overlap")
    begin = relocate.EXTERNAL - relocate.AROUND
    end = begin + relocate.APART * len(image.externals)
    if any(section.address < end and begin < section.end for section in image.sections):
        raise LoadError(f"{image.name} must leave {begin:#x} to {end:#x} free: they stand for what it lacks")


def _lay_out(elf: e.Elf, image: Image) -> dict[int, Place]:
    """Place the sections that take memory; where each lies by its index."""
    placed, end = {}, BASE
    changed = {section.info for section in elf.sections if section.type in (e.REL, e.RELA)}
    for index, section in enumerate(elf.sections):
        if not section.flags & e.ALLOC or not section.size or not section.type:
            continue
        content = elf.content(section)
        starts, rights = _parts_of(section, content), _permissions(section.flags)
        if index in changed:  # no linker merges what it must change
            starts = ()
        elif section.flags & e.STRINGS and len(starts) > MAX_STRINGS:
            starts, rights = (), UNREAD
        place = _next(section, end, starts, len(content))
        placed[index], end = place, place.at(len(content)) + GAP
        if len(image.sections) + len(place.starts) > MAX_PARTS:
            raise LoadError(f"{image.name} has more than {MAX_PARTS} sections and constants to place")
        for at, stop in pairwise((*place.starts, len(content))):
            image.sections.append(Section(section.name, place.at(at), bytearray(content[at:stop]), rights))
    return placed


def _parts_of(section: e.Section, content: bytes) -> Sequence[int]:
    """Where the parts begin that a linker moves one by one: constants, or strings and the zeros behind."""
    unit = section.entry
    if not section.flags & e.MERGE or not unit:
        return ()
    if not section.flags & e.STRINGS:
        return range(0, len(content), unit)
    ends = (at + unit for at in range(0, len(content) - unit, unit) if not any(content[at : at + unit]))
    return (0, *ends)


def _next(section: e.Section, end: int, starts: Sequence[int], size: int) -> Place:
    """Where a section is put: behind `end`, aligned as it asks and no better."""
    align = min(max(section.align, 1), MAX_ALIGN)
    if starts:
        align = min(align, section.entry & -section.entry)
        size = max(stop - at for at, stop in pairwise((*starts, size)))
    twice = 2 * align
    address = -(-(end - align) // twice) * twice + align
    return Place(address, -(-(size + GAP) // twice) * twice, starts) if starts else Place(address)


def _permissions(flags: int) -> str:
    return "r" + "w" * bool(flags & e.WRITE) + "x" * bool(flags & e.EXECUTE)


def _map(elf: e.Elf, image: Image, base: int) -> None:
    relro = [(base + s.address, base + s.address + s.size) for s in elf.segments if s.type == e.RELRO]
    fixed = [(begin, end & -PAGE) for begin, end in relro]  # a loader protects whole pages
    for number, segment in enumerate(elf.segments):
        if segment.type == e.LOAD:
            content = bytearray(segment.size)
            content[: segment.file_size] = elf.data[segment.offset : segment.offset + segment.file_size]
            rights = "r" + "w" * bool(segment.flags & 2) + "x" * bool(segment.flags & 1)
            whole = Section(f"segment {number}", base + segment.address, content, rights)
            image.sections += _parts(whole, fixed)
    image.sections.sort(key=lambda section: section.address)


def _parts(whole: Section, fixed: list[tuple[int, int]]) -> list[Section]:
    """A segment, cut where `fixed` begins and ends: there the loader protects what it has relocated."""
    ends = [end for pair in fixed for end in pair if whole.address < end < whole.end]
    edges = sorted({whole.address, whole.end, *ends})
    return [_part(whole, begin, end, fixed) for begin, end in pairwise(edges)]


def _part(whole: Section, begin: int, end: int, fixed: list[tuple[int, int]]) -> Section:
    content = whole.data[begin - whole.address : end - whole.address]
    if not any(low <= begin < high for low, high in fixed):
        return Section(whole.name, begin, content, whole.permissions)
    name = f"{whole.name}, the loader's"
    return Section(name, begin, content, whole.permissions.replace("w", ""))
