"""Guest memory of the emulated CPU: pages behind four-level page tables."""

from __future__ import annotations

import ctypes
import mmap
import weakref
from itertools import count

from aeskit.machine.bochs.library import EmulatorError, library

PAGE = 4096
PRESENT, WRITABLE, USER = 1, 2, 4

# Physical pages are never used twice: the CPU keeps decoded code by physical address.
# They start at 4 GiB, above the addresses of devices.
_physical_pages = count(1 << 32, PAGE)


def _forget(physical: list[int]) -> None:
    """Take pages out of the library's table of physical pages."""
    for page in physical:
        library().bochscpu_mem_page_remove(ctypes.c_uint64(page))


def _new_pages(number: int) -> list[tuple[int, memoryview]]:
    """Return zeroed pages: the physical address and the 4096 bytes of each."""
    block = mmap.mmap(-1, number * PAGE)
    host = ctypes.addressof(ctypes.c_char.from_buffer(block))
    pages = [next(_physical_pages) for _ in range(number)]
    for index, page in enumerate(pages):
        pointer = ctypes.c_void_p(host + index * PAGE)
        library().bochscpu_mem_page_insert(ctypes.c_uint64(page), pointer)
    weakref.finalize(block, _forget, pages)
    view = memoryview(block)
    return [(page, view[i * PAGE : (i + 1) * PAGE]) for i, page in enumerate(pages)]


class Memory:
    """One address space.  `root` is the physical address of its page tables (CR3)."""

    def __init__(self) -> None:
        """Make a space with nothing mapped."""
        self._pages: dict[int, memoryview] = {}  # virtual address of a page -> bytes
        self._tables: dict[int, memoryview] = {}  # physical address -> 512 entries
        self.root = self._new_table()

    def _new_table(self) -> int:
        """Return the physical address of a new, empty table."""
        [(physical, view)] = _new_pages(1)
        self._tables[physical] = view.cast("Q")
        return physical

    def _set_entry(self, page: int, entry: int) -> None:
        """Write the page table entry of a virtual page."""
        table = self._tables[self.root]
        for shift in (39, 30, 21):
            index = page >> shift & 511
            if not table[index]:
                table[index] = self._new_table() | PRESENT | WRITABLE | USER
            table = self._tables[table[index] & -PAGE]
        table[page >> 12 & 511] = entry

    def map(self, address: int, data: bytes, writable: bool = True) -> None:
        """Put bytes at an address and make every page they touch accessible.

        Bytes of those pages outside `data` keep their value, 0 if new.  Code
        may read and execute the pages, and write them if `writable`.  Raises
        EmulatorError outside the lower half of the 48-bit address space.
        """
        end = address + len(data)
        if address < PAGE or end > 1 << 47:
            raise EmulatorError(f"cannot map {len(data)} bytes at {address:#x}")
        if not data:
            return
        virtual = range(address & -PAGE, end, PAGE)
        for page, (physical, view) in zip(virtual, _new_pages(len(virtual)), strict=True):
            view[:] = self._pages.get(page, bytes(PAGE))
            self._pages[page] = view
            self._set_entry(page, physical | PRESENT | USER | (WRITABLE if writable else 0))
        self.write(address, data)

    def write(self, address: int, data: bytes) -> None:
        """Change mapped bytes (for data: changed code needs `map`).

        Raises EmulatorError where a page is not mapped.
        """
        done = 0
        for piece in self._pieces(address, len(data)):
            piece[:] = data[done : done + len(piece)]
            done += len(piece)

    def read(self, address: int, size: int) -> bytes:
        """Return `size` mapped bytes; EmulatorError where a page is not mapped."""
        return b"".join(self._pieces(address, size))

    def _pieces(self, address: int, size: int) -> list[memoryview]:
        """Return a stretch of memory as views into its pages, in order."""
        pieces = []
        for page in range(address & -PAGE, address + size, PAGE):
            if page not in self._pages:
                raise EmulatorError(f"no memory at {max(page, address):#x}", address=page)
            first = max(address - page, 0)
            pieces.append(self._pages[page][first : address + size - page])
        return pieces
