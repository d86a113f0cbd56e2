"""Mutants: a function's code with one instruction changed, re-encoded in place by iced-x86.

A mutant never moves code: what is shorter is filled up with nops, what is longer is left out and counted.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from aeskit.machine import stand_ins
from aeskit.machine.decode import LONGEST, iced
from aeskit.machine.errors import LoadError
from aeskit.machine.loader import Image

NOP = b"\x90"
KINDS = ("opcode", "register", "immediate", "displacement", "dropped", "condition")

FAMILIES = tuple(
    line.split()
    for line in """
    VAESENC VAESENCLAST VAESDEC VAESDECLAST
    AESENC AESENCLAST AESDEC AESDECLAST
    VPXOR VPAND VPOR VPANDN
    VPXORD VPANDD VPORD VPANDND
    VPXORQ VPANDQ VPORQ VPANDNQ
    PXOR PAND POR PANDN
    VPADDB VPADDW VPADDD VPADDQ VPSUBQ
    PADDB PADDW PADDD PADDQ PSUBQ
    VPSLLD VPSRLD VPSRAD
    VPSLLQ VPSRLQ
    PSLLQ PSRLQ
    VPSLLVQ VPSRLVQ
    VPSLLDQ VPSRLDQ
    PSLLDQ PSRLDQ
    VPUNPCKLQDQ VPUNPCKHQDQ
    PUNPCKLQDQ PUNPCKHQDQ
    VPCMPEQB VPCMPEQD VPCMPEQQ VPCMPGTB VPCMPGTD
    VMOVDQU VMOVDQA
    VMOVDQU64 VMOVDQA64
    MOVDQU MOVDQA
    VPBROADCASTQ VPBROADCASTD
    VPTERNLOGD VPTERNLOGQ
    ADD SUB ADC SBB AND OR XOR
    SHL SHR SAR ROL
    INC DEC
    NEG NOT
    MOVZX MOVSX
    KXORW KANDW KORW
    KSHIFTRW KSHIFTLW
    JB JBE
    JAE JA
    JE JBE
    JNE JA
    JL JLE
    JGE JG
    """.strip().splitlines()
)
"""Mnemonics that take each other's place where the operands allow."""

BITS = 8
"""Low bits of an immediate that are flipped, one at a time; of a small number the top one too."""
SHIFTS = (1, 16)
"""Bytes added to a displacement: the next byte, the next block."""


@dataclass(frozen=True, slots=True)
class Mutant:
    """`code` takes the place of the bytes at `address`; both have one length."""

    address: int
    code: bytes
    kind: str
    """One of KINDS."""
    before: str
    """AT&T syntax."""
    after: str
    place: str
    """``symbol+0x12``."""

    @property
    def title(self) -> str:
        """Place, and what became what."""
        return f"{self.place}: {self.before}  →  {self.after}"


@dataclass(frozen=True)
class Made:
    """Every mutant of a function, and how many do not fit in place or have no encoding."""

    mutants: tuple[Mutant, ...]
    skipped: int
    instructions: int
    others: tuple[str, ...] = ()
    """Functions that it calls or goes to, whose instructions were changed too."""


def every(image: Image, function: str, visited: Iterable[int] = ()) -> Made:
    """All mutants of a function, and of what else its runs visit: `visited` are addresses of instructions.

    LoadError where the function's size is not known or its bytes are no code.
    """
    found: list[Mutant] = []
    skipped = count = 0
    outside = _outside(image, function, visited)
    for raw in [*_instructions(image, function), *(_decoded(image, address) for address in outside)]:
        count += 1
        known = {image.code_at(raw.ip, raw.len)}
        for kind, changed in _changes(raw):
            code = encode(changed, raw)
            if code is None:
                skipped += 1
            elif code not in known:
                known.add(code)
                found.append(_mutant(image, raw, kind, changed, code))
    others = dict.fromkeys(image.label_at(address).partition("+")[0] for address in outside)
    return Made(tuple(found), skipped, count, tuple(others))


def _extent(image: Image, function: str) -> tuple[int, int]:
    """Where a function begins, and its bytes."""
    size = image.functions.get(function, 0)
    if not size:
        raise LoadError(f"{image.name} does not say where {function} ends: its symbol needs .type and .size")
    return image.address_of(function), size


def _instructions(image: Image, function: str) -> Iterator[Any]:
    start, size = _extent(image, function)
    for raw in iced().module.Decoder(64, image.code_at(start, size), ip=start):
        if raw.is_invalid:
            raise LoadError(f"{function} holds bytes at {raw.ip:#x} that are no instruction")
        yield raw


def _outside(image: Image, function: str, visited: Iterable[int]) -> list[int]:
    """What is visited of other functions; not what stands in for those of others."""
    start, size = _extent(image, function)
    ours = [section for section in image.sections if section.address != stand_ins.ADDRESS]
    return sorted(
        address
        for address in visited
        if not start <= address < start + size and any(s.address <= address < s.end for s in ours)
    )


def _decoded(image: Image, address: int) -> Any:
    return iced().module.Decoder(64, image.code_at(address, LONGEST), ip=address).decode()


def patched(image: Image, mutant: Mutant) -> Image:
    """A copy of the image with the mutant's bytes."""
    sections = [replace(section, data=bytearray(section.data)) for section in image.sections]
    changed = replace(image, sections=sections)
    put(changed, mutant.address, mutant.code)
    return changed


def put(image: Image, address: int, code: bytes) -> bytes:
    """Change bytes of an image, in place; gives back what was there."""
    for section in image.sections:
        if section.address <= address < section.end and "x" in section.permissions:
            at = address - section.address
            before = bytes(section.data[at : at + len(code)])
            section.data[at : at + len(code)] = code
            return before
    raise LoadError(f"no code at {address:#x} in {image.name}")


def encode(changed: Any, raw: Any) -> bytes | None:
    """The changed instruction in the room of the old one; None where it has no encoding or no room."""
    if changed is None:
        return NOP * int(raw.len)
    encoder = iced().module.Encoder(64)
    try:
        encoder.encode(changed, raw.ip)
    except ValueError:
        return None
    code = bytes(encoder.take_buffer())
    return code.ljust(raw.len, NOP) if len(code) <= raw.len else None


def _mutant(image: Image, raw: Any, kind: str, changed: Any, code: bytes) -> Mutant:
    text = iced().formatter.format
    after = "nothing" if changed is None else text(changed)
    return Mutant(raw.ip, code, kind, text(raw), after, image.label_at(raw.ip))


def _changes(raw: Any) -> Iterator[tuple[str, Any]]:
    """Kind and changed instruction; None for a dropped one."""
    mnemonic = iced().mnemonics[raw.mnemonic]
    if mnemonic.startswith(("endbr", "nop", "ret")):
        return
    yield from (("opcode", changed) for changed in _opcodes(raw))
    yield from (("register", changed) for changed in _registers(raw))
    yield from (("immediate", changed) for changed in _immediates(raw))
    yield from (("displacement", changed) for changed in _displacements(raw))
    yield "dropped", None
    if raw.condition_code:
        changed = copy.copy(raw)
        changed.negate_condition_code()
        yield "condition", changed


@cache
def _codes() -> tuple[dict[int, str], dict[str, int]]:
    numbers = {n: v for n, v in vars(iced().module.Code).items() if isinstance(v, int) and n[0] != "_"}
    return {v: n for n, v in numbers.items()}, numbers


@cache
def _relatives() -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for family in FAMILIES:
        for name in family:
            found[name] = (*found.get(name, ()), *(other for other in family if other != name))
    return found


def _opcodes(raw: Any) -> Iterator[Any]:
    """The same operands under another opcode: iced names a code by mnemonic and operand kinds."""
    names, numbers = _codes()
    words = names[raw.code].split("_")
    at = 1 if words[0] in ("VEX", "EVEX") else 0
    for other in _relatives().get(words[at], ()):
        number = numbers.get("_".join([*words[:at], other, *words[at + 1 :]]))
        if number is not None:
            changed = copy.copy(raw)
            changed.code = number
            yield changed


def _neighbour(register: int) -> int:
    """The register whose number differs in the lowest bit: it never needs a longer prefix."""
    ext = iced().module.RegisterExt
    number, base = ext.number(register), register - ext.number(register)
    return int(base + ((number ^ 1) or 2 if ext.is_k(register) else number ^ 1))


def _registers(raw: Any) -> Iterator[Any]:
    lib = iced()
    ext, kinds = lib.module.RegisterExt, lib.module.OpKind
    for operand in range(raw.op_count):
        if raw.op_kind(operand) == kinds.REGISTER and _known(ext, raw.op_register(operand)):
            changed = copy.copy(raw)
            changed.set_op_register(operand, _neighbour(raw.op_register(operand)))
            yield changed
    for name in ("memory_base", "memory_index", "op_mask"):
        register = getattr(raw, name)
        if register and _known(ext, register):
            changed = copy.copy(raw)
            setattr(changed, name, _neighbour(register))
            yield changed


def _known(ext: Any, register: int) -> bool:
    return bool(ext.is_vector_register(register) or ext.is_k(register) or ext.is_gpr(register))


@cache
def _widths() -> dict[int, int]:
    """Kinds of immediates to the bits that are encoded."""
    kinds = iced().module.OpKind
    names = ("IMMEDIATE8", "IMMEDIATE8_2ND", "IMMEDIATE8TO16", "IMMEDIATE8TO32", "IMMEDIATE8TO64")
    wide = {"IMMEDIATE16": 16, "IMMEDIATE32": 32, "IMMEDIATE32TO64": 32, "IMMEDIATE64": 64}
    return {getattr(kinds, name): bits for name, bits in (*((n, 8) for n in names), *wide.items())}


def _immediates(raw: Any) -> Iterator[Any]:
    for operand in range(raw.op_count):
        width = _widths().get(raw.op_kind(operand))
        if width is None:
            continue
        value = raw.immediate(operand) & ((1 << width) - 1)
        bits = {*range(min(BITS, width)), max(value.bit_length() - 1, 0) if value < 1 << 16 else 0}
        for bit in sorted(bits):
            flipped = value ^ 1 << bit
            signed = flipped - (1 << width) if flipped >> (width - 1) else flipped
            changed = copy.copy(raw)
            changed.set_immediate_i64(operand, signed)
            yield changed


def _displacements(raw: Any) -> Iterator[Any]:
    kinds = iced().module.OpKind
    if any(raw.op_kind(operand) == kinds.MEMORY for operand in range(raw.op_count)):
        for shift in SHIFTS:
            changed = copy.copy(raw)
            changed.memory_displacement = (raw.memory_displacement + shift) % (1 << 64)
            yield changed
