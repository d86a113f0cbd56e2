"""State of the emulated CPU: 64-bit user mode and the registers a program sees."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Mapping
from functools import cache

from aeskit.machine.bochs import library as bochs
from aeskit.machine.bochs.library import CPU, JUMP
from aeskit.machine.bochs.memory import Memory
from aeskit.machine.decode import THREAD

GENERAL = ("rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi", *(f"r{i}" for i in range(8, 16)))
VECTORS = [f"zmm{i}" for i in range(32)]
MASKS = [f"k{i}" for i in range(8)]
BITS = dict.fromkeys([*GENERAL, "rip", *MASKS], 64) | dict.fromkeys(VECTORS, 512)
BITS |= {"rflags": 32, "mxcsr": 32}
START = dict.fromkeys(BITS, 0) | {"rflags": 2, "mxcsr": 0x1F80}

CR0, CR4, EFER, XCR0 = 0x8005_0033, 0x4_0620, 0xD01, 0xE7  # paging, SSE to AVX-512, long mode
FS = 4
SEGMENTS = {1: (0x33, 0xA0FB)} | dict.fromkeys((0, 2, 3, 4, 5), (0x2B, 0xC0F3))  # ring 3


def set_system(root: int) -> None:
    """Put the CPU in 64-bit user mode with the page tables at `root`; empties its TLB."""
    lib = bochs.library()
    for number, (selector, attributes) in SEGMENTS.items():
        base = ctypes.c_uint64(THREAD if number == FS else 0)
        lib.cpu_set_seg(CPU, number, 1, selector, base, 0xFFFF_FFFF, attributes)
    lib.cpu_set_cr0(CPU, CR0)
    lib.cpu_set_cr3(CPU, ctypes.c_uint64(root))
    lib.cpu_set_cr4(CPU, ctypes.c_uint64(CR4))
    lib.cpu_set_xcr0(CPU, XCR0)
    lib.cpu_set_efer(CPU, EFER)
    lib.cpu_set_mode(CPU)


def _set_scalars(values: Mapping[str, int]) -> None:
    """Load the general registers, rip, rflags and mxcsr."""
    lib = bochs.library()
    for index, name in enumerate(GENERAL):
        lib.cpu_set_reg64(CPU, index, ctypes.c_uint64(values[name]))
    lib.cpu_set_sp(CPU, ctypes.c_uint64(values["rsp"]))
    lib.cpu_set_pc(CPU, ctypes.c_uint64(values["rip"]))
    lib.cpu_set_eflags(CPU, values["rflags"])
    lib.cpu_set_mxcsr(CPU, values["mxcsr"])


def _get_scalars() -> dict[str, int]:
    """Read the general registers, rip, rflags and mxcsr."""
    lib = bochs.library()
    values = {name: lib.cpu_get_reg64(CPU, index) for index, name in enumerate(GENERAL)}
    lib._ZN8BX_CPU_C11force_flagsEv(ctypes.c_void_p(bochs.cpu_address()))  # they are lazy
    values["rip"] = lib.cpu_get_pc(CPU)
    values["rflags"] = lib.cpu_get_eflags(CPU)
    values["mxcsr"] = lib.cpu_get_mxcsr(CPU)
    return values


@cache
def _register_files() -> tuple[ctypes.Array[ctypes.c_char], ctypes.Array[ctypes.c_char]]:
    """Return zmm0..31 (2048 bytes) and k0..7 (64 bytes) inside the CPU object.

    The library has no way to the k registers and a slow one to zmm, so both
    are found by a mark: random bytes put in zmm0 and, by a program, in k0..7.
    """
    mark = os.urandom(64)
    program = b"".join(  # kmovq 8*i(%rdi), %ki
        bytes([0xC4, 0xE1, 0xF8, 0x90, 0x47 | i << 3, 8 * i]) for i in range(8)
    )
    memory = Memory()
    memory.map(0x1000, mark + program + b"\xeb\xfe")
    set_system(memory.root)
    _set_scalars(START | {"rdi": 0x1000, "rip": 0x1040})
    end = JUMP(lambda *_: bochs.stop())
    bochs.run(bochs.Hooks(jump=ctypes.cast(end, ctypes.c_void_p)))
    base = bochs.cpu_address()
    masks = base + ctypes.string_at(base, 1 << 16).index(mark)
    bochs.library().cpu_set_zmm(CPU, 0, mark[::-1])
    vectors = base + ctypes.string_at(base, 1 << 16).index(mark[::-1])
    return (ctypes.c_char * 2048).from_address(vectors), (ctypes.c_char * 64).from_address(masks)


def set_registers(values: Mapping[str, int]) -> None:
    """Load every register."""
    vectors, masks = _register_files()
    _set_scalars(values)
    vectors.raw = b"".join(values[name].to_bytes(64, "little") for name in VECTORS)
    masks.raw = b"".join(values[name].to_bytes(8, "little") for name in MASKS)


def get_registers() -> dict[str, int]:
    """Read every register."""
    values = _get_scalars()
    for names, file in zip((VECTORS, MASKS), _register_files(), strict=True):
        data, size = file.raw, len(file) // len(names)
        for index, name in enumerate(names):
            values[name] = int.from_bytes(data[index * size : (index + 1) * size], "little")
    return values
