"""The emulator with the face of `aeskit.machine.silicon.Silicon`: steps, registers, contents."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from aeskit.machine.bochs import errata
from aeskit.machine.bochs.emulator import Emulator
from aeskit.machine.bochs.library import EmulatorError
from aeskit.machine.bochs.memory import PAGE
from aeskit.machine.bochs.registers import GENERAL, MASKS, VECTORS
from aeskit.machine.memory import Memory, Region
from aeskit.machine.run import MAX_STEPS, RETURN
from aeskit.machine.silicon import Step, Stop
from aeskit.machine.state import Registers


class Bochs:
    """An emulated CPU with a copy of the regions of a memory."""

    width = (32, 64)
    """Vector registers, and bytes of each."""

    wrong = staticmethod(errata.wrong)
    avoids = errata.COUNTS
    faults_otherwise = staticmethod(errata.faults_otherwise)

    def __init__(self, memory: Memory) -> None:
        """Map the regions; EmulatorMissing where the emulator cannot be had."""
        self._emulator = Emulator()
        self.read, self.write = self._emulator.read, self._emulator.write
        self.stop = Stop("limit")
        writable = {
            page
            for region in memory.regions
            if "w" in region.permissions
            for page in range(region.address // PAGE, -(-region.end // PAGE))
        }
        for region in memory.regions:
            data = region.data.astype(np.uint8).tobytes()
            for page in range(region.address // PAGE, -(-region.end // PAGE)):
                at = max(page * PAGE, region.address)
                piece = data[at - region.address : (page + 1) * PAGE - region.address]
                self._emulator.map(at, piece, page in writable)

    def contents(self, region: Region) -> NDArray[np.uint8]:
        """The bytes of a region as they are now."""
        return np.frombuffer(self.read(region.address, len(region.data)), np.uint8)

    def registers(self) -> Registers:
        """The state as it is now."""
        named = self._emulator.registers()
        v = b"".join(named[name].to_bytes(64, "little") for name in VECTORS)
        return Registers(
            np.frombuffer(v, np.uint8).reshape(32, 64).copy(),
            [named[name] for name in MASKS],
            [named[name] for name in GENERAL],
            named["rip"],
            named["rflags"],
        )

    def load(self, registers: Registers) -> None:
        """Set the state."""
        v = [int.from_bytes(row.tobytes(), "little") for row in registers.v.astype(np.uint8)]
        values = dict(zip(VECTORS, v, strict=True)) | dict(zip(MASKS, registers.k, strict=True))
        values |= dict(zip(GENERAL, registers.gpr, strict=True))
        self._emulator.set_registers(values | {"rip": registers.rip, "rflags": registers.flags | 2})

    def step(self) -> tuple[Registers | None, Stop]:
        """Run one instruction: the state after it, or None and the fault that it raised."""
        try:
            self._emulator.step()
        except EmulatorError as error:
            return None, Stop(str(error), address=error.address or 0)
        return self.registers(), Stop("limit")

    def steps(self, until: int = RETURN, limit: int = MAX_STEPS) -> Iterator[Step]:
        """Run to the address `until` and yield every instruction after that; memory is not watched."""
        seen: list[Registers] = []
        error: EmulatorError | None = None
        address = self.registers().rip
        try:
            self._emulator.resume(until, limit, lambda: seen.append(self.registers()))
            seen.append(self.registers())
        except EmulatorError as raised:
            error = raised
        for state in seen:
            yield Step(address, state)
            address = state.rip
        self.stop = Stop(str(error), address=error.address or 0) if error else Stop("returned")
