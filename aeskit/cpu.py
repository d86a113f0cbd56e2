"""What the CPU has and the operating system has enabled, as the vendors' feature names.

A `CPU` is a plain value: tests and "what would be chosen there" build other machines' by hand.
"""

from __future__ import annotations

import platform
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from aeskit import _native

Identify = Callable[[int, int], tuple[int, int, int, int]]
"""CPUID: a leaf and a subleaf to eax, ebx, ecx, edx."""

_EAX, _EBX, _ECX, _EDX = range(4)

# Name: leaf, register, bit (Intel SDM vol. 2A, CPUID; AMD APM vol. 3, appendix E).
_BITS = {
    "SSE2": (1, _EDX, 26),
    "PCLMULQDQ": (1, _ECX, 1),
    "SSSE3": (1, _ECX, 9),
    "SSE4.1": (1, _ECX, 19),
    "MOVBE": (1, _ECX, 22),
    "AES": (1, _ECX, 25),
    "AVX": (1, _ECX, 28),
    "BMI1": (7, _EBX, 3),
    "AVX2": (7, _EBX, 5),
    "BMI2": (7, _EBX, 8),
    "AVX512F": (7, _EBX, 16),
    "AVX512DQ": (7, _EBX, 17),
    "AVX512BW": (7, _EBX, 30),
    "AVX512VL": (7, _EBX, 31),
    "AVX512VBMI": (7, _ECX, 1),
    "GFNI": (7, _ECX, 8),
    "VAES": (7, _ECX, 9),
    "VPCLMULQDQ": (7, _ECX, 10),
}
FEATURES = tuple(_BITS)
"""Every feature name that `CPU.features` can hold."""

_AVX_STATE = 0b110
"""XCR0: xmm and the upper halves of ymm (SDM vol. 1, 13.3)."""
_AVX512_STATE = 0b1110_0110
"""XCR0: the same, the mask registers, the upper halves of zmm0-15, and zmm16-31."""

# Intel family 6 models whose clock drops under 512-bit code: Skylake-X (and its successors of one model
# number), Ice Lake X, D, client, L, NNPI, Tiger Lake L and client.
_DROPS_CLOCK = frozenset({0x55, 0x6A, 0x6C, 0x7D, 0x7E, 0x9D, 0x8C, 0x8D})


@dataclass(frozen=True)
class CPU:
    """A processor as a program may use it."""

    name: str
    vendor: str = ""
    """As CPUID spells it: ``GenuineIntel``, ``AuthenticAMD``; empty on another architecture."""
    family: int = 0
    model: int = 0
    stepping: int = 0
    features: frozenset[str] = frozenset()
    """Names of `FEATURES` that can be used."""
    disabled: frozenset[str] = frozenset()
    """Names that the CPU has but whose register state the operating system has not enabled."""

    @property
    def drops_clock(self) -> bool:
        """Whether 512-bit code lowers this CPU's clock, so that 256-bit code should be preferred."""
        return self.vendor == "GenuineIntel" and self.family == 6 and self.model in _DROPS_CLOCK

    def missing(self, needs: tuple[str, ...]) -> tuple[str, ...]:
        """Those of the features `needs` that cannot be used here, in the order given."""
        return tuple(name for name in needs if name not in self.features)

    def explain(self, missing: tuple[str, ...]) -> str:
        """Name missing features, and say of which the operating system holds back the state."""
        note = " (not enabled by the operating system)"
        return ", ".join(name + note * (name in self.disabled) for name in missing)


@cache
def detect() -> CPU:
    """The CPU that runs this process."""
    return from_cpuid(_identify, _native.lib.cpu_enabled_state())


def from_cpuid(identify: Identify, enabled_state: int) -> CPU:
    """The CPU that CPUID and XCR0 (0 without XGETBV) describe."""
    highest, *vendor = identify(0, 0)
    if not highest:
        return CPU(name=platform.processor() or platform.machine() or "unknown")
    version = identify(1, 0)
    leaves = {1: version, 7: identify(7, 0) if highest >= 7 else (0, 0, 0, 0)}
    present = {name for name, (leaf, register, bit) in _BITS.items() if leaves[leaf][register] >> bit & 1}
    disabled = frozenset(name for name in present if not _has_state(name, enabled_state))
    family, model, stepping = _signature(version[_EAX])
    return CPU(
        name=_brand(identify),
        vendor=_text(vendor[0], vendor[2], vendor[1]),
        family=family,
        model=model,
        stepping=stepping,
        features=frozenset(present - disabled),
        disabled=disabled,
    )


def _has_state(feature: str, enabled: int) -> bool:
    if feature.startswith("AVX512"):
        return enabled & _AVX512_STATE == _AVX512_STATE
    if feature in ("AVX", "AVX2", "VAES", "VPCLMULQDQ"):
        return enabled & _AVX_STATE == _AVX_STATE
    return True


def _signature(eax: int) -> tuple[int, int, int]:
    """Family, model and stepping; the extended fields count as the SDM's CPUID page says."""
    family, model, stepping = eax >> 8 & 15, eax >> 4 & 15, eax & 15
    if family in (6, 15):
        model |= (eax >> 16 & 15) << 4
    if family == 15:
        family += eax >> 20 & 255
    return family, model, stepping


def _brand(identify: Identify) -> str:
    if identify(0x8000_0000, 0)[_EAX] < 0x8000_0004:
        return "unknown"
    text = "".join(_text(*identify(leaf, 0)) for leaf in range(0x8000_0002, 0x8000_0005))
    return " ".join(text.split()) or "unknown"


def _text(*registers: int) -> str:
    raw = b"".join(value.to_bytes(4, "little") for value in registers)
    return raw.rstrip(b"\0").decode("ascii", "replace").replace("\0", "")


def _identify(leaf: int, subleaf: int) -> tuple[int, int, int, int]:
    registers = _native.ffi.new("uint32_t[4]")
    _native.lib.cpu_identify(leaf, subleaf, registers)
    eax, ebx, ecx, edx = registers
    return eax, ebx, ecx, edx
