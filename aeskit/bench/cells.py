"""What is measured: an implementation at a key size and a message size, as a native call ready to run."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from aeskit import _native
from aeskit.bench.measure import Call, address
from aeskit.implementations import Implementation

PAGE = 4096
HALF_PAGE = PAGE // 2
"""How far the destination lies from the source modulo a page, so that loads and stores do not alias."""

STEALING = 3
XTS_FIRST = 1

ffi, lib = _native.ffi, _native.lib


@dataclass(frozen=True)
class Cell:
    """One place of the table: `implementation` with keys of `key_bits` on messages of `size` bytes."""

    implementation: Implementation
    key_bits: int
    size: int

    @property
    def runs(self) -> bool:
        """Whether the mode takes this size at all."""
        mode = self.implementation.mode
        whole = mode not in ("cbc", "ecb") or self.size % 16 == 0
        return whole and (self.size >= 16 or mode in ("ctr", "keys"))


class Workspace:
    """Source and destination for messages up to `size` bytes, page aligned, half a page apart."""

    def __init__(self, size: int) -> None:
        """Allocate both and fill the source with random bytes."""
        self._memory = ffi.new("uint8_t[]", 2 * size + 4 * PAGE)
        start = -int(ffi.cast("uintptr_t", self._memory)) % PAGE
        ffi.memmove(self._memory + start, os.urandom(size), size)
        self.source = _pointer(self._memory) + start
        self.destination = self.source + -(-size // PAGE) * PAGE + HALF_PAGE


def prepare(cell: Cell, space: Workspace) -> Call:
    """The native call of `cell` with a fresh random key and IV, over the buffers of `space`."""
    return _ARGUMENTS[cell.implementation.mode](cell, space)


def _message(cell: Cell, space: Workspace, context: Any, *more: int) -> Call:
    start = ffi.new("uint8_t[16]", os.urandom(16))
    arguments = (_pointer(context), space.source, space.destination, cell.size, _pointer(start), *more)
    return Call(address(cell.implementation.name), arguments, (context, start, space))


def _block_mode(cell: Cell, space: Workspace, *more: int) -> Call:
    context = ffi.new("struct aes_key *")
    _expand(context, cell.key_bits)
    return _message(cell, space, context, *more)


def _xts(cell: Cell, space: Workspace) -> Call:
    context = ffi.new("struct xts_key *")
    for half in ("tweak", "data"):
        _expand(ffi.addressof(context, half), cell.key_bits)
    return _message(cell, space, context, XTS_FIRST)


def _keys(cell: Cell, space: Workspace) -> Call:
    context = ffi.new("struct aes_key *")
    arguments = (_pointer(context), space.source, cell.key_bits // 8)
    return Call(address(cell.implementation.name), arguments, (context, space))


def _expand(context: Any, key_bits: int) -> None:
    lib.keys_expand_aesni(context, os.urandom(key_bits // 8), key_bits // 8)


def _pointer(data: Any) -> int:
    return int(ffi.cast("uintptr_t", data))


_ARGUMENTS: dict[str, Callable[[Cell, Workspace], Call]] = {
    "xts": _xts,
    "ctr": _block_mode,
    "cbc": _block_mode,
    "ecb": _block_mode,
    "cts": lambda cell, space: _block_mode(cell, space, STEALING),
    "keys": _keys,
}
