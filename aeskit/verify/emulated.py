"""The functions of the native core in the emulator: AVX-512 variants run, and are judged, on every machine.

Besides what the memory shows, which `differential` compares, each call is held against the System V ABI:
callee-saved registers, the direction flag, the upper halves of 32-bit arguments (filled with rubbish), and
`vzeroupper`. And against the core's own promise: what a function kept on its stack is zero on return, and so
are the registers in which a key was expanded.
"""

from __future__ import annotations

import struct
from functools import cache
from pathlib import Path

from aeskit import _native
from aeskit.cpu import CPU, FEATURES
from aeskit.machine.bochs import Emulator, EmulatorError, map_image
from aeskit.machine.bochs.emulator import STACK, STACK_SIZE
from aeskit.machine.loader import Image, load
from aeskit.verify.placing import Arena, Arenas
from aeskit.verify.runner import MARGIN, After, Call, Fault

EMULATED = CPU("Bochs, an emulated Ice Lake", "GenuineIntel", features=frozenset(FEATURES))
"""The CPU that the code finds."""

PAGE = 4096
STEPS = 1_000_000
"""Branches taken after which a call is given up: a message of 16 KiB takes a few thousand."""

_CALLEE_SAVED = ("rbx", "rbp", "r12", "r13", "r14", "r15")
_SAVED = {name: 0x5A5A_0000_0000_0000 + number for number, name in enumerate(_CALLEE_SAVED)}
_LEFT = dict.fromkeys(("rax", "r10", "r11"), 0xA5A5 << 40)
_LEFT |= {f"zmm{number}": 0x5AA5 << 100 | number for number in range(32)}
"""What a caller may leave in registers that hold no argument: another value than the last run's."""
_DIRECTION = 1 << 10  # of RFLAGS
_STACK = 2048
"""Bytes below the stack pointer that are looked at: more than any function of ours uses."""
_KEY_REGISTERS = ("zmm0", "zmm1", "zmm2", "zmm3")


@cache
def _core() -> Image:
    return load(_native.__file__)


class EmulatedRunner:
    """Calls functions of the native core, or of the ELF file `path`, in the emulator."""

    def __init__(self, path: Path | None = None, steps: int = STEPS) -> None:
        """Load the code; EmulatorMissing or LoadError, in one line, where it cannot be.

        `steps` are the branches taken after which a call is given up.
        """
        self._image, self._steps = load(path) if path else _core(), steps
        self._emulator = Emulator()
        map_image(self._emulator, self._image)
        self._source, self._destination = self._map(1, 8192), self._map(2, 8192)
        self._iv, self._context = self._map(3, PAGE), self._map(4, PAGE)

    def patch(self, address: int, code: bytes) -> None:
        """Put other code at an address of the image; whoever does so puts the old code back."""
        self._emulator.map(address, code, writable=False)

    def call(self, call: Call) -> After:
        """See `Runner.call`."""
        self._grow(max(call.size, len(call.source)) + 4 * MARGIN)
        arenas = Arenas(self._source, self._destination, self._iv, self._context)
        placed = arenas.place(call)
        for address, data in placed.before(call):
            self._emulator.write(address, data)
        for arguments in placed.arguments(call):
            self._run(call.function, arguments)
            self._check_left(call, arguments, call.iv + self._emulator.read(placed.iv, len(call.iv)))
        return placed.after(call, self._emulator.read)

    def _run(self, function: str, arguments: list[int]) -> None:
        self._emulator.set_registers(_SAVED | _LEFT)
        self._emulator.write(STACK + STACK_SIZE - _STACK, bytes(_STACK))
        try:
            self._emulator.call(self._image.address_of(function), arguments, max_steps=self._steps)
        except EmulatorError as error:
            raise Fault(self._told(error)) from None
        registers = self._emulator.registers()
        changed = [name for name, value in _SAVED.items() if registers[name] != value]
        if changed:
            raise Fault(f"{', '.join(changed)} must be preserved for the caller")
        if registers["rflags"] & _DIRECTION:
            raise Fault("the direction flag must be clear on return")
        if any(registers[f"zmm{number}"] >> 128 for number in range(16)):
            raise Fault("returns with the upper halves of vector registers in use: vzeroupper is missing")

    def _check_left(self, call: Call, arguments: list[int], ivs: bytes) -> None:
        """Nothing is left on the stack but what anyone may know.

        That is the caller's registers, arguments, numbers and code below 2^32, stack addresses, and IVs.
        """
        registers, bottom = self._emulator.registers(), STACK + STACK_SIZE - _STACK
        size = registers["rsp"] - bottom
        words = struct.unpack(f"<{size // 8}Q", self._emulator.read(bottom, size))
        plain = {*_SAVED.values(), *arguments, *struct.unpack(f"<{len(ivs) // 8}Q", ivs)}
        for number, word in enumerate(words[:-1]):  # the last is the return address
            if word >> 32 and word not in plain and not STACK <= word < STACK + STACK_SIZE:
                place = 8 * (len(words) - 1 - number)
                raise Fault(f"leaves {word:016x} on its stack, {place} bytes below its return address")
        if call.mode == "keys":
            used = [name for name in _KEY_REGISTERS if registers[name]]
            if used:
                raise Fault(f"returns with what is left of the key in {', '.join(used)}: must be zero")

    def _told(self, error: EmulatorError) -> str:
        place = "" if error.rip is None else f" in {self._image.label_at(error.rip)}"
        return f"{error}{place}"

    def _map(self, number: int, size: int) -> Arena:
        arena = Arena(number << 32, -(-size // PAGE) * PAGE)
        self._emulator.map(arena.address, bytes(arena.size))
        return arena

    def _grow(self, size: int) -> None:
        if size > self._source.size:
            self._source, self._destination = self._map(1, size), self._map(2, size)
