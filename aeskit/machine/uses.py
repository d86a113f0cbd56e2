"""What an instruction is said to read and write, for `stretches`, which check it."""

from __future__ import annotations

from typing import NamedTuple

from aeskit.machine import decode as d

BREAKS = frozenset({"call", "ret", "vzeroupper", "vzeroall"})
"""A stretch ends before these, as before all that move rsp, and before repeated instructions."""


class Uses(NamedTuple):
    """Numbers of registers, and names of general ones."""

    v: tuple[int, ...]
    gpr: tuple[int, ...]
    k: tuple[int, ...]
    flags: bool
    scalars: frozenset[str]
    """General registers that it reads, and ``flags``."""
    writes: frozenset[str]
    breaks: bool


def uses_of(instruction: d.Instruction) -> Uses:
    """By the decoder; what a register is written in part is read as well."""
    reads, names = instruction.reads, d.GPR_NAMES
    partly = [names[o.number] for o in instruction.operands if isinstance(o, d.Gpr) and o.size < 4]
    gpr = dict.fromkeys(name for name in (*reads, *partly) if name in names)
    scalar = {*names, "flags"}
    return Uses(
        v=tuple(int(name[3:]) for name in reads if name[1:3] == "mm"),
        gpr=tuple(names.index(name) for name in gpr),
        k=tuple(int(name[1:]) for name in reads if name[0] == "k" and name[1:].isdigit()),
        flags="flags" in reads,
        scalars=frozenset((*reads, *partly)) & scalar,
        writes=frozenset(instruction.writes) & scalar,
        breaks=instruction.mnemonic in BREAKS or bool(instruction.prefix) or "rsp" in instruction.writes,
    )
