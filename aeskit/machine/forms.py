"""Every form of every instruction that the semantics table may know, written as machine code.

A form is an encoding of iced-x86's list with its operands in registers or in memory, broadcast or not,
without a mask, merging or zeroing. `Writer` draws the rest (registers, immediates, the parts of the
address) and encodes it.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from aeskit.machine import decode, flow, masks, semantics
from aeskit.machine.decode import GPR_NAMES

_OUTSIDE = ("MM_", "SEG_REG", "FS", "GS", "CR_", "DR_", "BR16", "VSIB", "TMM", "BND", "ST", "FAR", "IMM4")
"""Operands that the lane machine has no state for: MMX, segment and system registers, gathers."""

_UNDEFINED = {"BSWAP_R16"}
"""Encodings whose result the SDM leaves undefined."""

_IMMEDIATES = {
    "IMM8": ("IMMEDIATE8", 8),
    "IMM16": ("IMMEDIATE16", 16),
    "IMM32": ("IMMEDIATE32", 32),
    "IMM64": ("IMMEDIATE64", 64),
    "IMM8SEX16": ("IMMEDIATE8TO16", 8),
    "IMM8SEX32": ("IMMEDIATE8TO32", 8),
    "IMM8SEX64": ("IMMEDIATE8TO64", 8),
    "IMM32SEX64": ("IMMEDIATE32TO64", 32),
}
_FIXED = ("AL", "CL", "AX", "DX", "EAX", "RAX")
_BASES = ("RBX", "RBP", "RSI", "RDI", *(f"R{n}" for n in range(8, 16)))


@dataclass(frozen=True)
class Form:
    """One form; `title` is the SDM's line with what distinguishes the form behind it."""

    code: int
    title: str
    mnemonic: str
    encoding: str
    """LEGACY, VEX or EVEX."""
    memory: bool
    mask: str = ""
    """Empty, ``merging`` or ``zeroing``."""
    broadcast: bool = False
    repeat: bool = False


@dataclass
class Written:
    """An instruction of a form: its bytes, and the registers that must hold given values for its address."""

    code: bytes
    registers: dict[int, int] = field(default_factory=dict)
    """Number of a general register to its value."""


def forms() -> Iterator[Form]:
    """Every form of every mnemonic that the table has a row for; of some it does not know the encoding."""
    lib = decode.iced().module
    for name, code in vars(lib.Code).items():
        if not isinstance(code, int) or name in _UNDEFINED:
            continue
        info = lib.OpCodeInfo(code)
        mnemonic = decode.iced().mnemonics[info.mnemonic].rstrip("_")
        if info.is_instruction and info.mode64 and _known(mnemonic) and not _outside(info):
            yield from _variants(info, code, mnemonic)


def _known(mnemonic: str) -> bool:
    rows = (semantics.TABLE, semantics.SCALARS, masks.OPERATIONS, masks.FLAGS, flow.SPECIAL)
    if any(mnemonic in table for table in rows):
        return True
    if mnemonic[:1] == "v" and mnemonic[1:] in semantics.TABLE:
        return True
    return any(
        mnemonic.removeprefix(p) in flow.CONDITIONS for p in ("cmov", "set", "j") if mnemonic.startswith(p)
    )


def _kinds(info: Any) -> list[str]:
    names = {v: n for n, v in vars(decode.iced().module.OpCodeOperandKind).items() if isinstance(v, int)}
    return [names[kind] for kind in info.op_kinds()]


def _encoding(info: Any) -> str:
    kinds = vars(decode.iced().module.EncodingKind).items()
    return next(name for name, value in kinds if isinstance(value, int) and value == info.encoding)


def _outside(info: Any) -> bool:
    if _encoding(info) not in ("LEGACY", "VEX", "EVEX"):
        return True
    return any(kind.startswith(_OUTSIDE) for kind in _kinds(info))


def _variants(info: Any, code: int, mnemonic: str) -> Iterator[Form]:
    kinds, encoding = _kinds(info), _encoding(info)
    may = any("OR_MEM" in kind for kind in kinds)
    must = any(kind in ("MEM", "MEM_OFFS") for kind in kinds)
    places = [(False, False)] if not must else []
    places += [(True, False)] * (may or must) + [(True, True)] * bool(info.can_broadcast)
    for memory, broadcast in places:
        for mask in _masks(info, memory and "MEM" in kinds[0]):
            for repeat in (False, True)[
                : 1 + bool(info.can_use_rep_prefix and mnemonic[:4] in ("movs", "stos"))
            ]:
                words = (
                    ["memory"] * memory + ["broadcast"] * broadcast + [mask] * bool(mask) + ["rep"] * repeat
                )
                title = info.instruction_string + (f" [{', '.join(words)}]" if words else "")
                yield Form(code, title, mnemonic, encoding, memory, mask, broadcast, repeat)


def _masks(info: Any, stores: bool) -> tuple[str, ...]:
    """A store merges only."""
    if not info.can_use_op_mask_register:
        return ("",)
    return ("", "merging", "zeroing") if info.can_use_zeroing_masking and not stores else ("", "merging")


class Writer:
    """Encodes forms at addresses; memory operands are at `target`, drawn by the random source `draw`."""

    def __init__(self, draw: random.Random) -> None:
        """Nothing is encoded yet."""
        self.draw, self.lib = draw, decode.iced().module
        self._encoder = self.lib.Encoder(64)

    def write(self, form: Form, address: int, target: int) -> Written | None:
        """The bytes of the form at `address`; None where no choice of registers can be encoded."""
        for _ in range(8):
            written = Written(b"")
            instruction = self._instruction(form, address, target, written)
            try:
                self._encoder.encode(instruction, address)
            except ValueError:
                self._encoder.take_buffer()
                continue
            written.code = bytes(self._encoder.take_buffer())
            return written
        return None

    def _instruction(self, form: Form, address: int, target: int, written: Written) -> Any:
        made, info = self.lib.Instruction(), self.lib.OpCodeInfo(form.code)
        made.code = form.code
        evex = form.encoding == "EVEX"
        for number, kind in enumerate(_kinds(info)):
            self._operand(made, number, kind, form, evex, (address, target), written)
        if form.mask:
            made.op_mask = self.lib.Register.K1 + self.draw.randrange(7)
            made.zeroing_masking = form.mask == "zeroing"
        if info.require_op_mask_register:
            made.op_mask = self.lib.Register.K1 + self.draw.randrange(7)
        made.is_broadcast = form.broadcast
        made.has_rep_prefix = form.repeat
        return made

    def _operand(
        self,
        made: Any,
        number: int,
        kind: str,
        form: Form,
        evex: bool,
        places: tuple[int, int],
        written: Written,
    ) -> None:
        op, lib = self.lib.OpKind, self.lib
        if kind in _IMMEDIATES:
            name, bits = _IMMEDIATES[kind]
            made.set_op_kind(number, getattr(op, name))
            made.set_immediate_i64(number, self._immediate(form, bits))
        elif kind == "IMM8_CONST_1":
            made.set_op_kind(number, op.IMMEDIATE8)
            made.immediate8 = 1
        elif kind.startswith("BR64"):
            made.set_op_kind(number, op.NEAR_BRANCH64)
            made.near_branch64 = places[0] + self.draw.randrange(-100, 100)
        elif kind in ("ES_RDI", "SEG_RSI"):
            made.set_op_kind(number, op.MEMORY_ESRDI if kind == "ES_RDI" else op.MEMORY_SEG_RSI)
            written.registers |= {6: places[1] + 256, 7: places[1]}
        elif form.memory and (kind in ("MEM", "MEM_OFFS") or "OR_MEM" in kind):
            made.set_op_kind(number, op.MEMORY)
            self._address(made, kind, places[1], written)
        else:
            made.set_op_kind(number, op.REGISTER)
            made.set_op_register(
                number, getattr(lib.Register, kind) if kind in _FIXED else self._register(kind, evex)
            )

    def _immediate(self, form: Form, bits: int) -> int:
        value = self.draw.choice(
            (0, 1, 7, 8, (1 << bits - 1) - 1, -1, -(1 << bits - 1), self.draw.getrandbits(bits))
        )
        if form.mnemonic in ("shld", "shrd"):
            value &= 15
        return value - (value >> bits - 1 << bits) if value >= 0 else value

    def _register(self, kind: str, evex: bool) -> int:
        family = kind.split("_")[0]
        lib, draw = self.lib.Register, self.draw
        if family in ("XMM", "YMM", "ZMM"):
            return int(getattr(lib, family + "0")) + draw.randrange(32 if evex else 16)
        if family == "K":
            return int(lib.K0) + draw.randrange(8)
        if family == "R8":
            return int(
                draw.choice(
                    (lib.AL, lib.CL, lib.DL, lib.BL, lib.AH, lib.CH, lib.DH, lib.BH, lib.DIL, lib.R9L)
                )
            )
        number = draw.choice([n for n in range(16) if n != 4])
        first = {"R16": lib.AX, "R32": lib.EAX, "R64": lib.RAX}[family]
        return int(first) + number

    def _address(self, made: Any, kind: str, target: int, written: Written) -> None:
        lib, draw = self.lib.Register, self.draw
        shape = draw.randrange(10)
        if kind == "MEM_OFFS" or shape == 0:
            made.memory_displacement, made.memory_displ_size = target, 8
            made.memory_base = lib.NONE if kind == "MEM_OFFS" else lib.RIP
            return
        narrow = shape == 1
        bits = 32 if narrow else 64
        base, index = draw.sample(_BASES, 2)
        displacement = draw.choice((0, 0, 64, -128, draw.randrange(-(1 << 31), 1 << 31)))
        scale, step = draw.choice((1, 2, 4, 8)), draw.getrandbits(bits)
        made.memory_base = self._named(base, narrow)
        made.memory_displacement = displacement % (1 << 64)
        made.memory_displ_size = 1 if displacement else 0
        value = target - displacement
        if shape < 6:
            made.memory_index, made.memory_index_scale = self._named(index, narrow), scale
            value -= step * scale
            written.registers[_number(index)] = step | (draw.getrandbits(32) << 32 if narrow else 0)
        written.registers[_number(base)] = value % (1 << bits) | (draw.getrandbits(32) << 32 if narrow else 0)

    def _named(self, name: str, narrow: bool) -> int:
        short = (name + "D" if name[1:].isdigit() else "E" + name[1:]) if narrow else name
        return int(getattr(self.lib.Register, short))


def _number(name: str) -> int:
    return GPR_NAMES.index(name.lower())
