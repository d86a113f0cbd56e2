"""The registry: one row an implementation; what a CPU can run, what should run, what is chosen.

*can* is a matter of features, *should* a preference: of those that can run, the highest is chosen. A
preference of 1 means "only when asked for by name".
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from aeskit import _native
from aeskit.cpu import CPU, detect

VARIABLE = "AESKIT_IMPLEMENTATION"
"""The environment variable that forces a choice: an instruction set, or a full name for its mode alone."""

ONLY_BY_NAME = 1
"""The preference of an implementation that can run but should not."""


class UnknownImplementation(ValueError):
    """A name that no implementation and no instruction set has, or one of another mode."""


class MissingFeature(ValueError):
    """An implementation that this CPU cannot run, or that this build does not hold."""


@dataclass(frozen=True)
class Implementation:
    """One native function: ``xts_encrypt_vaes_avx512_512``."""

    name: str
    mode: str
    """``xts``, ``xts_sectors`` (XTS, sectors in a row), ``ctr``, ``cbc``, ``cbc_streams`` (CBC, many
    messages at once), ``cts`` (CBC with ciphertext stealing), ``ecb`` or ``keys``."""
    direction: str
    """``encrypt``, ``decrypt``; ``crypt`` where both are one; ``expand`` for keys."""
    instruction_set: str
    vl: int
    """Bytes of the registers that it uses."""
    needs: tuple[str, ...]
    """Feature names as in `cpu.FEATURES`."""
    preference: int
    """Of two that can run, the higher; see `should`."""

    @property
    def built(self) -> bool:
        """Whether the native core of this build holds the function."""
        return hasattr(_native.lib, self.name)

    @property
    def function(self) -> Any:
        """The native function's pointer, as core.c takes it; MissingFeature where it is not built."""
        if not self.built:
            raise MissingFeature(f"{self.name} is not built here")
        return _native.ffi.addressof(_native.lib, self.name)

    def can(self, cpu: CPU) -> tuple[str, ...]:
        """Give the features that `cpu` lacks for it; empty where it can run."""
        return cpu.missing(self.needs)

    def should(self, cpu: CPU) -> int:
        """Its preference on `cpu`: `ONLY_BY_NAME` for 512-bit code where that lowers the clock."""
        return ONLY_BY_NAME if self.vl == 64 and cpu.drops_clock else self.preference


_AVX = ("AES", "AVX")
_VAES = (*_AVX, "VAES", "VPCLMULQDQ", "AVX2")
_AVX512 = (*_VAES, "AVX512F", "AVX512BW", "AVX512VL", "BMI2")

# Instruction set: VL in bytes, needs, preference.
_SETS = {
    "aesni": (16, ("AES",), 400),
    "aesni_avx": (16, _AVX, 500),
    "vaes_avx2": (32, _VAES, 600),
    "vaes_avx512_256": (32, _AVX512, 700),
    "vaes_avx512_512": (64, _AVX512, 800),
}
_WIDE = ("aesni_avx", "vaes_avx2", "vaes_avx512_256", "vaes_avx512_512")

_EVEX = ("vaes_avx512_256", "vaes_avx512_512")

# Mode, direction, instruction sets. Encryption of one CBC chain is serial: wider registers have no use there.
# Sectors in a row need 32 registers: sixteen hold neither the tweaks nor the round keys beside the blocks.
_ROWS = (
    ("keys", "expand", ("aesni",)),
    ("xts", "encrypt", _WIDE),
    ("xts", "decrypt", _WIDE),
    ("xts_sectors", "encrypt", _EVEX),
    ("xts_sectors", "decrypt", _EVEX),
    ("ctr", "crypt", _WIDE),
    ("cbc", "encrypt", ("aesni_avx",)),
    ("cbc", "decrypt", _WIDE),
    ("cbc_streams", "encrypt", _WIDE),
    ("cts", "encrypt", ("aesni_avx",)),
    ("cts", "decrypt", _WIDE),
    ("ecb", "encrypt", _WIDE),
    ("ecb", "decrypt", _WIDE),
)

ALL = tuple(
    Implementation(f"{mode}_{direction}_{name}", mode, direction, name, *_SETS[name])
    for mode, direction, names in _ROWS
    for name in names
)
"""Every implementation, built here or not."""

INSTRUCTION_SETS = _WIDE
"""The names that a choice can be forced to besides an implementation's own."""


def named(name: str) -> Implementation:
    """The implementation of that full name; UnknownImplementation with those of a like name."""
    for implementation in ALL:
        if implementation.name == name:
            return implementation
    like = get_close_matches(name, [row.name for row in ALL])
    hint = f"is it {' or '.join(like)}?" if like else "`aeskit info` lists them"
    raise UnknownImplementation(f"there is no implementation {name[:60]!r}: {hint}")


def requested() -> str | None:
    """What AESKIT_IMPLEMENTATION asks for; None where it is unset or empty."""
    return os.environ.get(VARIABLE) or None


def choose(mode: str, direction: str, cpu: CPU | None = None, force: str | None = None) -> Implementation:
    """The implementation to run for `mode` and `direction` on `cpu` (this one by default).

    Without `force`: of those built here that `cpu` can run, the one of the highest preference. With it:

    - a full name of this mode and direction: that one;
    - a full name of this mode in the other direction counts as its instruction set, so that one name does
      for a whole Cipher, and so does one of CBC for CBC with stealing; one of another mode is refused;
    - an instruction set: that one, or where the mode has no such set (CBC encryption) the best there is.

    UnknownImplementation and MissingFeature (both ValueError) say what is known and what is missing.
    """
    cpu = cpu or detect()
    rows = [row for row in ALL if (row.mode, row.direction) == (mode, direction)]
    if not rows:
        raise ValueError(f"there is no mode {mode!r} with a direction {direction!r}")
    forced = _forced(rows, force) if force is not None else None
    return _usable(forced, cpu) if forced else _best(rows, cpu)


def for_cipher(mode: str, *directions: str, implementation: str | None) -> tuple[Implementation, ...]:
    """Choose for each direction: as `implementation` says, else AESKIT_IMPLEMENTATION, else the best."""
    force = for_mode(mode, requested()) if implementation is None else implementation
    return tuple(choose(mode, direction, force=force) for direction in directions)


def for_mode(mode: str, force: str | None) -> str | None:
    """`force` as AESKIT_IMPLEMENTATION says it for all modes: a full name is for its own mode alone."""
    row = next((row for row in ALL if row.name == force), None)
    return None if row and _family(row.mode) != _family(mode) else force


def _family(mode: str) -> str:
    """CBC with ciphertext stealing is CBC to who uses it."""
    return "cbc" if mode == "cts" else mode


def beside(implementation: Implementation, mode: str) -> Implementation | None:
    """That of another mode in the same direction and instruction set; None where none is built."""
    wanted = mode, implementation.direction, implementation.instruction_set
    found = (row for row in ALL if (row.mode, row.direction, row.instruction_set) == wanted)
    return next((row for row in found if row.built), None)


def _forced(rows: list[Implementation], force: str) -> Implementation | None:
    """The row that `force` names; None where it names an instruction set that these rows do not have."""
    if not isinstance(force, str):
        raise TypeError(f"implementation must be a name, not {type(force).__name__}")
    instruction_set = force
    if force not in INSTRUCTION_SETS:
        mode = rows[0].mode
        wanted = next((row for row in ALL if row.name == force), None)
        if wanted is None:
            raise _unknown(force, [row for row in ALL if row.mode == mode])
        if _family(wanted.mode) != _family(mode):
            raise UnknownImplementation(f"{force} is an implementation of {wanted.mode}, not of {mode}")
        instruction_set = wanted.instruction_set
    return next((row for row in rows if row.instruction_set == instruction_set), None)


def _usable(row: Implementation, cpu: CPU) -> Implementation:
    if not row.built:
        raise MissingFeature(f"{row.name} is not built here")
    if missing := row.can(cpu):
        raise MissingFeature(f"{row.name} needs {cpu.explain(missing)}: missing on this CPU ({cpu.name})")
    return row


def _best(rows: list[Implementation], cpu: CPU) -> Implementation:
    usable = [row for row in rows if row.built and not row.can(cpu)]
    if not usable:
        return _usable(min(rows, key=lambda row: len(row.can(cpu))), cpu)
    return max(usable, key=lambda row: row.should(cpu))


def _unknown(name: str, rows: Iterable[Implementation]) -> UnknownImplementation:
    names = ", ".join((*INSTRUCTION_SETS, *(row.name for row in rows)))
    return UnknownImplementation(f"there is no implementation {name!r}; known are {names}")
