"""Checks of one function of the native core on this CPU, in a process that has nothing else in it.

The code may be wrong in any way: system calls are not made, a fault or a loop stops the process where it
stands, memory beyond the buffers is not mapped, and neither the code, the tables nor the answers can be
written there. What memory must hold and what `EmulatedRunner` demands of registers and the stack is compared
there too, by native/calls.c; only what is wrong is told here.
"""

from __future__ import annotations

import os
from array import array
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from aeskit._native import ffi, lib
from aeskit.cpu import detect
from aeskit.machine.child import Child, SiliconError
from aeskit.machine.loader import Image
from aeskit.machine.memory import Region
from aeskit.machine.run import RETURN
from aeskit.machine.silicon import stopped
from aeskit.verify.calls_script import HEAD, Pool, Script
from aeskit.verify.differential import Expected, called, examine
from aeskit.verify.inputs import Inputs
from aeskit.verify.layouts import Layout
from aeskit.verify.placing import Arena, Arenas, Placed
from aeskit.verify.runner import MARGIN, After, Call, Fault

PAGE = 4096
TABLES, STACKS = 0x5000_0000_0000, 0x7000_0000_0000
STACK_SIZE = 1 << 16
WATCHED = 2048
"""Bytes below the stack pointer that are looked at, as the emulator's runner does."""
TICK = 8
"""Milliseconds of the process's own time after which one call has been given up at the latest, twice."""
CLEARED = 4
"""Vector registers that key expansion leaves zero."""


@dataclass(frozen=True, slots=True)
class Message:
    """One check: what goes in, what must come out, and where it lies."""

    inputs: Inputs
    context: bytes
    """The key's schedules."""
    expected: Expected
    layout: Layout


class Alone:
    """One function's checks, ready to be made; a context manager: its process ends with it."""

    def __init__(self, image: Image, function: str, messages: Sequence[Message]) -> None:
        """Lay the messages out; SiliconError where ptrace is not allowed.

        `image` is the native core's, which holds the function and the code that calls it.
        """
        self.image, self.function, self.messages = image, function, messages
        size = max((max(len(call.source), call.size) for call in map(self._call, messages)), default=0)
        room = -(-(size + 4 * MARGIN) // PAGE) * PAGE
        source, destination, iv, context = (
            Arena(number << 32, size) for number, size in enumerate((room, room, PAGE, PAGE), 1)
        )
        self._arenas = Arenas(source, destination, iv, context)
        self._made = Script(Pool(TABLES + PAGE))
        for message in messages:
            call = self._call(message)
            placed = self._arenas.place(call)
            self._made.add(call, placed, placed.behind(call, message.expected))
        self._child = Child(self._regions((source, destination, iv, context)))
        self._child.tick(TICK, STACKS)
        self._stop = ffi.new("struct silicon_stop *")
        self._state = ffi.new("struct calls_state *")
        self._registers = ffi.new("struct silicon_registers *")
        place = self._child.place(lib.CALLS_STATE + ffi.offsetof("struct calls_state", "made"))
        self._progress = ffi.cast("uint64_t *", self._child.shared.now + place)

    def close(self) -> None:
        """End the process."""
        self._child.end()

    def __enter__(self) -> Alone:
        """The process runs."""
        return self

    def __exit__(self, *_: object) -> None:
        """End the process."""
        self.close()

    def cpu_seconds(self) -> float:
        """What its process has used so far."""
        return self._child.cpu_seconds()

    def patch(self, address: int, code: bytes) -> None:
        """Put other code at an address of the image; whoever does so puts the old code back."""
        self._child.write(address, code)

    def run(self, which: NDArray[np.uint32]) -> tuple[int, str]:
        """Make these checks in this order, up to the first that fails: how many, and what is wrong."""
        if not self._child.process:
            raise SiliconError("the child has ended")
        self._child.write(self._which, which.astype("<u4").tobytes())
        self._child.write(TABLES, self._head(len(which)))
        self._begin()
        lib.silicon_go(self._child.process, RETURN, self._progress, self._stop)
        ffi.memmove(self._state, self._child.read(lib.CALLS_STATE, ffi.sizeof("struct calls_state")), _SIZE)
        returned = self._stop.reason == lib.SILICON_RETURNED
        if returned and not self._state.reason and self._state.at == len(which):
            return len(which), ""
        at = min(int(self._state.at), len(which) - 1)
        return at + 1, self._told(self.messages[int(which[at])], returned)

    # ---- Laying out

    def _call(self, message: Message) -> Call:
        return called(self.function, message.inputs, message.context, message.expected, message.layout)

    def _regions(self, arenas: Sequence[Arena]) -> list[Region]:
        made = self._made
        pool = made.pool.whole()
        tables, at = [bytes(PAGE), pool, bytes(-len(pool) % 8)], []
        for table in (made.checks, made.calls, made.ranges, array("I", bytes(4 * made.count))):
            at.append(TABLES + sum(map(len, tables)))
            tables.append(table.tobytes())
        self._checks, self._calls, self._bytes, self._which = at
        out = [Region("tables", TABLES, np.frombuffer(b"".join(tables), np.uint8), "r")]
        out += [Region("arena", arena.address, np.zeros(arena.size, np.uint8)) for arena in arenas]
        out.append(Region("stacks", STACKS, np.zeros(2 * STACK_SIZE, np.uint8)))
        out.append(Region("state", lib.CALLS_STATE, np.zeros(PAGE, np.uint8)))
        for section in self.image.sections:
            data = np.frombuffer(bytes(section.data), np.uint8)
            out.append(Region(section.name, section.address, data, section.permissions.replace("w", "")))
        return out

    def _head(self, count: int) -> bytes:
        head = np.zeros(1, HEAD)
        head["function"] = self.image.address_of(self.function)
        head["checks"], head["calls"], head["bytes"], head["which"] = (
            self._checks,
            self._calls,
            self._bytes,
            self._which,
        )
        head["count"], head["stack"], head["stack_size"] = count, STACKS + STACK_SIZE, STACK_SIZE
        head["watched"] = WATCHED
        head["cleared"] = CLEARED if self.messages[0].inputs.mode == "keys" else 0
        return head.tobytes()

    def _begin(self) -> None:
        """Stand at the first instruction of ``calls_run``."""
        top = STACKS + STACK_SIZE - 64
        self._child.write(top - 8, RETURN.to_bytes(8, "little"))
        features = detect().features
        width = 64 if "AVX512F" in features else 32 if "AVX" in features else 16
        ffi.memmove(self._state, bytes(_SIZE), _SIZE)
        self._state.its_stack, self._state.width = STACKS + 2 * STACK_SIZE - 1024, width
        self._child.write(lib.CALLS_STATE, bytes(ffi.buffer(self._state)))
        registers = self._registers
        ffi.memmove(
            registers, bytes(ffi.sizeof("struct silicon_registers")), ffi.sizeof("struct silicon_registers")
        )
        registers.general[7], registers.general[4] = TABLES, top - 8
        registers.rip, registers.flags = self.image.address_of("calls_run"), 0x202
        if error := lib.silicon_set(self._child.process, registers):
            raise SiliconError(f"the child's registers cannot be reached: {os.strerror(-error)}")

    # ---- Telling

    def _told(self, message: Message, returned: bool) -> str:
        call = self._call(message)
        once = _Once(self._arenas.place(call), self._child, "" if returned else self._fault())
        if returned and self._state.reason != lib.CALLS_DIFFERENT:
            once.fault = self._broken()
        found = examine(
            once, self.function, message.inputs, message.context, message.expected, message.layout
        )
        return found or "the run ends where it must not"

    def _fault(self) -> str:
        lib.silicon_get(self._child.process, self._registers)
        rip = int(self._registers.rip)
        return f"{stopped(self._stop, rip).reason} in {self.image.label_at(rip)}"

    def _broken(self) -> str:
        reason, detail = int(self._state.reason), int(self._state.detail)
        if reason != lib.CALLS_LEFT:
            return _BROKEN.get(reason, "returns to where nobody called it")
        word = int.from_bytes(self._child.read(detail, 8), "little")
        below = int(self._state.its_stack) - detail - 8
        return f"leaves {word:016x} on its stack, {below} bytes below its return address"


_SIZE = ffi.sizeof("struct calls_state")
_BROKEN = {
    lib.CALLS_SAVED_REGISTER: "rbx, rbp and r12 to r15 must be preserved for the caller",
    lib.CALLS_STACK_POINTER: "rsp must be preserved for the caller",
    lib.CALLS_DIRECTION: "the direction flag must be clear on return",
    lib.CALLS_UPPER_HALVES: "returns with the upper halves of vector registers in use: vzeroupper is missing",
    lib.CALLS_NOT_CLEARED: "returns with what is left of the key in vector registers: must be zero",
}


@dataclass
class _Once:
    """A `Runner` whose call has been made: it gives what the process holds."""

    placed: Placed
    child: Child
    fault: str

    def call(self, call: Call) -> After:
        """What is there; Fault where the call did not come to an end."""
        if self.fault:
            raise Fault(self.fault)
        return self.placed.after(call, self.child.read)
