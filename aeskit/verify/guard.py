"""Memory between two pages that nobody may touch: an access one byte beyond a buffer ends the process."""

from __future__ import annotations

import ctypes
import mmap
from typing import Any

from aeskit._native import ffi

PAGE = mmap.PAGESIZE

_libc = ctypes.CDLL(None, use_errno=True)
_libc.mprotect.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)

_NO_ACCESS = 0
"""PROT_NONE, which the module mmap does not name."""


class Arena:
    """At least `size` usable bytes, a guard page before and one after; zero at first."""

    def __init__(self, size: int) -> None:
        """Map the pages and close the outer two; OSError where the system refuses."""
        self.size = -(-size // PAGE) * PAGE
        self._map = mmap.mmap(-1, self.size + 2 * PAGE)
        whole = ffi.from_buffer(self._map)
        self.pointer: Any = ffi.cast("uint8_t *", whole) + PAGE
        """The first usable byte."""
        self.view = ffi.buffer(self.pointer, self.size)
        """The usable bytes: slices are copied out as bytes and assigned."""
        self._whole = whole
        address = int(ffi.cast("uintptr_t", whole))
        for guard in (address, address + PAGE + self.size):
            if _libc.mprotect(guard, PAGE, _NO_ACCESS):
                raise OSError(ctypes.get_errno(), "a guard page could not be closed")

    def place(self, edge: str, size: int, offset: int) -> int:
        """Where a buffer of `size` bytes begins: at an edge, or `offset` beyond 64 bytes from the start."""
        if edge == "end":
            return self.size - size
        return 0 if edge == "begin" else 64 + offset
