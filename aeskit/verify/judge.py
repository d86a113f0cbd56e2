"""Whether a call goes wrong: the same function called again and again with other inputs, each time for real.

On this CPU it runs by itself in a process that has nothing else in it (`machine.silicon`), so that a call
takes about a millisecond; else in the lane machine. What all calls together may cost is bounded, by their
number and not by a clock, so that the same file gives the same answer; only a function that is a thousand
times slower than code of its kind meets a bound in seconds of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from aeskit.contracts import ANY
from aeskit.machine.errors import MachineError, NotDefined, UnknownInstruction
from aeskit.machine.findings import wrong_bytes
from aeskit.machine.loader import Image
from aeskit.machine.run import MAX_STEPS, Machine
from aeskit.machine.silicon import Silicon
from aeskit.verify.calls import Prepared

PATIENCE = 50
"""Milliseconds of its own time after which a call on this CPU is ended, at most twice as many."""
SECONDS = 2.0
"""What the calls on this CPU may take together: the functions that are meant take a thousandth of it."""
STEPS, STEPS_A_BYTE = 20_000, 500
"""Instructions that a call may take in the lane machine: more than bytewise code without tables takes."""
A_STEP = 250
"""Instructions in the lane machine that cost as much as making ready one call of a block."""
BLOCKS = 32
"""Blocks of data that cost as much again."""
A_HANG = 100
"""What a call costs that does not end."""


class Spent(Exception):
    """The calls have cost what they may."""


@dataclass(frozen=True)
class Failure:
    """What is wrong after a call."""

    kind: str
    """``result`` for bytes of a buffer, ``stop`` where it did not come to its end."""
    text: str
    buffer: str = ""
    expected: bytes = b""
    got: bytes = b""


class Judge:
    """Makes calls of functions of one image; a context manager, which ends its process."""

    def __init__(self, image: Image, budget: int) -> None:
        """`budget` is what the calls may cost: a call of few blocks costs 1."""
        self.machine, self.left, self.calls = Machine(image), float(budget), 0
        self._silicon: Silicon | None = None
        self._sizes: list[tuple[int, int]] = []
        self._used = 0.0

    def __enter__(self) -> Judge:
        """Give itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """End the process."""
        self.close()

    def close(self) -> None:
        """End the process, if there is one."""
        if self._silicon:
            self._used += self._silicon.cpu_seconds()
            self._silicon.close()
        self._silicon = None

    def pay(self, cost: float) -> None:
        """Spent where not so much is left."""
        if self.left <= 0:
            raise Spent
        self.left -= cost

    # ---- The lane machine

    def lanes(self, prepared: Prepared) -> Failure | None:
        """One call in the lane machine; UnknownInstruction and NotDefined come out of it."""
        length = int(prepared.call.length)
        self.pay(1 + length / 16 / BLOCKS)
        self.calls += 1
        prepared.load(self.machine)
        try:
            self.machine.call(prepared.symbol, limit(length))
        except (UnknownInstruction, NotDefined):
            raise
        except MachineError as error:
            return Failure("stop", str(error))
        finally:
            self.left -= self.machine.steps / A_STEP
        return failure(prepared, {region.name: region.data.tobytes() for region in prepared.regions})

    # ---- This CPU

    def silicon(self, prepared: Prepared) -> Failure | None:
        """One call on this CPU; SiliconError where that is not possible."""
        self.pay(1 + int(prepared.call.length) / 16 / BLOCKS)
        self.calls += 1
        prepared.load(self.machine)
        self.machine.start(prepared.symbol)
        silicon = self._ready()
        if self._used + silicon.cpu_seconds() > SECONDS:
            raise Spent
        silicon.load(self.machine.registers())
        stop = silicon.go()
        if stop.reason != "returned":
            self.left -= A_HANG
            self.close()
            return Failure("stop", stop.reason)
        return failure(prepared, {r.name: silicon.contents(r).tobytes() for r in prepared.regions})

    def _ready(self) -> Silicon:
        """The process, its memory as the machine's now is."""
        regions = self.machine.memory.regions
        sizes = [(region.address, len(region.data)) for region in regions]
        if self._silicon is None or sizes != self._sizes:
            self.close()
            self._silicon, self._sizes = Silicon(self.machine.memory), sizes
            self._silicon.clock(PATIENCE, self.machine.stack.address)
        for region in self.machine.changing():
            self._silicon.write(region.address, region.data.tobytes())
        return self._silicon


def limit(length: int) -> int:
    """Instructions that a call with so many bytes may take."""
    return min(STEPS + STEPS_A_BYTE * length, MAX_STEPS)


def failure(prepared: Prepared, after: Mapping[str, bytes]) -> Failure | None:
    """The first buffer that does not hold what it must, `after` being what each holds."""
    for buffer in prepared.call.buffers:
        if not len(buffer.data) or buffer.expected is ANY:
            continue
        name, before = buffer.name, bytes(buffer.data)
        wanted = before if buffer.expected is None else bytes(buffer.expected)
        for found in wrong_bytes({name: wanted}, {name: before}, {name: after[name]}):
            return Failure("result", found.text, name, wanted, after[name])
    return None
