"""Silicon: code single-stepped on this CPU by ptrace, its registers and memory read after every instruction.

The code runs in a child whose address space holds the regions of the call and nothing else, at the addresses
that they have in the lane machine. Beyond a region nothing is mapped, at the granularity of pages.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aeskit._native import ffi, lib
from aeskit.cpu import detect
from aeskit.machine.child import Child, SiliconError
from aeskit.machine.memory import Memory, Region
from aeskit.machine.run import MAX_STEPS, RETURN
from aeskit.machine.state import Registers

BATCH = 512
"""Steps that one call of the native part makes."""

LINE = 64
"""Changed bytes are told in aligned lines of this size."""

STATE = np.dtype(
    [("gpr", "<u8", 16), ("rip", "<u8"), ("flags", "<u8"), ("k", "<u8", 8), ("v", "u1", (32, 64))]
)
"""`struct silicon_registers`."""


@dataclass(frozen=True)
class Stop:
    """Why a run ended."""

    reason: str
    """``returned``, ``limit``, or what went wrong, as a finding says it."""
    signal: int = 0
    """The number of the signal that the instruction raised."""
    address: int = 0
    """Of the memory that was not there to access; 0 if it was something else."""

    @property
    def fault(self) -> bool:
        """Whether something went wrong."""
        return self.reason not in ("returned", "limit")


@dataclass(frozen=True)
class Step:
    """One instruction: where it stood, the registers after it, and the lines of memory that it changed."""

    address: int
    registers: Registers
    changes: tuple[tuple[int, bytes], ...] = ()
    """Address and LINE bytes; empty for an engine that does not watch memory."""


def unavailable() -> str:
    """Why single-stepping is not possible here, in one line; empty where it is."""
    code = Region("code", 0x10000, np.frombuffer(b"\x90\xc3", np.uint8), "rx")
    try:
        with Silicon(Memory([code])) as silicon:
            silicon.load(Registers(rip=code.address))
            return "" if silicon.run(1)[0] == 1 else "single-stepping does not step here"
    except SiliconError as error:
        return str(error)


class Silicon:
    """A child process with a copy of the regions of a memory; a context manager: the child ends with it."""

    def __init__(self, memory: Memory) -> None:
        """Start it. SiliconError where ptrace is not allowed or a region cannot be mapped."""
        self._child = Child(memory.regions)
        self.read, self.write = self._child.read, self._child.write
        self._room = self._child.writable // LINE + 4 * BATCH
        self._states = ffi.new("struct silicon_registers[]", BATCH)
        self._batch = np.frombuffer(ffi.buffer(self._states), STATE)
        self._state = ffi.new("struct silicon_registers *")
        self._changes = ffi.new("struct silicon_change[]", self._room)
        self._stopped = ffi.new("struct silicon_stop *")
        self._never = ffi.new("uint64_t *")  # a progress that `go` never sees
        self.stop = Stop("limit")
        """How the last run of `steps` ended."""

    def __enter__(self) -> Silicon:
        """Give itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """End the child."""
        self.close()

    def close(self) -> None:
        """End the child; what it left in memory can still be read."""
        self._child.end()

    def __del__(self) -> None:
        """End the child if nobody did."""
        if hasattr(self, "_child"):
            self.close()

    avoids: tuple[int, ...] = ()

    def wrong(self, _: object) -> str:
        """What this CPU is known to do wrong with an instruction: nothing."""
        return ""

    def faults_otherwise(self, _: object) -> bool:
        """Whether a mask spares other faults than on silicon."""
        return False

    @property
    def width(self) -> tuple[int, int]:
        """Vector registers, and bytes of each, that this CPU has: the rest of `Registers.v` stays 0."""
        features = detect().features
        return (32, 64) if "AVX512F" in features else (16, 32 if "AVX" in features else 16)

    def contents(self, region: Region) -> NDArray[np.uint8]:
        """The bytes of a region as they are now."""
        return np.frombuffer(self.read(region.address, len(region.data)), np.uint8)

    def registers(self) -> Registers:
        """The state as it is now."""
        self._check(lib.silicon_get(self._process(), self._state))
        return snapshot(np.frombuffer(ffi.buffer(self._state), STATE)[0])

    def load(self, registers: Registers) -> None:
        """Set the state; what this CPU lacks of it is left out."""
        raw = np.frombuffer(ffi.buffer(self._state), STATE)
        raw["gpr"], raw["k"], raw["v"] = registers.gpr, registers.k, registers.v
        raw["rip"], raw["flags"] = registers.rip, registers.flags | 0x202
        self._check(lib.silicon_set(self._process(), self._state))

    def steps(self, until: int = RETURN, limit: int = MAX_STEPS) -> Iterator[Step]:
        """Run and yield every instruction, up to the address `until` or `limit` of them; then see `stop`."""
        address = self.registers().rip
        while True:
            made, reason = self.run(min(BATCH, limit), until)
            limit -= made
            changes = self._told()
            for number in range(made):
                after = snapshot(self._batch[number])
                yield Step(address, after, tuple(changes.get(number, ())))
                address = after.rip
            if reason or not limit:
                self.stop = stopped(self._stopped, address) if reason else Stop("limit")
                return

    def run(self, most: int, until: int = RETURN) -> tuple[int, int]:
        """Make up to `most` (at most BATCH) steps unseen; how many were made, and why it stopped, or 0."""
        made = lib.silicon_run(
            self._process(),
            until,
            most,
            self._child.shared,
            self._states,
            self._changes,
            self._room,
            self._stopped,
        )
        return int(made), int(self._stopped.reason)

    def clock(self, milliseconds: int, place: int) -> None:
        """From now on `go` ends what ran so long by itself, at most twice; 32 bytes at `place` are used."""
        self._child.tick(milliseconds, place)

    def cpu_seconds(self) -> float:
        """What the child has used so far of a CPU, to about 10 ms."""
        return self._child.cpu_seconds()

    def go(self, until: int = RETURN) -> Stop:
        """Run by itself, at the speed of the CPU and unseen, up to the address `until`: how it ended."""
        lib.silicon_go(self._process(), until, self._never, self._stopped)
        late = self._stopped.reason == lib.SILICON_SIGNAL | signal.SIGVTALRM
        return stopped(self._stopped, 0 if late else self.registers().rip)

    def step(self) -> tuple[Registers | None, Stop]:
        """Run one instruction: the state after it, or None and the fault that it raised."""
        made, reason = self.run(1)
        stop = stopped(self._stopped, 0) if reason else Stop("limit")
        return (snapshot(self._batch[0]) if made else None), stop

    def _told(self) -> dict[int, list[tuple[int, bytes]]]:
        changes: dict[int, list[tuple[int, bytes]]] = {}
        for number in range(self._stopped.changes):
            change = self._changes[number]
            changes.setdefault(change.step, []).append((change.address, bytes(ffi.buffer(change.bytes))))
        return changes

    def _process(self) -> int:
        if not self._child.process:
            raise SiliconError("the child has ended")
        return self._child.process

    def _check(self, result: int) -> None:
        if result < 0:
            raise SiliconError(f"the child's registers cannot be reached: {os.strerror(-result)}")


def snapshot(raw: Any) -> Registers:
    """A record of STATE as `Registers`."""
    gpr, k = raw["gpr"].tolist(), raw["k"].tolist()
    return Registers(raw["v"].copy(), k, gpr, int(raw["rip"]), int(raw["flags"]))


LACKS = "an instruction that is undefined or that this CPU lacks"

_SIGNALS = {
    signal.SIGILL: LACKS,
    signal.SIGFPE: "a divide error",
    signal.SIGTRAP: "a breakpoint",
    signal.SIGVTALRM: "no return in time",
    signal.SIGALRM: "a repeated string instruction that does not end",
}
_FROM_KERNEL = 0x80  # si_code of a fault that has no address


def stopped(raw: Any, rip: int) -> Stop:
    """What `struct silicon_stop` says, of an instruction at `rip`; 0 where that is not known."""
    reason, at = int(raw.reason), f" at {rip:#x}" if rip else ""
    if reason == lib.SILICON_RETURNED:
        return Stop("returned")
    if reason == lib.SILICON_SYSTEM_CALL:
        return Stop(f"a system call{at}")
    if not reason & lib.SILICON_SIGNAL:
        return Stop(f"the process is gone{at}")
    number = reason & 0x7F
    if number in (signal.SIGSEGV, signal.SIGBUS) and raw.code != _FROM_KERNEL:
        told = f"an access to {raw.address:#x}, which is not mapped or not permitted,"
        return Stop(f"{told}{at}", number, int(raw.address))
    told = "a general protection fault" if number == signal.SIGSEGV else signal.Signals(number).name
    return Stop(f"{_SIGNALS.get(signal.Signals(number), told)}{at}", number)
