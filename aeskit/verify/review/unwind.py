"""Unwind tables (.eh_frame) of a file held against recorded runs.

At every instruction that ran the table names the canonical frame address and where the caller's registers
are (System V AMD64 ABI, 3.7 and 4.2.4; DWARF 5, 6.4). In a run both are known.
"""

from __future__ import annotations

import io
from bisect import bisect_right
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from elftools.common.exceptions import DWARFError, ELFError
from elftools.dwarf.callframe import FDE, CallFrameInfo
from elftools.dwarf.dwarf_expr import DW_OP_name2opcode, DWARFExprParser
from elftools.dwarf.structs import DWARFStructs

from aeskit.bits import from_le, to_le
from aeskit.machine import decode as d
from aeskit.machine.events import Events
from aeskit.machine.loader import Image

NUMBERS = ("rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp", *(f"r{n}" for n in range(8, 16)))
"""DWARF's numbers of the registers (System V AMD64 ABI, figure 3.36)."""
KEPT = ("rbx", "rbp", "r12", "r13", "r14", "r15")
SECTION = ".eh_frame"
_STRUCTS = DWARFStructs(little_endian=True, dwarf_format=32, address_size=8)
BROKEN = (DWARFError, ELFError, LookupError, RuntimeError, TypeError, ValueError, AssertionError)
"""What the parser raises for a broken one."""


@dataclass
class Unwind:
    """What the table of one function says, and where it is wrong."""

    rows: list[dict[Any, Any]] = field(default_factory=list)
    """In the order of their addresses; empty where no table covers the function."""
    end: int = 0
    missing: str = ""
    """Why nothing could be read."""
    present: bool = False
    """Whether the file has tables, of whatever functions."""
    checked: int = 0
    """Instructions, each run of it counted."""
    wrong: dict[int, str] = field(default_factory=dict)
    """Address of an instruction to what the table gets wrong before it."""

    def row(self, address: int) -> dict[Any, Any] | None:
        """The row that holds before an instruction; None outside the function."""
        at = bisect_right(self.rows, address, key=lambda row: int(row["pc"])) - 1
        return self.rows[at] if at >= 0 and address < self.end else None


def read(image: Image, address: int) -> Unwind:
    """The table that covers a function's first instruction."""
    at, size = image.unwind
    section = next((section for section in image.sections if section.address <= at < section.end), None)
    if section is None or not size:
        return Unwind()
    try:
        for start, end, entry in _entries(at, bytes(section.data[at - section.address :][:size])):
            if start <= address < end:
                return Unwind(list(entry.get_decoded().table), end, present=True)
    except BROKEN as error:
        return Unwind(missing=f"{SECTION} is broken: {error or type(error).__name__}")
    return Unwind(present=True)


@lru_cache(maxsize=1)
def _entries(at: int, data: bytes) -> list[tuple[int, int, FDE]]:
    """Start, end and table of every function; of a large library once."""
    table = CallFrameInfo(io.BytesIO(data), len(data), at, _STRUCTS, for_eh_frame=True)
    found = (entry for entry in table.get_entries() if isinstance(entry, FDE))
    return [(e["initial_location"], e["initial_location"] + e["address_range"], e) for e in found]


def follow(unwind: Unwind, run: Events) -> None:
    """Hold the table against a run; callees of the function have tables of their own."""
    if not unwind.rows:
        return
    start = dict(zip(d.GPR_NAMES, run.start.gpr, strict=True))
    now, stack = dict(start), dict[int, int]()
    for event in run.events:
        address = event.instruction.address
        row = unwind.row(address)
        if row is not None:
            unwind.checked += 1
            wrong = _wrong(row, now, stack, start)
            if wrong:
                unwind.wrong.setdefault(address, wrong)
        for name, value in event.values.items():
            if name in now:
                now[name] = from_le(value)
        for kind, at, data in event.accesses:
            if kind == "w":
                stack |= {at + i: byte for i, byte in enumerate(data)}


def _computed(expression: list[int], now: dict[str, int], stack: dict[int, int]) -> int | None:
    """A register and a number; or the word at that place, which was stored there, and a number added.

    None for any other expression.
    """
    operations = DWARFExprParser(_STRUCTS).parse_expr(expression)
    names = [operation.op_name.rstrip("0123456789") for operation in operations]
    number = operations[0].op - DW_OP_name2opcode["DW_OP_breg0"] if names[:1] == ["DW_OP_breg"] else -1
    if not 0 <= number < len(NUMBERS) or names[1:] not in ([], ["DW_OP_deref", "DW_OP_plus_uconst"]):
        return None
    at = now[NUMBERS[number]] + int(operations[0].args[0])
    if len(names) == 1:
        return at
    known = bytes(byte for i in range(8) if (byte := stack.get(at + i)) is not None)
    return from_le(known) + int(operations[2].args[0]) if len(known) == 8 else None


def _wrong(row: dict[Any, Any], now: dict[str, int], stack: dict[int, int], start: dict[str, int]) -> str:
    """What a row gets wrong with these registers and these bytes written; empty for nothing."""
    rule, frame = row.get("cfa"), start["rsp"] + 8
    if rule is not None and rule.expr is not None:
        found = _computed(rule.expr, now, stack)
        if found is None:
            return ""
        if found != frame:
            return f"the frame is computed as {found - frame:+} bytes from where it is"
    elif rule is None or rule.reg is None or rule.reg >= len(NUMBERS):
        return "no register that the frame could be found by"
    else:
        found = now[NUMBERS[rule.reg]] + rule.offset
    if found != frame:
        return f"the frame is at {NUMBERS[rule.reg]}{rule.offset - found + frame:+}, not {rule.offset:+}"
    for name in KEPT:
        kept = row.get(NUMBERS.index(name))
        if kept is None or kept.type in ("SAME_VALUE", "UNDEFINED"):
            if now[name] != start[name]:
                return f"{name} is changed, and the table does not say where the caller's is"
        elif kept.type in ("OFFSET", "EXPRESSION"):
            at = found + kept.arg if kept.type == "OFFSET" else _computed(kept.arg, now, stack)
            if at is not None and [stack.get(at + i) for i in range(8)] != list(to_le(start[name], 8)):
                return f"the caller's {name} is not at {at - found} from the frame"
    return ""
