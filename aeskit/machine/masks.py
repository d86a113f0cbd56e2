"""Mask registers k0 to k7: ints of up to 64 bits, in both domains."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from aeskit.machine.errors import SecretDependence
from aeskit.machine.semantics import Array, Kind, family


class UnsetMask:
    """A mask register that nothing has set: using it is an error."""

    def _refuse(self, *other: Any) -> Any:
        raise SecretDependence("a mask register is used that was never set")

    __and__ = __rand__ = __or__ = __ror__ = __xor__ = __rxor__ = __add__ = __invert__ = __lshift__ = _refuse


BITS = {"b": 8, "w": 16, "d": 32, "q": 64}

OPERATIONS: dict[str, tuple[int, Callable[..., int]]] = {}
"""Name to (bits of the operation, function of ints and the immediate)."""


def _enter(pattern: str, function: Callable[[int], Callable[..., int]]) -> None:
    for letter, bits in BITS.items():
        OPERATIONS[pattern.format(letter)] = (bits, function(bits))


# DEST[n−1:0] := SRC1 OP SRC2, the rest 0
_enter("kand{}", lambda n: lambda a, b: a & b)
_enter("kor{}", lambda n: lambda a, b: a | b)
_enter("kxor{}", lambda n: lambda a, b: a ^ b)
_enter("kxnor{}", lambda n: lambda a, b: ~(a ^ b))
_enter("kandn{}", lambda n: lambda a, b: ~a & b)
_enter("kadd{}", lambda n: lambda a, b: a + b)
_enter("knot{}", lambda n: lambda a: ~a)
_enter("kmov{}", lambda n: lambda a: a)
# DEST := SRC << imm8, >> imm8; 0 where imm8 exceeds n − 1
_enter("kshiftl{}", lambda n: lambda a, imm: a << imm if imm < n else 0)
_enter("kshiftr{}", lambda n: lambda a, imm: (a & (1 << n) - 1) >> imm if imm < n else 0)
# DEST := SRC1[n/2−1:0] : SRC2[n/2−1:0]
for _name, _half in (("kunpckbw", 8), ("kunpckwd", 16), ("kunpckdq", 32)):
    OPERATIONS[_name] = (2 * _half, lambda a, b, h=_half: (a & (1 << h) - 1) << h | b & (1 << h) - 1)

FLAGS: dict[str, tuple[int, Callable[[int, int, int], tuple[int, int]]]] = {}
"""Name to (bits, function to (zf, cf)); the other flags are cleared."""

for _letter, _bits in BITS.items():
    # ZF := (SRC1 OR SRC2) = 0; CF := (SRC1 OR SRC2) all ones
    FLAGS[f"kortest{_letter}"] = (_bits, lambda a, b, full: ((a | b) == 0, (a | b) == full))
    # ZF := (SRC1 AND SRC2) = 0; CF := (NOT SRC1 AND SRC2) = 0
    FLAGS[f"ktest{_letter}"] = (_bits, lambda a, b, full: ((a & b) == 0, (~a & b & full) == 0))


# k[i] := top bit of SRC[i]
@family("pmov{}2m", "bwdq", kind=Kind.COMPARE, arity=1, to_mask=True)
def pmov2m(size: int) -> Callable[[Array], Array]:
    """The signs."""
    return lambda a: (a[..., size - 1 :: size] >> 7).astype(np.bool_).reshape(-1)
