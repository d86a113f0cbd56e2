"""Symbols and relocations of an ELF file (System V ABI, AMD64 supplement 1.0, table 4.9)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from elftools.elf.relocation import RelocationSection
from elftools.elf.sections import SymbolTableSection

from aeskit.machine import stand_ins
from aeskit.machine.errors import LoadError

if TYPE_CHECKING:
    from aeskit.machine.loader import Image, Place, Section

EXTERNAL = 0x1A5C_3B00
"""Where symbols without a definition are placed, 16 bytes apart: nothing can be read or run there."""

_NONE, _64, _PC32, _GOT32, _PLT32, _COPY, _GLOB_DAT, _JUMP_SLOT, _RELATIVE, _GOTPCREL = range(10)
_32, _32S, _PC64, _GOTPCRELX, _REX_GOTPCRELX = 10, 11, 24, 41, 42
_PLACE_RELATIVE = {_PC32: 4, _PLT32: 4, _PC64: 8}
_ABSOLUTE = {_64: 8, _32: 4, _32S: 4}
_THROUGH_GOT = {_GOTPCREL, _GOTPCRELX, _REX_GOTPCRELX}


_INDIRECT = 10
"""Symbols of this type are chosen by a function when the file is loaded."""


@dataclass(frozen=True)
class _Symbol:
    """What a relocation names: an address, or the start of a section."""

    address: int
    section: Place | None = None

    def plus(self, addend: int, behind: int = 0) -> int:
        """With an addend, in which `behind` bytes are taken off for the end of the instruction."""
        return self.section.at(addend + behind) - behind if self.section else self.address + addend


def relocatable(elf: Any, image: Image, placed: dict[int, Place]) -> None:
    """Name the symbols of a `.o` file and apply its relocations; `placed`: places by section index."""
    tables = {
        i: _symbols(s, image, placed)
        for i, s in enumerate(elf.iter_sections())
        if s["sh_type"] == "SHT_SYMTAB"
    }
    got = _Got(image)
    for section in elf.iter_sections():
        if not isinstance(section, RelocationSection) or section["sh_info"] not in placed:
            continue
        target = next(s for s in image.sections if s.address == placed[section["sh_info"]].address)
        values = tables.get(section["sh_link"], [])
        for entry in section.iter_relocations():
            number = entry["r_info_sym"]
            if number >= len(values):
                raise LoadError(
                    f"{image.name}: a relocation of {target.name} names symbol {number}, which is not there"
                )
            _apply(target, entry, values[number], got)
    got.place()


def dynamic(elf: Any, image: Image, base: int) -> None:
    """Name the symbols of a library or program mapped at `base` and apply its dynamic relocations."""
    values: dict[int, list[int]] = {}
    for index, section in enumerate(elf.iter_sections()):
        if isinstance(section, SymbolTableSection):
            values[index] = [_dynamic_symbol(symbol, image, base) for symbol in section.iter_symbols()]
    for section in elf.iter_sections():
        if isinstance(section, RelocationSection) and section.is_RELA():
            for entry in section.iter_relocations():
                _apply_dynamic(image, entry, values.get(section["sh_link"], []), base)


def _symbols(table: Any, image: Image, placed: dict[int, Place]) -> list[_Symbol]:
    values = []
    for symbol in table.iter_symbols():
        index, value = symbol["st_shndx"], symbol["st_value"]
        place = placed.get(index)
        if index == "SHN_UNDEF" or _is_indirect(symbol):
            values.append(_Symbol(_external(image, symbol.name) if symbol.name else 0))
            continue
        values.append(_Symbol(place.at(value) if place else value, place if _is_section(symbol) else None))
        if place:
            _name(image, symbol, place.at(value))
    return values


def _is_section(symbol: Any) -> bool:
    return bool(symbol["st_info"]["type"] == "STT_SECTION")


def _is_indirect(symbol: Any) -> bool:
    return symbol["st_info"]["type"] in ("STT_LOOS", "STT_GNU_IFUNC", _INDIRECT)


def _dynamic_symbol(symbol: Any, image: Image, base: int) -> int:
    if symbol["st_shndx"] == "SHN_UNDEF" or _is_indirect(symbol):
        return _external(image, symbol.name) if symbol.name else 0
    address = base + int(symbol["st_value"])
    _name(image, symbol, address)
    return address


def _name(image: Image, symbol: Any, address: int) -> None:
    kind = symbol["st_info"]["type"]
    if symbol.name.startswith(".L"):
        image.labels.setdefault(symbol.name, address)
    elif symbol.name and kind not in ("STT_SECTION", "STT_FILE"):
        _named(image, symbol.name, address, symbol["st_info"]["bind"] == "STB_LOCAL")
        if kind == "STT_FUNC":
            image.functions[symbol.name] = symbol["st_size"]


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
    for address, known in image.externals.items():
        if known == name:
            return address
    address = EXTERNAL + 16 * len(image.externals)
    image.externals[address] = name
    return address


class _Got:
    """The global offset table: a quadword for each symbol that is reached through it."""

    def __init__(self, image: Image) -> None:
        last = max((s.end for s in image.sections), default=0)
        self.image, self.address = image, (last + 127) & ~63
        self.values: list[int] = []

    def slot(self, value: int) -> int:
        if value not in self.values:
            self.values.append(value)
        return self.address + 8 * self.values.index(value)

    def place(self) -> None:
        from aeskit.machine.loader import Section

        data = bytearray(b"".join(value.to_bytes(8, "little") for value in self.values))
        if data:
            self.image.sections.append(Section(".got", self.address, data, "r"))


def _apply(target: Section, entry: Any, symbol: _Symbol, got: _Got) -> None:
    kind, offset = entry["r_info_type"], entry["r_offset"]
    addend = entry["r_addend"] if entry.is_RELA() else 0
    place = target.address + offset
    if kind in _PLACE_RELATIVE:
        _store(
            target,
            offset,
            symbol.plus(addend, _PLACE_RELATIVE[kind]) - place,
            _PLACE_RELATIVE[kind],
            signed=True,
        )
    elif kind in _ABSOLUTE:
        _store(target, offset, symbol.plus(addend), _ABSOLUTE[kind], signed=kind == _32S)
    elif kind in _THROUGH_GOT:
        _store(target, offset, got.slot(symbol.plus(0)) + addend - place, 4, signed=True)
    elif kind != _NONE:
        raise LoadError(f"relocation type {kind} at {target.name}+{offset:#x} is not known")


def _apply_dynamic(image: Image, entry: Any, values: list[int], base: int) -> None:
    kind, place = entry["r_info_type"], base + entry["r_offset"]
    target = next((s for s in image.sections if s.address <= place and place + 8 <= s.end), None)
    if target is None or kind not in (_64, _GLOB_DAT, _JUMP_SLOT, _RELATIVE):
        return
    number = entry["r_info_sym"]
    symbol = values[number] if number < len(values) else 0
    value = {_RELATIVE: base + entry["r_addend"], _64: symbol + entry["r_addend"]}.get(kind, symbol)
    _store(target, place - target.address, value, 8, signed=False)


def _store(target: Section, offset: int, value: int, size: int, signed: bool) -> None:
    if offset + size > len(target.data):
        raise LoadError(f"a relocation at {target.name}+{offset:#x} lies behind the section's end")
    bits = 8 * size
    fits = -(1 << bits - 1) <= value < 1 << bits - 1 if signed else 0 <= value % (1 << 64) < 1 << bits
    if not fits:
        raise LoadError(f"the relocation at {target.name}+{offset:#x} does not fit {bits} bits: {value:#x}")
    target.data[offset : offset + size] = (value % (1 << bits)).to_bytes(size, "little")
