"""The state that every engine shares, and the machine's own, in the arrays of its domain."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

FLAG_BITS = {"cf": 0, "pf": 2, "af": 4, "zf": 6, "sf": 7, "of": 11}
"""Bits of RFLAGS (SDM volume 1, 3.4.3)."""


@dataclass
class Registers:
    """A snapshot in numbers: what two engines compare after an instruction."""

    v: NDArray[np.uint8] = field(default_factory=lambda: np.zeros((32, 64), np.uint8))
    """zmm0 to zmm31, 64 bytes each; an engine without AVX-512 leaves what it lacks 0."""
    k: list[int] = field(default_factory=lambda: [0] * 8)
    gpr: list[int] = field(default_factory=lambda: [0] * 16)
    """rax rcx rdx rbx rsp rbp rsi rdi r8 to r15."""
    rip: int = 0
    flags: int = 0
    """RFLAGS; af is not modelled by the lane machine."""


class State:
    """The machine's registers: `v` holds bytes of the domain; a general register an int or a tuple of 8 ids.

    A flag is 0 or 1; over GF(2) it may be an id of one varying bit, or an object saying what it depends on.
    """

    __slots__ = ("af", "cf", "gpr", "k", "of", "pf", "rip", "sf", "v", "zf")

    def __init__(self, dtype: Any = np.uint8) -> None:
        """All zero; `dtype` is the domain's."""
        self.v: NDArray[Any] = np.zeros((32, 64), dtype)
        self.k: list[int] = [0] * 8
        self.gpr: list[Any] = [0] * 16
        self.rip = 0
        self.cf: Any = 0
        self.pf: Any = 0
        self.af: Any = 0
        self.zf: Any = 0
        self.sf: Any = 0
        self.of: Any = 0

    def flags_word(self) -> int:
        """RFLAGS as far as it is modelled; bit 1 is always set. Flags that are no numbers read as 0."""
        values = {name: getattr(self, name) for name in FLAG_BITS}
        return 2 | sum(
            1 << bit for name, bit in FLAG_BITS.items() if values[name] is True or values[name] == 1
        )

    def set_flags(self, word: int) -> None:
        """Take the flags from an RFLAGS word."""
        for name, bit in FLAG_BITS.items():
            setattr(self, name, word >> bit & 1)
