"""x86-64 machine code as instructions with typed operands; iced-x86 does the decoding."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from aeskit.machine.errors import UnknownInstruction

if TYPE_CHECKING:
    from aeskit.machine.loader import Image

GPR_NAMES = ("rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi", *(f"r{n}" for n in range(8, 16)))
"""In the order of the encoding."""

THREAD, PROTECTOR = 0x2C59_0000, 0x28
"""Where fs points in a run, and behind it the word that the stack protector compares."""

LONGEST = 15
"""Bytes of the longest instruction (SDM volume 2, 2.3.11)."""


@dataclass(frozen=True)
class Vector:
    """xmm, ymm or zmm: `number` 0 to 31, `size` 16, 32 or 64 bytes."""

    number: int
    size: int


@dataclass(frozen=True)
class Mask:
    """k0 to k7."""

    number: int


@dataclass(frozen=True)
class Gpr:
    """A general register: `number` in the encoding's order, `size` in bytes, `shift` 8 for ah, ch, dh, bh."""

    number: int
    size: int
    shift: int = 0


@dataclass(frozen=True)
class Memory:
    """An address: base + index × scale + displacement; `size` in bytes, 0 where there is no access (lea)."""

    base: int | None
    index: int | None
    scale: int
    displacement: int
    size: int
    broadcast: int = 0
    """Bytes of the element that is repeated (EVEX broadcast), else 0."""
    bits32: bool = False
    """The address is computed in 32 bits."""


@dataclass(frozen=True)
class Immediate:
    """A constant, sign-extended to 64 bits where the instruction does."""

    value: int


@dataclass(frozen=True)
class Target:
    """Where a direct branch or call goes."""

    address: int


Operand = Vector | Mask | Gpr | Memory | Immediate | Target


@dataclass(frozen=True)
class Instruction:
    """One decoded instruction."""

    address: int
    size: int
    mnemonic: str
    """Lower case, Intel's name, never a pseudo-op."""
    operands: tuple[Operand, ...]
    encoding: str
    """legacy, VEX or EVEX."""
    mask: int
    """Number of the opmask register, 0 for none."""
    zeroing: bool
    code: bytes
    text: str
    """AT&T syntax, as a `.S` file spells it."""
    line: str
    """``file:line`` where the file has debug lines."""
    reads: tuple[str, ...]
    """Registers that it reads, by full name (zmm3, rax, k1, flags)."""
    writes: tuple[str, ...]
    features: tuple[str, ...]
    """CPUID features that the bytes need, in iced's names."""
    prefix: str = ""
    """rep or repne."""

    def where(self) -> str:
        """Mnemonic, address, bytes and line, for messages."""
        line = f" ({self.line})" if self.line else ""
        return f"{self.text} at {self.address:#x} [{self.code.hex(' ')}]{line}"

    @property
    def following(self) -> int:
        """The address behind it."""
        return self.address + self.size


class _Iced:
    """iced-x86 and its names, looked up once."""

    def __init__(self) -> None:
        import iced_x86  # its absence is no MachineError: that would be kept as a failed proof

        self.module = iced_x86
        self.mnemonics = _names(iced_x86.Mnemonic)
        self.features = _names(iced_x86.CpuidFeature)
        self.registers = _names(iced_x86.Register)
        self.information = iced_x86.InstructionInfoFactory()
        self.formatter = iced_x86.Formatter(iced_x86.FormatterSyntax.GAS)
        self.formatter.use_pseudo_ops = False
        self.formatter.hex_prefix, self.formatter.hex_suffix = "0x", ""
        self.formatter.uppercase_hex = self.formatter.branch_leading_zeros = False


@cache
def iced() -> _Iced:
    """The decoder library; ModuleNotFoundError where it is missing."""
    return _Iced()


def _names(constants: Any) -> dict[int, str]:
    return {v: n.lower() for n, v in vars(constants).items() if isinstance(v, int) and not n.startswith("_")}


def decode(image: Image, address: int) -> Instruction:
    """The instruction at `address`; LoadError where no code lies, UnknownInstruction for other bytes."""
    lib = iced()
    code = image.code_at(address, LONGEST)
    raw = lib.module.Decoder(64, code, ip=address).decode()
    if raw.is_invalid:
        raise UnknownInstruction(
            f"no instruction at {address:#x} [{code.hex(' ')}] {image.line_at(address)}".rstrip()
        )
    information = lib.information.info(raw)
    reads, writes = _registers(lib, information, raw)
    encoding = {0: "legacy", 1: "VEX", 2: "EVEX"}.get(raw.encoding, "other")
    return Instruction(
        address=address,
        size=raw.len,
        mnemonic=lib.mnemonics[raw.mnemonic].rstrip("_"),
        operands=tuple(_operand(lib, raw, number) for number in range(raw.op_count)),
        encoding=encoding,
        mask=_number(lib, raw.op_mask) if raw.op_mask else 0,
        zeroing=raw.zeroing_masking,
        code=code[: raw.len],
        text=lib.formatter.format(raw),
        line=image.line_at(address),
        reads=reads,
        writes=writes,
        features=tuple(lib.features[f] for f in raw.cpuid_features()),
        prefix="repne" if raw.has_repne_prefix else "rep" if raw.has_rep_prefix else "",
    )


def _number(lib: _Iced, register: int) -> int:
    return int(lib.module.RegisterExt.number(register))


def _registers(lib: _Iced, information: Any, raw: Any) -> tuple[tuple[str, ...], tuple[str, ...]]:
    access = lib.module.OpAccess
    reading = {access.READ, access.COND_READ, access.READ_WRITE, access.READ_COND_WRITE}
    writing = {access.WRITE, access.COND_WRITE, access.READ_WRITE, access.READ_COND_WRITE}
    full = lib.module.RegisterExt.full_register
    used = [(lib.registers[full(u.register)], u.access) for u in information.used_registers()]
    reads = [name for name, how in used if how in reading]
    writes = [name for name, how in used if how in writing]
    reads += ["flags"] if raw.rflags_read else []
    writes += ["flags"] if raw.rflags_modified else []
    return tuple(dict.fromkeys(reads)), tuple(dict.fromkeys(writes))


def _operand(lib: _Iced, raw: Any, number: int) -> Operand:
    kinds, kind = lib.module.OpKind, raw.op_kind(number)
    if kind == kinds.REGISTER:
        return _register(lib, raw.op_register(number))
    if kind in (kinds.NEAR_BRANCH16, kinds.NEAR_BRANCH32, kinds.NEAR_BRANCH64):
        return Target(raw.near_branch_target)
    if kind == kinds.MEMORY:
        return _memory(lib, raw)
    if kind in (kinds.MEMORY_SEG_RSI, kinds.MEMORY_ESRDI):
        if kind == kinds.MEMORY_SEG_RSI:
            _check_segment(lib, raw)
        base = 6 if kind == kinds.MEMORY_SEG_RSI else 7
        return Memory(base, None, 1, 0, lib.module.MemorySizeInfo(raw.memory_size).size)
    if kind >= kinds.IMMEDIATE8 and kind <= kinds.IMMEDIATE32TO64:
        return Immediate(raw.immediate(number))
    raise UnknownInstruction(
        f"{lib.formatter.format(raw)} at {raw.ip:#x}: operand {number} is of no known kind"
    )


def _register(lib: _Iced, register: int) -> Operand:
    ext = lib.module.RegisterExt
    if ext.is_vector_register(register):
        return Vector(_number(lib, register), ext.size(register))
    if ext.is_k(register):
        return Mask(_number(lib, register))
    if ext.is_gpr(register):
        full = GPR_NAMES.index(lib.registers[ext.full_register(register)])
        high = lib.registers[register] in ("ah", "ch", "dh", "bh")
        return Gpr(full, ext.size(register), 8 if high else 0)
    raise UnknownInstruction(f"register {lib.registers[register]} is not known to the lane machine")


def _check_segment(lib: _Iced, raw: Any) -> None:
    if raw.segment_prefix and lib.registers[raw.segment_prefix] in ("fs", "gs"):
        text = f"{lib.formatter.format(raw)} at {raw.ip:#x}: fs and gs are not known"
        raise UnknownInstruction(f"{text}, but for the stack protector's 8 bytes at %fs:{PROTECTOR:#x}")


def _is_protector(lib: _Iced, raw: Any, size: int) -> bool:
    """Whether it is the stack protector's word (System V AMD64 ABI: the thread's control block is at fs)."""
    if not raw.segment_prefix or lib.registers[raw.segment_prefix] != "fs" or size != 8:
        return False
    return not raw.memory_base and not raw.memory_index and raw.memory_displacement == PROTECTOR


def _memory(lib: _Iced, raw: Any) -> Memory:
    size = lib.module.MemorySizeInfo(raw.memory_size)
    if _is_protector(lib, raw, size.size):
        return Memory(None, None, 1, THREAD + PROTECTOR, 8)
    _check_segment(lib, raw)
    if raw.is_vsib:
        raise UnknownInstruction(f"{lib.formatter.format(raw)} at {raw.ip:#x}: gathers are not known")
    base, index, bits32 = raw.memory_base, raw.memory_index, False
    if raw.is_ip_rel_memory_operand:
        base = 0
    else:
        bits32 = any(r and lib.module.RegisterExt.is_gpr32(r) for r in (base, index))
    return Memory(
        base=_full(lib, base),
        index=_full(lib, index),
        scale=raw.memory_index_scale,
        displacement=raw.memory_displacement,
        size=size.size,
        broadcast=size.size if raw.is_broadcast else 0,
        bits32=bits32,
    )


def _full(lib: _Iced, register: int) -> int | None:
    return (
        GPR_NAMES.index(lib.registers[lib.module.RegisterExt.full_register(register)]) if register else None
    )
