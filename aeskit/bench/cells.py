"""What is measured: an implementation at a key size and a message size, as a native call ready to run."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from aeskit import _native
from aeskit.bench.measure import Call, address
from aeskit.implementations import Implementation, beside, choose
from aeskit.xts import native_way

PAGE = 4096
KEY, DESTINATION, IV = 960, 2048, 3072
"""Where keys, destination and IV begin in their pages; the source at 0. On many CPUs a load waits for an
earlier store with the same low 12 bits of the address; messages up to 1,024 bytes, so placed, have none."""

WORKLOADS = {"batch": 256, "in sequence": 1, "16 streams": 16, "IV encrypted": 1}
"""What else is done with messages than one a call, each with an IV of its own: how many a call. ``batch``:
consecutive XTS sectors, the IVs made together; ``in sequence``: one such sector a call; ``IV encrypted``: one
message whose tweak is ready, which shows what its IV costs."""

STEALING = 3
XTS_FIRST = 1

ffi, lib = _native.ffi, _native.lib


@dataclass(frozen=True)
class Cell:
    """One place of the table: `implementation` with keys of `key_bits` on messages of `size` bytes."""

    implementation: Implementation
    key_bits: int
    size: int
    workload: str = ""
    """What is done with messages of that size: one a call, or one of `WORKLOADS`."""

    @property
    def operation(self) -> str:
        """Mode, direction and workload: ``xts encrypt, batch``."""
        words = f"{family(self.implementation.mode)} {self.implementation.direction}"
        return f"{words}, {self.workload}" if self.workload else words

    @property
    def messages(self) -> int:
        """How many messages one call takes."""
        return WORKLOADS[self.workload] if self.workload else 1

    @property
    def runs(self) -> bool:
        """Whether the mode takes this size at all."""
        mode = self.implementation.mode
        whole = mode not in ("cbc", "cbc_streams", "ecb") or self.size % 16 == 0
        whole = whole and (mode != "xts_sectors" or self.size % 512 == 0)
        return whole and (self.size >= 16 or mode in ("ctr", "keys"))


def family(mode: str) -> str:
    """The mode whose messages, many at once, a mode of the registry takes: ``xts`` of ``xts_sectors``."""
    return mode.removesuffix("_streams").removesuffix("_sectors")


class Workspace:
    """Source and destination for messages up to `size` bytes."""

    def __init__(self, size: int) -> None:
        """Allocate both and fill the source with random bytes."""
        self._memory = placed("uint8_t *", 2 * size + 2 * PAGE, 0)
        self.source = pointer(self._memory.data)
        ffi.memmove(self._memory.data, os.urandom(size), size)
        self.destination = self.source + -(-size // PAGE) * PAGE + DESTINATION


@dataclass(frozen=True)
class Placed:
    """Memory with a chosen place in its page."""

    data: Any
    keep: Any


def placed(kind: str, size: int, offset: int) -> Placed:
    """Zeroed memory of `size` bytes as the C pointer type `kind`, `offset` bytes into a page."""
    memory = ffi.new("uint8_t[]", size + 2 * PAGE)
    start = -pointer(memory) % PAGE + offset
    return Placed(ffi.cast(kind, memory + start), memory)


def iv() -> Placed:
    """16 random bytes."""
    made = placed("uint8_t *", 16, IV)
    ffi.memmove(made.data, os.urandom(16), 16)
    return made


def pointer(data: Any) -> int:
    """The address of a C object, as an argument of a native call."""
    return int(ffi.cast("uintptr_t", data))


def prepare(cell: Cell, space: Workspace) -> Call:
    """The native call of `cell` with a fresh random key and IV, over the buffers of `space`."""
    make = _WORKLOADS.get(cell.workload) or _ARGUMENTS[cell.implementation.mode]
    return make(cell, space)


def _message(cell: Cell, space: Workspace, context: Placed, *more: int) -> Call:
    start = iv()
    arguments = (
        pointer(context.data),
        space.source,
        space.destination,
        cell.size,
        pointer(start.data),
        *more,
    )
    return Call(address(cell.implementation.name), arguments, (context, start, space))


def _block_mode(cell: Cell, space: Workspace, *more: int) -> Call:
    return _message(cell, space, aes_key(cell.key_bits), *more)


def aes_key(key_bits: int) -> Placed:
    """The schedule of a random key."""
    made = placed("struct aes_key *", ffi.sizeof("struct aes_key"), KEY)
    _expand(made.data, key_bits)
    return made


def xts_key(key_bits: int) -> Placed:
    """The schedules of two random keys."""
    made = placed("struct xts_key *", ffi.sizeof("struct xts_key"), KEY)
    _expand_both(made.data, key_bits)
    return made


def _expand_both(key: Any, key_bits: int) -> None:
    for half in ("tweak", "data"):
        _expand(ffi.addressof(key, half), key_bits)


def _xts(cell: Cell, space: Workspace) -> Call:
    return _message(cell, space, xts_key(cell.key_bits), XTS_FIRST)


def _ready(cell: Cell, space: Workspace) -> Call:
    return _message(cell, space, xts_key(cell.key_bits), 0)


def _streams(cell: Cell, space: Workspace) -> Call:
    key, ivs = aes_key(cell.key_bits), placed("uint8_t *", 16 * cell.messages, IV)
    buffers = (pointer(key.data), space.source, space.destination)
    arguments = (*buffers, cell.size, pointer(ivs.data), cell.messages)
    return Call(address(cell.implementation.name), arguments, (key, ivs, space))


def _batch(cell: Cell, space: Workspace) -> Call:
    return batch(cell, space.source, space.destination, cell.messages * cell.size, space)


def batch(cell: Cell, source: int, destination: int, length: int, keep: object) -> Call:
    """`length` bytes of sectors of the cell's size from one address to another, in `keep`."""
    bench, kept = _bench_xts(cell)
    return Call(address("bench_batch"), (bench, source, destination, length, cell.size), (kept, keep))


def _sequence(cell: Cell, space: Workspace) -> Call:
    bench, kept = _bench_xts(cell)
    return Call(address("bench_sequence"), (bench, space.source, space.destination, cell.size), (kept, space))


def _bench_xts(cell: Cell) -> tuple[int, object]:
    """The `struct bench_xts` of a cell, and what is to be kept for it."""
    row = cell.implementation
    unit, sectors = beside(row, "xts"), beside(row, "xts_sectors") if row.mode == "xts_sectors" else None
    cipher = placed("struct xts_cipher *", ffi.sizeof("struct xts_cipher"), KEY)
    _expand_both(ffi.addressof(cipher.data, "key"), cell.key_bits)
    cipher.data.encrypt_ivs = choose("ecb", "encrypt", force=row.instruction_set).function
    cipher.data.limit = cell.size
    bench = ffi.new("struct bench_xts *", (cipher.data, native_way(unit, sectors), 0))
    return pointer(bench), (bench, cipher)


def _keys(cell: Cell, space: Workspace) -> Call:
    made = placed("struct aes_key *", ffi.sizeof("struct aes_key"), KEY)
    arguments = (pointer(made.data), space.source, cell.key_bits // 8)
    return Call(address(cell.implementation.name), arguments, (made, space))


def _expand(context: Any, key_bits: int) -> None:
    lib.keys_expand_aesni(context, os.urandom(key_bits // 8), key_bits // 8)


_WORKLOADS: dict[str, Callable[[Cell, Workspace], Call]] = {
    "batch": _batch,
    "in sequence": _sequence,
    "IV encrypted": _ready,
}

_ARGUMENTS: dict[str, Callable[[Cell, Workspace], Call]] = {
    "xts": _xts,
    "ctr": _block_mode,
    "cbc": _block_mode,
    "cbc_streams": _streams,
    "ecb": _block_mode,
    "cts": lambda cell, space: _block_mode(cell, space, STEALING),
    "keys": _keys,
}
