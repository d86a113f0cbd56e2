"""How many bytes of machine code each native function has, from the symbols of the built core."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from aeskit import _native

MISSING = "pyelftools is missing: pip install 'aeskit[disasm]' gives the sizes of the functions"


@cache
def sizes() -> dict[str, int]:
    """Function to bytes, subroutines included; empty without pyelftools or where the core is no ELF file."""
    try:
        from elftools.common.exceptions import ELFError
        from elftools.elf.elffile import ELFFile
        from elftools.elf.sections import SymbolTableSection
    except ImportError:
        return {}
    with Path(_native.__file__).open("rb") as file:
        try:
            tables = [one for one in ELFFile(file).iter_sections() if isinstance(one, SymbolTableSection)]
        except ELFError:
            return {}
        symbols = [symbol for table in tables for symbol in table.iter_symbols()]
        functions = [symbol for symbol in symbols if symbol["st_info"]["type"] == "STT_FUNC"]
        return {symbol.name: symbol["st_size"] for symbol in functions if symbol["st_size"]}
