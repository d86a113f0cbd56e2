"""How many bytes of machine code each native function runs through, from the symbols of the built core."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

from aeskit import _native


@dataclass(frozen=True)
class Function:
    """A symbol of the core: its own bytes, and the functions that it calls or jumps to."""

    code: bytes
    calls: frozenset[str]


@cache
def sizes() -> dict[str, int]:
    """Function to bytes, those of the subroutines that it calls included.

    Empty without pyelftools and iced-x86, or where the core is no ELF file.
    """
    found = functions()
    return {name: sum(len(found[part].code) for part in _reached(name, found)) for name in found}


@cache
def functions() -> dict[str, Function]:
    """The functions that the core's symbols give a size; empty as `sizes`."""
    try:
        import iced_x86  # noqa: F401
        from elftools.common.exceptions import ELFError
        from elftools.elf.elffile import ELFFile
        from elftools.elf.sections import SymbolTableSection
    except ImportError:
        return {}
    with Path(_native.__file__).open("rb") as file:
        try:
            elf = ELFFile(file)
            tables = [one for one in elf.iter_sections() if isinstance(one, SymbolTableSection)]
        except ELFError:
            return {}
        placed: dict[str, tuple[int, bytes]] = {}
        for symbol in (symbol for table in tables for symbol in table.iter_symbols()):
            if symbol["st_info"]["type"] == "STT_FUNC" and symbol["st_size"]:
                start = symbol["st_value"]
                file.seek(next(iter(elf.address_offsets(start))))
                placed[symbol.name] = start, file.read(symbol["st_size"])
    names = {start: name for name, (start, _) in placed.items()}
    return {
        name: Function(code, frozenset(names[target] for target in _targets(start, code) & names.keys()))
        for name, (start, code) in placed.items()
    }


def _targets(start: int, code: bytes) -> set[int]:
    """Where the calls and jumps of a function go to."""
    from iced_x86 import Decoder

    return {one.near_branch_target for one in Decoder(64, code, ip=start) if one.near_branch_target}


def _reached(name: str, found: dict[str, Function]) -> set[str]:
    reached, waiting = set(), {name}
    while waiting:
        one = waiting.pop()
        reached.add(one)
        waiting |= found[one].calls - reached
    return reached
