"""The machine where it stands at a loop's head, and in what two such states differ."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aeskit.contracts import Buffer
from aeskit.machine.decode import GPR_NAMES


@dataclass
class Arrival:
    """What a run left when it stood at the head."""

    gpr: list[Any]
    v: NDArray[Any]
    k: list[Any]
    stack: NDArray[Any]
    regions: dict[str, tuple[int, NDArray[Any]]]

    def value(self, name: str, from_bytes: Callable[[Any], Any]) -> Any:
        """A general register, or a word of the stack as `stack 3`; None for anything else."""
        if name in GPR_NAMES:
            return self.gpr[GPR_NAMES.index(name)]
        if not name.startswith("stack "):
            return None
        at = 8 * int(name.split()[1])
        return from_bytes(self.stack[at : at + 8])


def wanted(buffer: Buffer) -> Any:
    """What a buffer must hold after the call."""
    return buffer.data if buffer.expected is None else buffer.expected


def differences(one: Arrival, two: Arrival, moving: set[str]) -> Iterator[str]:
    """Registers that differ, dwords of vector registers, and buffers as ``[name]`` but for those `moving`."""
    for name, (_, data) in one.regions.items():
        if name not in moving and (data != two.regions[name][1]).any():
            yield f"[{name}]"
    for at in np.unique(np.flatnonzero(one.stack != two.stack) // 8):
        yield f"stack {at}"
    for number, name in enumerate(GPR_NAMES):
        if one.gpr[number] != two.gpr[number]:
            yield name
    dwords = (one.v != two.v).reshape(32, 16, 4).any(-1)
    yield from (f"zmm{number}[{dword}]" for number, dword in np.argwhere(dwords))
    for number in range(8):
        x, y = one.k[number], two.k[number]
        if (isinstance(x, int) or isinstance(y, int)) and x is not y and x != y:
            yield f"k{number}"
