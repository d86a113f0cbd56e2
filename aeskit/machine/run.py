"""The machine: runs an image's code in a domain, and keeps what every step changed."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from aeskit.machine import decode as d
from aeskit.machine import realigned, stand_ins, stored
from aeskit.machine.bind import bind
from aeskit.machine.errors import MachineError, MemoryFault, StepLimit
from aeskit.machine.loader import Image
from aeskit.machine.memory import Bytes, Memory, Region
from aeskit.machine.numbers import Numbers
from aeskit.machine.state import Registers, State
from aeskit.machine.stretches import Stretches

if TYPE_CHECKING:
    from aeskit.machine.pointers import Pointers

RETURN = 0x7FFF_FFFF_0000
"""The address that a function returns to: nothing lies there, and reaching it ends the run."""

STACK_TOP = 0x7FFF_0000_0000
STACK_SIZE = 1 << 14
MAX_STEPS = 5_000_000
RED_ZONE = 128
"""Bytes below rsp that signal handlers leave alone (System V AMD64 ABI, 3.2.2)."""
RELOCATED = re.compile(r"\.data\.rel\.ro(\..*)?")
"""Sections that the loader protects once it has written addresses to them."""

Change = tuple[int, tuple[Any, ...], tuple[Any, ...]]
"""(address, the values of what `Instruction.writes` names, memory accesses as (r or w, address, bytes))."""


class Machine:
    """Registers, memory and the code of one image.

    The image's sections and a stack are added to `memory`. `domain` is `Numbers` or `symbolic.Symbolic`.
    """

    def __init__(
        self, image: Image, memory: Memory | None = None, domain: Any = None, trace: bool = False
    ) -> None:
        """Nothing runs yet; with `trace` every step's changes are kept in `changes`."""
        self.image, self.domain = image, domain or Numbers()
        self.memory = memory or Memory()
        self.state = State(self.domain.dtype)
        self._sections = [
            Region(
                section.name,
                section.address,
                self.domain.array(section.data),
                section.permissions,
                constant="w" not in section.permissions,
            )
            for section in image.sections
        ]
        for region in self._sections:
            self.memory.add(region)
            if region.address <= RETURN < region.end:
                raise MachineError(
                    f"{region.name} lies at {RETURN:#x}, where functions return to: nothing may"
                )
        stack = self.domain.array(bytes(STACK_SIZE))
        self.stack = self.memory.add(Region("stack", STACK_TOP - STACK_SIZE, stack))
        self.state.gpr[4] = STACK_TOP - 4096
        self.steps = 0
        self.stood_in: set[str] = set()
        """Functions of others that a proof has run by their stand-ins."""
        self.changes: list[Change] | None = [] if trace else None
        self._lost: Callable[[int, int], Bytes] | None = None
        self.losses = 0
        """How often in this run something of the stack was lost."""
        self._code: dict[
            int, tuple[Callable[[], int | None], int, Callable[[], tuple[Any, ...]], d.Instruction]
        ] = {}
        self._entry: Bytes | None = None
        """In a proof the stack as the call found it."""
        self.stretches: Stretches | None = None
        """What earlier runs over GF(2) did, where it is to be remembered."""

    def reset(self, regions: list[Region], stack: Bytes | None = None) -> None:
        """Forget the run: the image and `regions` are the memory, registers are 0. Bound code is kept."""
        for section, region in zip(self.image.sections, self._sections, strict=True):
            if "w" in region.permissions:
                region.data[...] = self.domain.array(section.data)
        self.memory.replace([*self._sections, self.stack, *regions])
        self.stack.data[...] = 0 if stack is None else stack
        state = self.state
        state.v[...] = 0
        state.k[:], state.gpr[:] = [0] * 8, [0] * 16
        state.cf = state.pf = state.af = state.zf = state.sf = state.of = 0
        state.gpr[4] = STACK_TOP - 4096
        self.steps = self.losses = 0
        self.changes = None if self.changes is None else []

    def changing(self) -> list[Region]:
        """The memory that need not be the same in another run: all but what no one may write of the image."""
        return [region for region in self.memory.regions if not region.constant]

    def refuse_state(self, lost: Callable[[int, int], Bytes]) -> None:
        """From now on writable sections may not be touched: they are not what the file says at every call.

        What `lost` gives for a number and a size stands below the red zone where rsp has risen for the
        number-th time: a signal may have come.
        """
        self._lost = lost
        for section, region in zip(self.image.sections, self._sections, strict=True):
            if "w" not in section.permissions:
                continue
            if RELOCATED.fullmatch(section.name):
                region.permissions, region.constant = "r", True
                continue
            text = f"{section.name} is writable: what earlier calls left in it is not known"
            region.refuse = partial(_always, text)

    def refuse_caller(self, words: int) -> None:
        """From now on of the stack only the function's own part, with its red zone, may be touched.

        rsp stands where the call will push the return address, below `words` arguments of 8 bytes.
        """
        gpr, end = self.state.gpr, self.state.gpr[4] + 8 * words

        def refuse(address: int, size: int) -> str:
            if address + size > end:
                return "this is the caller's part of the stack"
            if type(gpr[4]) is int and address < gpr[4] - RED_ZONE:
                return f"this is more than the red zone's {RED_ZONE} bytes below rsp"
            return realigned.refusal(domain.aligned, address, size)

        domain: Any = self.domain
        self.stack.refuse, self._entry = refuse, self.stack.data.copy()

    def hide_addresses(self, pointers: Pointers) -> None:
        """From now on an address that the image's constants hold is known as a whole alone."""
        stored.hide(self.image, self._sections, pointers)

    @property
    def proving(self) -> bool:
        """Whether `refuse_state` was asked."""
        return self._lost is not None

    def forget(self, address: int, size: int) -> None:
        """Decode again, when next met, what lies in these bytes of the image: they were changed."""
        for at in range(address - d.LONGEST + 1, address + size):
            self._code.pop(at, None)
        if self.stretches:
            self.stretches.clear()

    # ---- Running

    def call(self, function: str | int, limit: int = MAX_STEPS) -> None:
        """Run a function, by name or address, until it returns.

        MachineError and its kin stop it, with the instruction; StepLimit after `limit` steps.
        """
        self.start(function)
        self.resume(limit)

    def start(self, function: str | int) -> None:
        """Stand at a function's first instruction, the return address pushed."""
        self.state.rip = self.image.address_of(function) if isinstance(function, str) else function
        self.state.gpr[4] -= 8
        self.memory.write(self.state.gpr[4], self.domain.to_bytes(RETURN, 8))

    def resume(
        self, limit: int = MAX_STEPS, until: Callable[[int], bool] | None = None, stop: int | None = None
    ) -> None:
        """Go on until the return, until `until(address)`, asked before every instruction, or until `stop`."""
        state, code = self.state, self._code
        rip, left = state.rip, limit
        watched = until is not None or self.changes is not None or self.memory.log is not None
        stretches = None if watched else self.stretches
        if self._entry is not None:
            domain: Any = self.domain
            domain.stack = self.stack, self._entry
        if stretches:
            stretches.begin()
        try:
            while rip != RETURN:
                if (rip == stop or (until is not None and until(rip))) and left < limit:
                    break
                if not left:
                    raise StepLimit(f"more than {limit} steps; the run stands at {self.image.label_at(rip)}")
                if stretches and (steps := stretches.advance(rip, stop, left)):
                    rip, left = state.rip, left - steps
                    continue
                left -= 1
                found = code.get(rip) or self._prepare(rip)
                target = found[0]()
                if self.changes is not None:
                    self._record(rip, found[2])
                if stretches:
                    stretches.passed(rip)
                rip = found[1] if target is None else target
        except MachineError as error:
            raise self._explained(error, rip) from error.__cause__
        finally:
            state.rip = rip
            self.steps += limit - left

    def step(self) -> d.Instruction:
        """Run one instruction and give it back."""
        before = self.state.rip
        self.resume(1, until=lambda rip: True)
        return self._code[before][3]

    @property
    def finished(self) -> bool:
        """Whether the function has returned."""
        return bool(self.state.rip == RETURN)

    def instruction(self, address: int) -> d.Instruction:
        """The decoded instruction at an address."""
        return self.bound(address)[3]

    def bound(
        self, address: int
    ) -> tuple[Callable[[], int | None], int, Callable[[], tuple[Any, ...]], d.Instruction]:
        """What runs the instruction at an address, the address behind it, what it changes, itself."""
        return self._code.get(address) or self._prepare(address)

    def _prepare(self, rip: int) -> tuple[Any, int, Callable[[], tuple[Any, ...]], d.Instruction]:
        instruction = d.decode(self.image, rip)
        execute = bind(self, instruction)
        if self._lost is not None:
            execute = self._proving(execute, instruction)
        self._code[rip] = found = (execute, instruction.following, self._watch(instruction), instruction)
        return found

    def _proving(self, execute: Callable[[], int | None], instruction: d.Instruction) -> Any:
        """The instruction as a proof needs it, after `refuse_state`."""
        section = next(s for s in self.image.sections if s.address <= instruction.address < s.end)
        if "w" in section.permissions:
            raise MachineError(
                f"{section.name} is writable: its code may be other code: {instruction.where()}"
            )
        if section.address == stand_ins.ADDRESS:
            execute = stand_ins.proving(self, execute, instruction, section.address)
        return self._losing(execute) if "rsp" in instruction.writes else execute

    def _losing(self, execute: Callable[[], int | None]) -> Callable[[], int | None]:
        """Where rsp rises, what it leaves behind more than the red zone is lost."""
        gpr, bottom = self.state.gpr, self.stack.address
        domain: Any = self.domain

        def run() -> int | None:
            before = gpr[4]
            target = execute()
            after = gpr[4]
            if type(after) is int and (type(before) is not int or after > before):
                self.lose(before - RED_ZONE if type(before) is int else bottom, after - RED_ZONE)
                domain.aligned = realigned.left(domain.aligned, after)
            return target

        return run

    def lose(self, begin: int, end: int) -> None:
        """In a proof: what lay on the stack from `begin` to `end` is now unknown, and new."""
        assert self._lost is not None
        part = self.stack.data[max(begin - self.stack.address, 0) : max(end - self.stack.address, 0)]
        if len(part):
            self.losses += 1
            part[...] = self._lost(self.losses, len(part))

    def lose_red_zone(self) -> None:
        """In a proof: a function of another file was called, and the stack below rsp was its own."""
        self.lose(self.state.gpr[4] - RED_ZONE, self.state.gpr[4])

    def _explained(self, error: MachineError, rip: int) -> MachineError:
        text = str(error)
        found = self._code.get(rip)
        if found is None or found[3].text in text or not error.args:
            return error
        error.args = (f"{text}; {found[3].where()} in {self.image.label_at(rip)}",)
        return error

    # ---- Recording

    def _watch(self, instruction: d.Instruction) -> Callable[[], tuple[Any, ...]]:
        state, gpr, k = self.state, self.state.gpr, self.state.k
        getters: list[Callable[[], Any]] = []
        for name in instruction.writes:
            if name[0] in "xyz" and name[1:3] == "mm":
                getters.append(state.v[int(name[3:])].copy)
            elif name in d.GPR_NAMES:
                getters.append(partial(gpr.__getitem__, d.GPR_NAMES.index(name)))
            elif name[0] == "k" and name[1:].isdigit():
                getters.append(partial(k.__getitem__, int(name[1:])))
            else:
                getters.append(lambda: (state.cf, state.pf, state.zf, state.sf, state.of))
        return lambda: tuple([get() for get in getters])

    def _record(self, rip: int, watch: Callable[[], tuple[Any, ...]]) -> None:
        log = self.memory.log
        accesses: tuple[Any, ...] = ()
        if log is None:
            self.memory.log = []
        elif log:
            accesses = tuple(log)
            log.clear()
        assert self.changes is not None
        self.changes.append((rip, watch(), accesses))

    # ---- Exchanging the state with another engine

    def registers(self) -> Registers:
        """A snapshot in numbers; MachineError over GF(2)."""
        state = self.state
        if state.v.dtype != np.uint8:
            raise MachineError("a snapshot in numbers needs the domain of numbers")
        return Registers(state.v.copy(), list(state.k), list(state.gpr), state.rip, state.flags_word())

    def load(self, registers: Registers) -> None:
        """Take over a snapshot."""
        self.state.v[...] = registers.v
        self.state.k[:] = registers.k
        self.state.gpr[:] = registers.gpr
        self.state.rip = registers.rip
        self.state.set_flags(registers.flags)


def _always(text: str, address: int, size: int) -> str:
    return text


__all__ = ["MAX_STEPS", "RETURN", "Machine", "MemoryFault"]
