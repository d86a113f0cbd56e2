"""Memory as named regions: each a byte array with an address and permissions; nothing lies between them."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aeskit.machine.errors import MachineError, MemoryFault

Bytes = NDArray[np.generic]
"""uint8 in the numbers domain, int64 ids of `gf2.Expressions` in the symbolic one."""

UNREAD = 1 << 60
"""Ids of the symbolic domain from here on are of no expression: looking one up fails."""


@dataclass
class Region:
    """Bytes at an address: a buffer of the caller, a section of the file, the stack."""

    name: str
    address: int
    data: Bytes
    permissions: str = "rw"
    """Some of r, w and x."""
    refuse: Callable[[int, int], str] | None = None
    """Why (address, size) within it must not be touched all the same; empty where it may."""
    constant: bool = False
    """Whether it is the same in every run."""
    fill: Callable[[int, int], None] | None = None
    """Makes (offset, size) of the data before it is read."""

    @property
    def end(self) -> int:
        """The address behind the last byte."""
        return self.address + len(self.data)


class Memory:
    """Regions that do not overlap; an access must lie within one."""

    def __init__(self, regions: list[Region] | None = None) -> None:
        """Start with `regions`; MachineError if two overlap."""
        self.regions: list[Region] = []
        self._starts: list[int] = []
        self.log: list[tuple[str, int, Bytes]] | None = None
        """Where set to a list: every access, as (r or w, address, bytes)."""
        self.hidden: dict[int, Bytes] | None = None
        """By a region's address: what `UNREAD` stands for in it until it is read."""
        for region in regions or []:
            self.add(region)

    def add(self, region: Region) -> Region:
        """Place a region; MachineError if it overlaps one that is there."""
        at = bisect_right(self._starts, region.address)
        for other in self.regions[max(at - 1, 0) : at + 1]:
            if other.address < region.end and region.address < other.end:
                raise MachineError(f"region {region.name} overlaps {other.name}")
        self.regions.insert(at, region)
        self._starts.insert(at, region.address)
        return region

    def replace(self, regions: list[Region]) -> None:
        """These regions and no others."""
        self.regions.clear()
        self._starts.clear()
        for region in regions:
            self.add(region)

    def region(self, name: str) -> Region:
        """The region of a name."""
        return next(region for region in self.regions if region.name == name)

    def regions_from(self, address: int) -> list[Region]:
        """The regions at and above an address that runs may change or see changed, upwards."""
        return [r for r in self.regions[bisect_right(self._starts, address - 1) :] if not r.constant]

    def find(self, kind: str, address: int, size: int) -> tuple[Region, int]:
        """The region that holds `size` bytes at `address` and the offset in it; MemoryFault if none does."""
        at = bisect_right(self._starts, address) - 1
        if at >= 0:
            region = self.regions[at]
            if address + size <= region.end:
                if kind[0] not in region.permissions.replace("x", "e"):
                    raise MemoryFault(kind, address, size, f"{region.name} permits {region.permissions} only")
                if region.refuse is not None and (reason := region.refuse(address, size)):
                    raise MemoryFault(kind, address, size, reason)
                return region, address - region.address
        raise MemoryFault(kind, address, size, self._nearest(address, size))

    def read(self, address: int, size: int) -> Bytes:
        """A copy of `size` bytes at `address`."""
        region, offset = self.find("read", address, size)
        if region.fill is not None:
            region.fill(offset, size)
        if self.hidden is not None and region.address in self.hidden:
            here = slice(offset, offset + size)
            show(region.data[here], self.hidden[region.address][here])
        data = region.data[offset : offset + size].copy()
        if self.log is not None:
            self.log.append(("r", address, data))
        return data

    def write(self, address: int, data: Bytes) -> None:
        """Store bytes of the domain at `address`."""
        region, offset = self.find("write", address, len(data))
        region.data[offset : offset + len(data)] = data
        if self.log is not None:
            self.log.append(("w", address, np.array(data)))

    def read_masked(self, address: int, mask: NDArray[np.bool_]) -> Bytes:
        """Bytes at `address` where `mask` is set, 0 elsewhere; only those are touched."""
        if mask.all():
            return self.read(address, len(mask))
        dtype = self.regions[0].data.dtype if self.regions else np.dtype(np.uint8)
        out = np.zeros(len(mask), dtype)
        for start, end in runs(mask):
            out[start:end] = self.read(address + start, end - start)
        return out

    def write_masked(self, address: int, data: Bytes, mask: NDArray[np.bool_]) -> None:
        """Store the bytes whose `mask` is set; only those are touched."""
        for start, end in runs(mask):
            self.write(address + start, data[start:end])

    def write_merged(self, address: int, data: Bytes, mask: NDArray[np.bool_]) -> None:
        """The same with all of them touched: those whose `mask` is clear are stored as they were."""
        region, offset = self.find("write", address, len(data))
        self.write(address, np.where(mask, data, region.data[offset : offset + len(data)]))

    def _nearest(self, address: int, size: int) -> str:
        if not self.regions:
            return "there is no memory"
        gaps = [(max(r.address - address - size, address - r.end), r) for r in self.regions]
        _, near = min(gaps, key=lambda item: item[0])
        where = f"{near.name} is {near.address:#x} to {near.end - 1:#x}"
        if address >= near.end:
            gap = f"{address - near.end} bytes" if address > near.end else "the first bytes"
            return f"{gap} past the end of {near.name}; {where}"
        if address + size > near.end > address >= near.address:
            return f"{address + size - near.end} bytes past the end of {near.name}; {where}"
        return f"{near.address - address} bytes before {near.name}; {where}"


def show(data: NDArray[Any], kept: NDArray[Any]) -> bool:
    """Put what is kept in the place of `UNREAD`; whether there was any."""
    unread = data >= UNREAD
    if not unread.any():
        return False
    np.copyto(data, kept, where=unread)
    return True


def runs(mask: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """Where a mask is set, as (begin, end)."""
    edges = np.flatnonzero(np.diff(np.concatenate(([0], mask.astype(np.int8), [0]))))
    return [(int(a), int(b)) for a, b in zip(edges[::2], edges[1::2], strict=True)]
