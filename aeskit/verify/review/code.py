"""What the bytes of a function say without running: its instructions, and questions that they answer."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from aeskit.cpu import FEATURES
from aeskit.machine import decode as d
from aeskit.machine.errors import MachineError
from aeskit.machine.loader import Image
from aeskit.printed import one_of

MOST = 40_000
"""Instructions of one function: more is data taken for code."""
ENDBR64 = bytes.fromhex("f30f1efa")

_ENDS = {"ret", "retf", "jmp", "ud2", "hlt", "int3"}
_UNALIGNED = {"movups", "movupd", "movdqu", "lddqu", "pcmpistri", "pcmpistrm", "pcmpestri", "pcmpestrm"}
_UNALIGNED |= {"maskmovdqu"}
_ALIGNED = re.compile(r"v?(movaps|movapd|movdqa(32|64)?|movntps|movntpd|movntdq|movntdqa)")

# Names of iced-x86 that differ from CPUID's in more than case, and what every x86-64 has.
_NAMES = {"sse4_1": "SSE4.1", "sse4_2": "SSE4.2"}
_BASELINE = re.compile(r"intel\d+(_only)?|intel8086(_only)?|x64|cmov|sse2?|fpu\d*|multibytenop|cet_ibt|pause")
WORDS = {
    "aesni": ("AES",),
    "avx": ("AVX",),
    "avx2": ("AVX", "AVX2"),
    "vaes": ("VAES", "VPCLMULQDQ", "AES", "AVX"),
    "avx10": ("AVX512F", "AVX512BW", "AVX512VL"),
    "avx512": ("AVX512F", "AVX512BW", "AVX512VL"),
    "ssse3": ("SSSE3",),
}
"""Words of a symbol to the features that they declare."""


@dataclass(frozen=True)
class Code:
    """The instructions that a function can reach, by address."""

    image: Image
    symbol: str
    instructions: dict[int, d.Instruction]
    problems: tuple[str, ...] = ()
    """Why some were not found: a jump that only a run resolves, bytes that are none."""

    @cached_property
    def entry(self) -> int:
        """The address of the first instruction."""
        return self.image.address_of(self.symbol)

    @cached_property
    def size(self) -> int:
        """Bytes of instructions."""
        return sum(instruction.size for instruction in self.instructions.values())

    @cached_property
    def inside(self) -> set[int]:
        """Addresses from the entry on that are the symbol's, or behind one of its instructions."""
        ends = {i.following for i in self.instructions.values()}
        own = range(self.entry, self.entry + self.image.functions.get(self.symbol, 0))
        return {*own, *(at for at in {*self.instructions, *ends} if at >= self.entry)}

    @cached_property
    def features(self) -> tuple[str, ...]:
        """CPU features that the bytes need beyond what every x86-64 has, by CPUID's names."""
        found = {name for i in self.instructions.values() for name in i.features}
        named = {_NAMES.get(name, name.upper()) for name in found if not _BASELINE.fullmatch(name)}
        order = {name: number for number, name in enumerate(FEATURES)}
        return tuple(sorted(named, key=lambda name: (order.get(name, len(order)), name)))

    def first_of(self, feature: str) -> d.Instruction:
        """The first instruction that needs a feature."""
        wanted = (i for _, i in sorted(self.instructions.items()))
        return next(i for i in wanted if feature in {_NAMES.get(name, name.upper()) for name in i.features})

    @cached_property
    def aligned(self) -> list[d.Instruction]:
        """Instructions that fault where their memory is not at a multiple of its size."""
        return [i for _, i in sorted(self.instructions.items()) if needs_alignment(i)]

    @cached_property
    def landing_pad(self) -> bool:
        """Whether it begins with endbr64."""
        return self.image.code_at(self.entry, 4) == ENDBR64

    @cached_property
    def indirect(self) -> list[d.Instruction]:
        """Jumps and calls through a register or memory."""
        return [i for i in self.instructions.values() if is_indirect(i)]

    def with_mnemonic(self, *names: str) -> list[d.Instruction]:
        """The instructions of these mnemonics."""
        return [i for _, i in sorted(self.instructions.items()) if i.mnemonic in names]


def is_indirect(instruction: d.Instruction) -> bool:
    """Whether it is a jump or call whose target only a run knows."""
    return instruction.mnemonic in ("jmp", "call") and not isinstance(instruction.operands[0], d.Target)


def needs_alignment(instruction: d.Instruction) -> bool:
    """Whether it faults on memory that is not at a multiple of its size (SDM volume 1, 4.1.1 and 14.9)."""
    memory = [o for o in instruction.operands if isinstance(o, d.Memory) and o.size >= 16]
    if not memory:
        return False
    if instruction.encoding == "legacy":
        vectors = any(isinstance(o, d.Vector) for o in instruction.operands)
        return vectors and instruction.mnemonic not in _UNALIGNED
    return _ALIGNED.fullmatch(instruction.mnemonic) is not None


def read(image: Image, symbol: str, ran: Iterable[int] = ()) -> Code:
    """The instructions from the entry on, through branches and direct calls; `ran` are further addresses.

    Where a jump's target is known to a run only, all of the symbol's bytes are taken as code.
    """
    found: dict[int, d.Instruction] = {}
    problems: list[str] = []
    start = image.address_of(symbol)
    _follow(image, [start, *ran], found, problems)
    if any(is_indirect(i) for i in found.values()):
        _sweep(image, start, image.functions.get(symbol, 0), found, problems)
    if len(found) >= MOST:
        problems.append(f"more than {MOST:,} instructions: the rest is not read")
    return Code(image, symbol, found, tuple(dict.fromkeys(problems)))


def _follow(image: Image, todo: list[int], found: dict[int, d.Instruction], problems: list[str]) -> None:
    while todo and len(found) < MOST:
        address = todo.pop()
        while address not in found and len(found) < MOST:
            try:
                instruction = found[address] = d.decode(image, address)
            except MachineError as error:
                problems.append(str(error))
                break
            todo += [o.address for o in instruction.operands if isinstance(o, d.Target)]
            if instruction.mnemonic in _ENDS:
                break
            address = instruction.following


def _sweep(image: Image, start: int, size: int, found: dict[int, d.Instruction], problems: list[str]) -> None:
    """Decode a symbol's bytes one behind the other; it ends where they are no instructions."""
    if not size:
        problems.append("the symbol has no size: code behind a jump through a register may be missing")
    address = start
    while address < start + size and len(found) < MOST:
        try:
            instruction = d.decode(image, address)
        except MachineError as error:
            problems.append(str(error))
            return
        found.setdefault(address, instruction)
        _follow(image, [o.address for o in instruction.operands if isinstance(o, d.Target)], found, problems)
        address = instruction.following


_SPELT = {"AESNI": "AES", "PCLMUL": "PCLMULQDQ", "VPCLMUL": "VPCLMULQDQ"}
"""Other names of features in common use, without their marks."""


def features_named(words: Iterable[str]) -> tuple[str, ...]:
    """CPU features as they are named here, from ``sse4_1``, ``AES-NI`` and the like; ValueError for none."""
    from iced_x86 import CpuidFeature

    decoded = (_NAMES.get(name.lower(), name) for name in vars(CpuidFeature) if name.isupper())
    known = {_plain(name): name for name in (*decoded, *FEATURES)}
    found = []
    for word in words:
        plain = _SPELT.get(_plain(word), _plain(word))
        if plain not in known:
            raise ValueError(one_of("declared feature", word, FEATURES))
        found.append(known[plain])
    return tuple(dict.fromkeys(found))


def _plain(name: str) -> str:
    return re.sub(r"[^A-Z0-9]", "", name.upper())


def declared(symbol: str) -> tuple[str, ...]:
    """Features that a symbol's words declare; empty where it has no such word."""
    words = symbol.lower().split("_")
    return tuple(dict.fromkeys(name for word in words for name in WORDS.get(word, ())))


def declares(symbol: str) -> bool:
    """Whether a symbol has a word that declares features."""
    return any(word in WORDS for word in symbol.lower().split("_"))


IMPLIED = {
    "AVX2": ("AVX", "SSSE3", "SSE4.1", "SSE4.2"),
    "AVX512F": ("AVX2", "AVX", "SSSE3", "SSE4.1", "SSE4.2"),
    "AVX": ("SSSE3", "SSE4.1", "SSE4.2"),
    "AES": ("SSSE3", "SSE4.1", "SSE4.2"),
    "VAES": ("AES", "AVX"),
}
"""What no CPU with the feature lacks."""


def covered(declared_features: Iterable[str]) -> set[str]:
    """Features that are declared, and what they imply."""
    todo, known = list(declared_features), set()
    while todo:
        name = todo.pop()
        if name not in known:
            known.add(name)
            todo += IMPLIED.get(name, ())
    return known


def lines_of(instructions: Iterable[d.Instruction], most: int = 6) -> Iterator[str]:
    """Where instructions stand, the first few of them."""
    every = list(instructions)
    for instruction in every[:most]:
        yield instruction.where()
    if len(every) > most:
        yield f"and {len(every) - most} more"
