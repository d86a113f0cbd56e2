"""Symbols and relocations of an ELF file (System V ABI, AMD64 supplement 1.0, table 4.9)."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from typing import TYPE_CHECKING

from aeskit.machine import dynamic_table, stand_ins
from aeskit.machine import elf as e
from aeskit.machine.errors import LoadError

if TYPE_CHECKING:
    from aeskit.machine.loader import Image, Place, Section

EXTERNAL, APART = 0x1A5C_3B00, 0x1000
"""Where symbols without a definition are placed, and how far apart: nothing can be read or run there."""
AROUND = APART // 2
"""An address less than this from such a symbol, or from a section, is counted from it, so none of another."""

MOST_STRETCHES = 64

_NONE, _64, _PC32, _GOT32, _PLT32, _COPY, _GLOB_DAT, _JUMP_SLOT, _RELATIVE, _GOTPCREL = range(10)
_32, _32S, _PC64, _GOTPCRELX, _REX_GOTPCRELX = 10, 11, 24, 41, 42
_PLACE_RELATIVE = {_PC32: 4, _PLT32: 4, _PC64: 8}
_ABSOLUTE = {_64: 8, _32: 4, _32S: 4}
_THROUGH_GOT = {_GOTPCREL, _GOTPCRELX, _REX_GOTPCRELX}
_THREADS = {19, 20, 21, 22, 23}
_BY_PLACE = {19, 20, 22}
"""TLSGD, TLSLD, DTPOFF32, GOTTPOFF and TPOFF32: of threads' own data, some of them relative to the place."""
_CHOSEN = 37
"""A function that the function at the addend chooses (IRELATIVE)."""
_RUNNING = {16, 17, 18, 36, _CHOSEN}
"""Quadwords that only a running program knows: of threads' own data; functions chosen by a function."""


@dataclass(frozen=True)
class _Symbol:
    """What a relocation names: an address, or the start of a section."""

    address: int
    section: Place | None = None

    def plus(self, addend: int, behind: int = 0) -> int:
        """With an addend, in which `behind` bytes are taken off for the end of the instruction."""
        return self.section.at(addend + behind) - behind if self.section else self.address + addend


@dataclass(frozen=True)
class _Elsewhere(_Symbol):
    """A symbol that this file does not define."""

    image: Image | None = None
    name: str = ""

    def plus(self, addend: int, behind: int = 0) -> int:
        """With an addend: two symbols' addresses are never the same number."""
        offset = addend + behind
        if self.image is None or abs(offset) < AROUND:
            return self.address + addend
        return _external(self.image, f"{self.name}{offset:+#x}") - behind


def relocatable(elf: e.Elf, image: Image, placed: dict[int, Place]) -> None:
    """Name the symbols of a `.o` file and apply its relocations; `placed`: places by section index."""
    tables = {
        index: _symbols(elf, index, image, placed)
        for index, section in enumerate(elf.sections)
        if section.type == e.SYMTAB
    }
    got, sections = _Got(image), {section.address: section for section in image.sections}
    for header in elf.sections:
        if header.type not in (e.REL, e.RELA) or header.info not in placed:
            continue
        target = sections[placed[header.info].address]
        if header.type == e.REL:
            raise LoadError(f"{image.name}: relocations of {target.name} must have addends, type RELA")
        values = tables.get(header.link, [])
        for entry in elf.relocations(header):
            if entry.symbol >= len(values):
                told = f"names symbol {entry.symbol}, which is not there"
                raise LoadError(f"{image.name}: a relocation of {target.name} {told}")
            _apply(target, entry, values[entry.symbol], got)
    got.place()


def dynamic(elf: e.Elf, image: Image, base: int) -> list[tuple[int, int]]:
    """Name the symbols of a library or program mapped at `base` and apply its dynamic relocations.

    Gives (begin, end) of the slots through which it calls functions: the loader alone writes them.
    """
    dynamic_table.check(elf)
    values = {
        index: [_dynamic_symbol(symbol, image, base) for symbol in elf.symbols(index)]
        for index, section in enumerate(elf.sections)
        if section.type in (e.SYMTAB, e.DYNSYM)
    }
    slots: list[int] = []
    chosen = _chosen(elf, image)
    for header in elf.sections:
        if header.type == e.RELA and header.flags & e.ALLOC:
            for entry in elf.relocations(header):
                named = chosen.get(entry.addend) if entry.type == _CHOSEN else None
                found = [named] if named else values.get(header.link, [])
                asked = entry._replace(type=_JUMP_SLOT, symbol=0) if named else entry
                _apply_dynamic(image, asked, found, base)
                if asked.type == _JUMP_SLOT:
                    slots.append(base + entry.offset)
        for offset in elf.relative(header) if header.type == e.RELR else ():
            _apply_relative(image, offset, base)
    return _stretches(sorted(slots))


def _chosen(elf: e.Elf, image: Image) -> dict[int, _Symbol]:
    """Functions that have a stand-in, by the address of what chooses their code in this file."""
    return {
        symbol.value: _elsewhere(image, symbol.name)
        for index, section in enumerate(elf.sections)
        if section.type in (e.SYMTAB, e.DYNSYM)
        for symbol in elf.symbols(index)
        if symbol.type == e.INDIRECT and symbol.name in stand_ins.FUNCTIONS
    }


def _stretches(slots: list[int]) -> list[tuple[int, int]]:
    """Neighbouring slots as one (begin, end); none where they lie about in more places than in any file."""
    out: list[tuple[int, int]] = []
    for at in slots:
        begin = out.pop()[0] if out and out[-1][1] == at else at
        out.append((begin, at + 8))
    return out if len(out) <= MOST_STRETCHES else []


def _symbols(elf: e.Elf, index: int, image: Image, placed: dict[int, Place]) -> list[_Symbol]:
    values = []
    for symbol in elf.symbols(index):
        place = placed.get(symbol.section)
        if _is_elsewhere(elf, symbol, place):
            values.append(_elsewhere(image, symbol.name))
        elif place is None:
            values.append(_Symbol(symbol.value))
        else:
            at = place.at(symbol.value)
            values.append(_Symbol(at, place if symbol.type == e.SECTION else None))
            _name(image, symbol, at)
    return values


def _is_elsewhere(elf: e.Elf, symbol: e.Symbol, place: Place | None) -> bool:
    """Whether another file, the linker or the loader decides on a symbol's address."""
    if symbol.section == e.UNDEFINED or symbol.type == e.INDIRECT:
        return True
    if place is not None or symbol.section == e.ABSOLUTE:
        return False
    return symbol.section >= len(elf.sections) or bool(elf.sections[symbol.section].flags & e.ALLOC)


def _elsewhere(image: Image, name: str) -> _Symbol:
    return _Elsewhere(_external(image, name), image=image, name=name) if name else _Symbol(0)


def _dynamic_symbol(symbol: e.Symbol, image: Image, base: int) -> _Symbol:
    if symbol.section == e.UNDEFINED or symbol.type == e.INDIRECT:
        return _elsewhere(image, symbol.name)
    address = symbol.value + (base if symbol.section != e.ABSOLUTE else 0)
    _name(image, symbol, address)
    return _Symbol(address)


def _name(image: Image, symbol: e.Symbol, address: int) -> None:
    if symbol.name.startswith(".L"):
        image.labels.setdefault(symbol.name, address)
    elif symbol.name and symbol.type not in (e.SECTION, e.FILE):
        _named(image, symbol.name, address, symbol.local)
        if symbol.type == e.FUNCTION:
            image.functions[symbol.name] = symbol.size


def _named(image: Image, name: str, address: int, local: bool) -> None:
    """What all files see goes before what is one file's own; among equals a name must have one address."""
    known = image.symbols.get(name)
    if known is None or (name in image.locals and not local):
        image.symbols[name] = address
        image.doubtful.discard(name)
        (image.locals.add if local else image.locals.discard)(name)
    elif known != address and local == (name in image.locals):
        image.doubtful.add(name)


def _external(image: Image, name: str) -> int:
    if name in stand_ins.FUNCTIONS:
        image.stand_ins.add(name)
        return stand_ins.ADDRESS + stand_ins.FUNCTIONS[name]
    address = image.outside.setdefault(name, EXTERNAL + APART * len(image.outside))
    image.externals[address] = name
    return address


class _Got:
    """The global offset table: a quadword for each symbol that is reached through it."""

    def __init__(self, image: Image) -> None:
        last = max((s.end for s in image.sections), default=0)
        self.image, self.address = image, (last + APART + 63) & ~63
        self.places: dict[int, int] = {}

    def slot(self, value: int) -> int:
        return self.address + 8 * self.places.setdefault(value, len(self.places))

    def place(self) -> None:
        from aeskit.machine.loader import Section

        data = bytearray(b"".join((value % (1 << 64)).to_bytes(8, "little") for value in self.places))
        if data:
            self.image.sections.append(Section(".got", self.address, data, "r"))
            self.image.addresses += [(self.address + at, 8) for at in range(0, len(data), 8)]


def _apply(target: Section, entry: e.Relocation, symbol: _Symbol, got: _Got) -> None:
    kind, offset, addend = entry.type, entry.offset, entry.addend
    place = target.address + offset
    if kind in _PLACE_RELATIVE:
        size = _PLACE_RELATIVE[kind]
        _store(target, offset, symbol.plus(addend, size) - place, size, signed=True)
    elif kind in _ABSOLUTE:
        _store(target, offset, symbol.plus(addend), _ABSOLUTE[kind], signed=kind == _32S)
        got.image.addresses.append((place, _ABSOLUTE[kind]))
    elif kind in _THROUGH_GOT:
        _store(target, offset, got.slot(symbol.plus(0)) + addend - place, 4, signed=True)
    elif kind in _THREADS:
        unknown = _external(got.image, f"what a relocation of type {kind} stands for")
        _store(target, offset, unknown + addend - (place if kind in _BY_PLACE else 0), 4, signed=True)
    elif kind != _NONE:
        raise LoadError(f"relocation type {kind} at {target.name}+{offset:#x} is not known")


def _apply_dynamic(image: Image, entry: e.Relocation, values: list[_Symbol], base: int) -> None:
    """What the loader stores; where only a running program knows that, an address that nobody knows."""
    target, offset = _found(image, base + entry.offset)
    if target is None or entry.type in (_NONE, _COPY):  # copies are state of another file
        return
    if entry.symbol >= max(len(values), 1):
        raise LoadError(
            f"{image.name}: a relocation of {target.name} names symbol {entry.symbol}, which is not there"
        )
    symbol = values[entry.symbol] if values else _Symbol(0)
    if entry.type in (_64, _RELATIVE):
        value = symbol.plus(entry.addend) if entry.type == _64 else base + entry.addend
    elif entry.type in (_GLOB_DAT, _JUMP_SLOT):
        value = symbol.address
    elif entry.type in _RUNNING:
        value = _external(image, f"what a relocation of type {entry.type} stands for")
    else:
        raise LoadError(f"relocation type {entry.type} at {target.name}+{offset:#x} is not known")
    _store(target, offset, value, 8, signed=False)
    image.addresses.append((base + entry.offset, 8))


def _apply_relative(image: Image, offset: int, base: int) -> None:
    target, at = _found(image, base + offset)
    if target:
        value = int.from_bytes(target.data[at : at + 8], "little")
        _store(target, at, base + value, 8, signed=False)
        image.addresses.append((base + offset, 8))


def _found(image: Image, address: int) -> tuple[Section | None, int]:
    """The section with eight bytes at an address, of sections in the order of their addresses."""
    at = bisect_right(image.sections, address, key=lambda section: section.address) - 1
    section = image.sections[at] if at >= 0 else None
    return (section, address - section.address) if section and address + 8 <= section.end else (None, 0)


def _store(target: Section, offset: int, value: int, size: int, signed: bool) -> None:
    if offset + size > len(target.data):
        raise LoadError(f"a relocation at {target.name}+{offset:#x} lies behind the section's end")
    bits = 8 * size
    fits = -(1 << bits - 1) <= value < 1 << bits - 1 if signed else 0 <= value % (1 << 64) < 1 << bits
    if not fits:
        raise LoadError(f"the relocation at {target.name}+{offset:#x} does not fit {bits} bits: {value:#x}")
    target.data[offset : offset + size] = (value % (1 << bits)).to_bytes(size, "little")
