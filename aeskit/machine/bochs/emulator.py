"""Run x86-64 functions on an emulated CPU with AVX-512, VAES, VPCLMULQDQ and GFNI.

The library behind it has one CPU per process.  Any number of `Emulator`
objects share it in turn, each with its own memory and registers, but none may
run while another does (no threads, no call from inside `on_step`).
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from threading import Lock
from typing import Any

from aeskit.machine.bochs import library as bochs
from aeskit.machine.bochs.library import CPU, FAR, FAULT, JUMP, STEP, VECTOR, EmulatorError
from aeskit.machine.bochs.memory import Memory
from aeskit.machine.bochs.registers import BITS, START, get_registers, set_registers, set_system

__all__ = ["Emulator", "EmulatorError"]

ARGUMENTS = ["rdi", "rsi", "rdx", "rcx", "r8", "r9"]
STACK, STACK_SIZE = 0x7000_0000_0000, 1 << 20  # lowest address, bytes
RETURN = 0x7FFF_0000_0000  # never mapped: a jump here is the return of the function

_turn = Lock()  # held while the CPU runs

FAULTS = {0: "divide error", 3: "breakpoint", 6: "undefined instruction", 14: "page fault"}
FAULTS |= {13: "general protection fault", 17: "alignment fault"}


class _Run:
    """The hooks of one run.  `error` says afterwards why it did not return."""

    def __init__(
        self,
        max_steps: int,
        on_step: Callable[[int], None] | None = None,
        *,
        after_step: Callable[[], None] | None = None,
        until: int | None = RETURN,
    ) -> None:
        """Prepare to stop after `max_steps` or at a jump to `until`, and to call the hooks given."""
        self.max_steps = max_steps
        self.on_step, self.after_step = on_step, after_step
        self.until = until
        self.steps = 0
        self.error: BaseException | None = None
        self.fault = (-1, 0, 0)  # vector, error code, CR2

    def go(self) -> None:
        """Run the CPU as it is set up until the function returns or fails."""
        callbacks: dict[str, Any] = {
            "jump": JUMP(self.jump),
            "far_branch": FAR(self.far),
            "exception": FAULT(self.exception),
            "interrupt": VECTOR(self.interrupt),
        }
        if self.on_step is not None:
            callbacks["before_step"] = STEP(self.step)
        elif self.after_step is not None:
            callbacks["after_step"] = STEP(self.after)
        else:
            callbacks["branch_taken"] = STEP(self.count)
        pointers = {name: ctypes.cast(f, ctypes.c_void_p) for name, f in callbacks.items()}
        bochs.run(bochs.Hooks(**pointers))

    def fail(self, error: BaseException) -> None:
        """Stop, once, with an error."""
        self.error = self.error or error
        bochs.stop()

    def count(self) -> None:
        """Count a step and stop after too many."""
        self.steps += 1
        if self.steps > self.max_steps:
            rip = bochs.library().cpu_get_pc(CPU)
            message = f"no return in {self.max_steps} steps, at rip {rip:#x}"
            self.fail(EmulatorError(message, rip=rip))

    def step(self) -> None:
        """Before an instruction, if there is an `on_step`."""
        assert self.on_step is not None
        self.count()
        try:
            if self.error is None:
                self.on_step(bochs.library().cpu_get_pc(CPU))
        except BaseException as error:
            self.fail(error)

    def after(self) -> None:
        """After an instruction, if there is an `after_step`."""
        assert self.after_step is not None
        self.count()
        if self.error is None:
            self.after_step()

    def jump(self, _context: int, _cpu: int, _what: int, _source: int, target: int) -> None:
        """After an unconditional near jump, call or return."""
        if target == self.until:
            bochs.stop()
        elif self.on_step is self.after_step is None:
            self.count()

    def far(self, _context: int, _cpu: int, _what: int, _segment: int, rip: int) -> None:
        """After a system call or another far transfer."""
        self.fail(EmulatorError(f"system call or far transfer, at rip {rip:#x}", rip=rip))

    def exception(self, _context: int, _cpu: int, vector: int, code: int) -> None:
        """At a fault, when rip may already be past the instruction."""
        self.fault = (vector, code, bochs.library().cpu_get_cr2(CPU))

    def interrupt(self, _context: int, _cpu: int, vector: int) -> None:
        """At the delivery of a fault, when rip is back at the instruction."""
        rip = bochs.library().cpu_get_pc(CPU)
        message, address = FAULTS.get(vector, f"exception {vector}"), None
        if vector == 14:
            _, code, address = self.fault
            access = "fetch" if code & 16 else "write" if code & 2 else "read"
            message += f": {access} of {'protected' if code & 1 else 'unmapped'} {address:#x}"
        message = f"{message}, at rip {rip:#x}"
        self.fail(EmulatorError(message, rip=rip, vector=vector, address=address))


class Emulator:
    """An x86-64 machine in user mode: memory, registers and a 1 MiB stack.

    Registers keep their values from one call to the next.
    """

    def __init__(self) -> None:
        """Make a machine with nothing mapped but the stack, all registers 0."""
        self._memory = Memory()
        self._registers = dict(START)
        self._running = False
        self.map(STACK, bytes(STACK_SIZE))

    def map(self, address: int, data: bytes, writable: bool = True) -> None:
        """Put bytes in memory; see `Memory.map`."""
        self._memory.map(address, data, writable)

    def write(self, address: int, data: bytes) -> None:
        """Change mapped data; see `Memory.write`."""
        self._memory.write(address, data)

    def read(self, address: int, size: int) -> bytes:
        """Return mapped bytes; see `Memory.read`."""
        return self._memory.read(address, size)

    def registers(self) -> dict[str, int]:
        """Return all registers: as the last call left them or, in `on_step`, as they are."""
        return get_registers() if self._running else dict(self._registers)

    def set_registers(self, values: Mapping[str, int]) -> None:
        """Set registers for the next run; `call` itself sets rip, rsp, rflags and the arguments.

        Raises EmulatorError for an unknown name, a value that does not fit or
        while this emulator runs.
        """
        for name, value in values.items():
            if name not in BITS or not 0 <= value < 1 << BITS[name] or self._running:
                raise EmulatorError(f"cannot set {name} to {value:#x}")
        self._registers |= values

    def call(
        self,
        address: int,
        arguments: Sequence[int],
        *,
        max_steps: int = 10_000_000,
        on_step: Callable[[int], None] | None = None,
    ) -> int:
        """Call a function as the System V ABI does and return rax.

        `arguments` are 64-bit integers, taken modulo 2**64; those after the
        sixth go on the stack.  `on_step` gets the address of every instruction
        before it executes, and an exception it raises ends the call.
        `max_steps` bounds the instructions with `on_step` and the taken
        branches, calls and returns without it.  Raises EmulatorError at a
        fault, a system call, too many steps or while another call runs.
        """
        self._enter(address, [value % (1 << 64) for value in arguments])
        self._go(_Run(max_steps, on_step))
        return self._registers["rax"]

    def resume(self, until: int, max_steps: int, after_step: Callable[[], None]) -> None:
        """Run from the registers as they are set until a near jump, call or return goes to `until`.

        `after_step` is called after every instruction but that last one; the rest is as with `call`.
        """
        self._go(_Run(max_steps, after_step=after_step, until=until))

    def step(self) -> None:
        """Run the one instruction that rip is at; EmulatorError for the fault that it raises."""
        self._go(_Run(1, after_step=bochs.stop, until=None))

    def _go(self, run: _Run) -> None:
        """Let the CPU run; EmulatorError while another call runs, or for what went wrong."""
        if not _turn.acquire(blocking=False):
            raise EmulatorError("the CPU is running another call")
        try:
            set_registers(self._registers)
            set_system(self._memory.root)
            self._running = True
            run.go()
            self._registers = get_registers()
        finally:
            self._running = False
            _turn.release()
        if run.error is not None:
            bochs.reset()
            raise run.error

    def _enter(self, address: int, arguments: list[int]) -> None:
        """Set the CPU and the stack up for a call."""
        words = [RETURN, *arguments[6:]]
        top = (STACK + STACK_SIZE - 8 * len(words)) // 16 * 16 - 8
        self.write(top, b"".join(word.to_bytes(8, "little") for word in words))
        self._registers |= dict(zip(ARGUMENTS, arguments, strict=False))
        self._registers |= {"rip": address, "rsp": top, "rflags": 2}
