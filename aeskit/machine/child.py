"""The child process of `silicon`: its program, the memory shared with it, regions as its pages."""

from __future__ import annotations

import mmap
import os
import struct
from collections.abc import Iterator

from aeskit._native import ffi, lib
from aeskit.machine.decode import THREAD
from aeskit.machine.errors import MachineError
from aeskit.machine.loader import PROTECTOR
from aeskit.machine.memory import Region

PAGE = 4096
STUB = 0x6FFF_0000_0000
"""Where the child's own three bytes are mapped, behind the headers of its file."""
CODE = b"\x0f\x05\xcc"  # syscall; int3
HEADERS = 64 + 56  # an ELF header and one program header

_MMAP, _MUNMAP, _SETITIMER, _ARCH_PRCTL = 9, 11, 38, 158  # system call numbers of x86-64
_SET_FS = 0x1002
_VIRTUAL = 1  # ITIMER_VIRTUAL: its own time alone
_SHARED, _FIXED_NOREPLACE = 0x01, 0x100000
_READ, _WRITE, _EXECUTE = 1, 2, 4


class SiliconError(MachineError):
    """This CPU cannot be single-stepped here; the text says why."""


def program() -> bytes:
    """The child's ELF file: one segment with CODE in it (System V ABI, chapters 4 and 5)."""
    size = HEADERS + len(CODE)
    head = struct.pack("<16s", b"\x7fELF\x02\x01\x01")
    head += struct.pack("<HHIQQQIHHHHHH", 2, 62, 1, STUB + HEADERS, 64, 0, 0, 64, 56, 1, 0, 0, 0)
    return head + struct.pack("<IIQQQQQQ", 1, _READ | _EXECUTE, 0, STUB, STUB, size, size, PAGE) + CODE


class Child:
    """A stopped process with the regions mapped, and nothing else but its three bytes."""

    def __init__(self, regions: list[Region]) -> None:
        """Start it and copy the regions in; SiliconError where that is not allowed."""
        self.process = 0
        self._pages = _pages(regions)
        self._size = max(len(self._pages), 1) * PAGE
        memory = _file("aeskit", bytes(self._size))
        try:
            self._map = mmap.mmap(memory, self._size)
            self._start(memory)
            self._unmap_all()
            self._share(_rights(regions), memory)
        except BaseException:
            self.end()
            raise
        finally:
            os.close(memory)
        for region in regions:
            self.write(region.address, bytes(region.data.astype("u1")))
            if region.name == PROTECTOR:
                self._call(_ARCH_PRCTL, _SET_FS, THREAD)

    def end(self) -> None:
        """Kill it; what it left in memory can still be read."""
        process, self.process = self.process, 0
        if process:
            lib.silicon_end(process)

    def read(self, address: int, size: int) -> bytes:
        """Bytes of its memory; MachineError where none is mapped."""
        return b"".join(self._map[at : at + n] for at, n in self._pieces(address, size))

    def write(self, address: int, data: bytes) -> None:
        """Change its memory, code included, so that the next step does not report it."""
        done = 0
        for at, n in self._pieces(address, len(data)):
            self._map[at : at + n] = self._before[at : at + n] = data[done : done + n]
            done += n

    def place(self, address: int) -> int:
        """Where in the shared memory an address of the child lies; MachineError where none is mapped."""
        return next(self._pieces(address, 1))[0]

    def tick(self, milliseconds: int, place: int) -> None:
        """Send it SIGVTALRM whenever it has run so long by itself; at `place` 32 bytes are used."""
        self.write(place, struct.pack("<QQQQ", *2 * (0, 1000 * milliseconds)))
        self._call(_SETITIMER, _VIRTUAL, place)

    def cpu_seconds(self) -> float:
        """What it has used so far of a CPU, to about 10 ms (proc(5), utime and stime)."""
        try:
            with open(f"/proc/{self.process}/stat", encoding="ascii") as file:
                fields = file.read().rpartition(")")[2].split()
        except OSError:
            return 0.0
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def _start(self, memory: int) -> None:
        file = _file("aeskit-stub", program())
        try:
            result = lib.silicon_start(file, memory)
        finally:
            os.close(file)
        if result < 0:
            raise SiliconError(f"single-stepping is not possible here: {os.strerror(-result)} (ptrace)")
        self.process = int(result)

    def _unmap_all(self) -> None:
        with open(f"/proc/{self.process}/maps", encoding="ascii") as lines:
            maps = [line.split()[0].split("-") for line in lines]
        for begin, end in ((int(a, 16), int(b, 16)) for a, b in maps):
            if begin != STUB and end < 1 << 47:
                self._call(_MUNMAP, begin, end - begin)

    def _share(self, rights: dict[int, str], memory: int) -> None:
        """Map each stretch of pages of the same rights, and describe them to the native part.

        `memory` is the number of the shared file, which is the child's too.
        """
        runs = _runs(rights)
        self._before = bytearray(self._size)
        ranges = ffi.new("struct silicon_range[]", max(len(runs), 1))
        for number, (first, count) in enumerate(runs):
            wanted, offset = rights[first], self._pages[first] * PAGE
            protection = _READ | _WRITE * ("w" in wanted) | _EXECUTE * ("x" in wanted)
            flags = _SHARED | _FIXED_NOREPLACE
            self._call(_MMAP, first * PAGE, count * PAGE, protection, flags, memory, offset)
            ranges[number] = (first * PAGE, offset, count * PAGE, "w" in wanted)
        self._keep = (ffi.from_buffer(self._map), ffi.from_buffer(self._before), ranges)
        self.shared = ffi.new("struct silicon_memory *", (*self._keep, len(runs)))
        self.writable = sum(count * PAGE for first, count in runs if "w" in rights[first])
        """Bytes of the pages that it can write."""

    def _call(self, number: int, *arguments: int) -> None:
        given = ffi.new("uint64_t[6]", [*arguments, *(0,) * (6 - len(arguments))])
        result = lib.silicon_system_call(self.process, STUB + HEADERS, number, given)
        if -4096 < result < 0:
            what = {_MMAP: "mapped", _MUNMAP: "unmapped"}.get(number, "used")
            raise SiliconError(f"{arguments[0]:#x} cannot be {what} in the child: {os.strerror(-result)}")

    def _pieces(self, address: int, size: int) -> Iterator[tuple[int, int]]:
        at, end = address, address + size
        while at < end:
            page, inside = divmod(at, PAGE)
            if page not in self._pages:
                raise MachineError(f"no memory is mapped at {at:#x}")
            count = min(PAGE - inside, end - at)
            yield self._pages[page] * PAGE + inside, count
            at += count


def _file(name: str, data: bytes) -> int:
    try:
        file = os.memfd_create(name)
    except (AttributeError, OSError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise SiliconError(f"single-stepping needs Linux with memfd_create: {why}") from None
    os.write(file, data)
    return file


def _pages(regions: list[Region]) -> dict[int, int]:
    """Page number in the child to page number in the shared memory."""
    touched = {page for r in regions for page in range(r.address // PAGE, -(-r.end // PAGE))}
    return {page: number for number, page in enumerate(sorted(touched))}


def _rights(regions: list[Region]) -> dict[int, str]:
    """Page number to rights; regions that share a page add theirs up."""
    rights: dict[int, str] = {}
    for region in regions:
        for page in range(region.address // PAGE, -(-region.end // PAGE)):
            rights[page] = "".join(sorted({*rights.get(page, ""), *region.permissions}))
    return dict(sorted(rights.items()))


def _runs(rights: dict[int, str]) -> list[tuple[int, int]]:
    """Stretches of neighbouring pages of the same rights: the first page and their count."""
    runs: list[tuple[int, int]] = []
    for page, wanted in rights.items():
        if runs and page == sum(runs[-1]) and wanted == rights[runs[-1][0]]:
            runs[-1] = (runs[-1][0], runs[-1][1] + 1)
        else:
            runs.append((page, 1))
    return runs
