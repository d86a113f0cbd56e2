"""CPUs other than the one at hand, as plain values."""

import pytest

from aeskit import implementations as registry
from aeskit.cpu import CPU, detect

_AVX = {"SSE2", "SSSE3", "SSE4.1", "PCLMULQDQ", "AES", "AVX"}
_AVX2 = _AVX | {"AVX2", "BMI1", "BMI2", "MOVBE"}
_VAES = _AVX2 | {"VAES", "VPCLMULQDQ"}
_AVX512 = {"AVX512F", "AVX512DQ", "AVX512BW", "AVX512VL"}

NO_AES = CPU("no AES", "GenuineIntel", 6, 0x17, features=frozenset({"SSE2", "SSSE3", "SSE4.1"}))
NO_AVX = CPU("no AVX", "GenuineIntel", 6, 0x25, features=frozenset(_AVX - {"AVX"}))
SKYLAKE_X = CPU("Skylake-X", "GenuineIntel", 6, 0x55, features=frozenset(_AVX2 | _AVX512))
ICE_LAKE_X = CPU("Ice Lake-X", "GenuineIntel", 6, 0x6A, features=frozenset(_VAES | _AVX512))
SAPPHIRE_RAPIDS = CPU("Sapphire Rapids", "GenuineIntel", 6, 0x8F, features=frozenset(_VAES | _AVX512))
ZEN_3 = CPU("Zen 3", "AuthenticAMD", 0x19, 0x21, features=frozenset(_VAES))
ZEN_4 = CPU("Zen 4", "AuthenticAMD", 0x19, 0x61, features=frozenset(_VAES | _AVX512))
NO_ZMM_STATE = CPU(
    "Zen 4, no zmm", "AuthenticAMD", 0x19, 0x61, features=frozenset(_VAES), disabled=frozenset(_AVX512)
)


def runnable(*modes: str) -> list[str]:
    """Instruction sets that this CPU can run in one of the modes."""
    rows = [row for row in registry.ALL if row.mode in modes]
    return sorted({row.instruction_set for row in rows if row.built and not row.can(detect())})


def every(mode: str) -> list:
    """A mode's instruction sets as parameters; a skip says what is missing where one cannot run."""
    return [pytest.param(name, marks=_skips(mode, name)) for name in registry.INSTRUCTION_SETS]


def _skips(mode: str, name: str) -> list:
    row = next(row for row in registry.ALL if (row.mode, row.instruction_set) == (mode, name))
    missing = detect().explain(row.can(detect()))
    reason = f"{mode} {name} needs {missing}" if missing else f"{mode} {name} is not built here"
    return [] if row.built and not missing else [pytest.mark.skip(reason=reason)]
