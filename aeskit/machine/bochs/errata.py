"""What Bochs in the wheel 0.4.0 gets wrong, found by the comparison with the semantics table.

In each case it is the emulator that contradicts the SDM (volume 2, the operation of the instruction named),
and an Intel CPU of family 6, model 207 (Emerald Rapids) agrees with the SDM:

- psrlq and vpsrlq by a count of exactly 64, immediate or in a register, shift by 0 instead of clearing;
- vpsravq with a count of exactly 64 shifts by 0 instead of filling with the sign;
- kshiftrw by 15 clears all bits instead of keeping the top one;
- vpinsrb in its EVEX form scales the 8-bit displacement of its memory operand by another factor than 1;
- vmovddup to xmm with a mask reads 16 bytes of memory instead of 8;
- vextractps with EVEX.W = 1 is refused, though W is ignored there.

Masks spare other faults than on that CPU, the semantics table being like the CPU:

- a masked vextract to memory faults only where a selected element lies; the CPU at any (SDM: class E6NF);
- vbroadcast of several elements reads all of them for any selected one; the CPU only those selected;
- an aligned move (vmovdqa64) to or from an unaligned address faults under a mask that selects nothing, too.
"""

from __future__ import annotations

from aeskit.machine import semantics
from aeskit.machine.decode import Immediate, Instruction, Memory

COUNTS = (64,)
"""Shift counts in registers and memory that are got wrong."""


def faults_otherwise(instruction: Instruction) -> bool:
    """Whether a mask spares other faults of this instruction than on silicon."""
    entry = semantics.lookup(instruction)
    places = any(isinstance(operand, Memory) for operand in instruction.operands)
    if not instruction.mask or not places or entry is None:
        return False
    return entry.aligned or entry.tile or (entry.scattered and isinstance(instruction.operands[0], Memory))


def wrong(instruction: Instruction) -> str:
    """What is wrong with this instruction whatever its operands hold; empty for nothing."""
    last = instruction.operands[-1] if instruction.operands else None
    count = last.value & 0xFF if isinstance(last, Immediate) else None
    if instruction.mnemonic.endswith("psrlq") and count in COUNTS:
        return "a count of 64 does not shift"
    if instruction.mnemonic == "kshiftrw" and count == 15:
        return "a count of 15 clears the top bit"
    places = [o for o in instruction.operands if isinstance(o, Memory)]
    if (
        (instruction.mnemonic, instruction.encoding) == ("vpinsrb", "EVEX")
        and places
        and places[0].displacement
    ):
        return "an 8-bit displacement is scaled"
    if instruction.mnemonic == "vmovddup" and instruction.mask and places and places[0].size == 8:
        return "16 bytes are read instead of 8"
    return ""
