"""The semantics table against hardware: every form, with random and extreme operands, silicon or emulator.

A sample is one instruction at one address with one state before it. The machine and the engine run it, and
every register, flag and byte of memory must be the same after it, or both must refuse it.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from aeskit.machine import decode as d
from aeskit.machine import lockstep
from aeskit.machine.errors import MachineError, UnknownInstruction
from aeskit.machine.flags import MODELLED, flags_of
from aeskit.machine.forms import Form, Writer, Written, forms
from aeskit.machine.loader import Image, Section
from aeskit.machine.memory import Memory, Region
from aeskit.machine.run import Machine
from aeskit.machine.silicon import LACKS
from aeskit.machine.state import Registers

CODE, DATA = 0x8000_0000, 0x9000_0000
ROOM = 16
"""Bytes for a sample: one instruction."""
SIZE = 1024
"""Bytes of data that are drawn for a sample; its memory operand lies from 512 on, aligned to 64 or not."""
TARGET = DATA + 512
PAGES = 4096
END = DATA + 2 * PAGES
"""Of the mapped memory: an element behind it may be touched only if its mask is set."""
EDGE = 64
"""Bytes before the end that are drawn."""
STACKED = 64
"""Bytes of the stack that are drawn, half of them below its top."""

ALL = (1 << 64) - 1

JUMPS = ("jmp", "call", "ret", "leave")
"""These find addresses in registers and memory: the lane machine asks no address to be canonical."""

_ILLEGAL = (LACKS, "undefined instruction")
_SPARED = "a fault that the engine is known to spare, or not"


@dataclass
class Sample:
    """One instruction of a form at its address."""

    form: Form
    address: int
    written: Written


@dataclass
class Table:
    """What was compared."""

    compared: dict[str, Counter[str]] = field(default_factory=dict)
    """Engine's name to forms with how many samples of each."""
    left: dict[str, str] = field(default_factory=dict)
    """Forms that no engine here could run, and why."""
    differences: list[str] = field(default_factory=list)
    unknown: int = 0
    """Forms of known mnemonics whose encoding the table does not know; the machine refuses them by name."""

    def __str__(self) -> str:
        """The counts, a line an engine; the forms left; the differences."""
        lines = [
            f"{len(c)} forms compared on {name}, {c.total()} samples" for name, c in self.compared.items()
        ]
        lines.append(f"{self.unknown} encodings of known mnemonics are not in the table")
        lines += [f"not compared: {title}: {why}" for title, why in self.left.items()]
        return "\n".join(lines + self.differences)


def compare(
    engines: dict[str, Callable[[Memory], Any]],
    samples: int = 4,
    seed: int = 1,
    choose: Callable[[Form], bool] = lambda form: True,
) -> Table:
    """Compare `samples` of every form that `choose` takes.

    `engines` maps names to what makes them of a memory, in order: a form goes to the first that can run it.
    """
    draw = random.Random(seed)
    bench = _Bench(list(_samples(draw, samples, choose)), draw)
    table = Table(unknown=bench.unknown)
    waiting = bench.samples
    for name, make in engines.items():
        waiting = bench.run(name, make, waiting, table)
    table.left |= {sample.form.title: "no engine here has it" for sample in waiting}
    return table


def _samples(draw: random.Random, count: int, choose: Callable[[Form], bool]) -> Iterator[Sample]:
    writer, address = Writer(draw), CODE
    for form in forms():
        for _ in range(count) if choose(form) else ():
            written = writer.write(form, address, _target(form, draw))
            if written:
                yield Sample(form, address, written)
                address += ROOM


def _target(form: Form, draw: random.Random) -> int:
    """Where the memory operand lies: mostly aligned, now and then not, or across the end of the memory."""
    chance = draw.randrange(8)
    if form.mnemonic in JUMPS or chance > 2:
        return TARGET
    return END - draw.randrange(1, 64) if form.mask and chance else TARGET + draw.randrange(64)


class _Bench:
    """A machine with every sample's code in it, and the states to run them from."""

    def __init__(self, samples: list[Sample], draw: random.Random) -> None:
        code = bytearray(b"\xcc" * (len(samples) * ROOM + ROOM))
        for sample in samples:
            at = sample.address - CODE
            code[at : at + len(sample.written.code)] = sample.written.code
        self.image = Image("forms", [Section("code", CODE, code, "rx")])
        self.data = Region("data", DATA - PAGES, np.zeros(3 * PAGES, np.uint8))
        self.machine = Machine(self.image, Memory([self.data]))
        self.draw, self.numbers = draw, np.random.default_rng(draw.getrandbits(32))
        self.top = self.machine.state.gpr[4]
        known: dict[Form, bool] = {}
        self.samples = []
        for sample in samples:
            if known.setdefault(sample.form, self._knows(sample)):
                self.samples.append(sample)
        self.unknown = sum(not yes for yes in known.values())

    def _knows(self, sample: Sample) -> bool:
        try:
            self.machine.instruction(sample.address)
        except UnknownInstruction:
            return False
        return True

    def run(
        self, name: str, make: Callable[[Memory], Any], samples: list[Sample], table: Table
    ) -> list[Sample]:
        """Compare on one engine; the samples of forms that it lacks come back."""
        engine = make(self.machine.memory)
        counts, lacking = table.compared.setdefault(name, Counter()), []
        doubtful: dict[str, str] = {}
        for sample in samples:
            if wrong := engine.wrong(self.machine.instruction(sample.address)):
                doubtful[sample.form.title] = f"the {name} is wrong: {wrong}"
                continue
            outcome = self._one(engine, sample)
            if outcome is None:
                lacking.append(sample)
                continue
            if outcome == _SPARED:
                doubtful[sample.form.title] = _SPARED
                continue
            counts[sample.form.title] += 1
            if outcome:
                table.differences.append(f"{sample.form.title}: {outcome} (on {name})")
        table.left |= {title: why for title, why in doubtful.items() if title not in counts}
        return lacking

    def _one(self, engine: Any, sample: Sample) -> str | None:
        """What differs, or nothing; _SPARED; None where the engine lacks the instruction."""
        instruction = self.machine.instruction(sample.address)
        registers, data, stack = self._state(sample, instruction, engine.avoids)
        places = {DATA: data, self.top - STACKED // 2: stack, END - EDGE: data[:EDGE]}
        for address, content in places.items():
            engine.write(address, content)
            self.machine.memory.write(address, np.frombuffer(content, np.uint8))
        engine.load(registers)
        after, stop = engine.step()
        if after is None and stop.reason.startswith(_ILLEGAL):
            return None
        self.machine.load(registers)
        refused = self._step()
        if after is None or refused:
            if after is None and refused:
                return ""
            if engine.faults_otherwise(instruction):
                return _SPARED
            told = f"the machine stops: {refused}" if refused else f"the machine does not: {stop.reason}"
            return f"{instruction.where()}: {told}"
        sizes = {address: len(content) for address, content in places.items()}
        found = self._difference(engine, instruction, after, sizes)
        return f"{instruction.where()}: {found}" if found else ""

    def _step(self) -> str:
        try:
            self.machine.step()
        except UnknownInstruction:
            raise
        except MachineError as error:
            return str(error)
        return ""

    def _difference(
        self, engine: Any, instruction: d.Instruction, after: Registers, places: dict[int, int]
    ) -> str:
        undefined, _ = flags_of(instruction.code)
        found = lockstep.registers(self.machine, after, engine.width, MODELLED & ~undefined)
        if found:
            return str(found)
        for address, size in places.items():
            ours, theirs = self.machine.memory.read(address, size).tobytes(), engine.read(address, size)
            if ours != theirs:
                at = next(n for n in range(size) if ours[n] != theirs[n])
                return f"byte {address + at:#x} is {theirs[at]:02x}, the machine has {ours[at]:02x}"
        return ""

    # ---- States

    def _state(
        self, sample: Sample, instruction: d.Instruction, avoided: tuple[int, ...]
    ) -> tuple[Registers, bytes, bytes]:
        draw, mnemonic = self.draw, instruction.mnemonic
        bits = 47 if mnemonic in JUMPS else 64
        gpr = [
            draw.choice((draw.getrandbits(bits), draw.randrange(130), (1 << bits) - 1, 1 << bits - 1))
            for _ in range(16)
        ]
        gpr[4], gpr[5] = self.top, self.top if mnemonic == "leave" else gpr[5]
        if mnemonic[:4] in ("movs", "stos") and sample.form.repeat:
            gpr[1] = draw.randrange(30)
        if mnemonic in ("shld", "shrd"):
            gpr[1] &= ~0x1F | 15
        for number, value in sample.written.registers.items():
            gpr[number] = value
        k = [self._mask() for _ in range(8)]
        flags = sum(draw.getrandbits(1) << bit for bit in (0, 2, 4, 6, 7, 11))
        stack = b"".join(draw.getrandbits(47).to_bytes(8, "little") for _ in range(STACKED // 8))
        data = self._vectors(SIZE, avoided)
        if bits == 47:
            data = stack * (SIZE // STACKED)
        v = np.frombuffer(self._vectors(2048, avoided), np.uint8).reshape(32, 64).copy()
        return Registers(v, k, gpr, sample.address, flags | 2), data, stack

    def _mask(self) -> int:
        """Random; none, all, the first or all but the first few; one element in two, four or eight."""
        draw, some = self.draw, (1 << self.draw.randrange(65)) - 1
        every = draw.choice((0x5555555555555555, 0x1111111111111111, 0x8080808080808080))
        return draw.choice((draw.getrandbits(64), draw.getrandbits(64), 0, ALL, some, ALL ^ some, every))

    def _vectors(self, size: int, avoided: tuple[int, ...]) -> bytes:
        """Random bytes; elements at their extremes; small elements; the same few bytes again and again."""
        kind, element = self.draw.randrange(5), self.draw.choice((1, 2, 4, 8))
        if kind == 0:
            limits = (0, 1, (1 << 8 * element - 1) - 1, 1 << 8 * element - 1, (1 << 8 * element) - 1)
            return np.array(limits, f"<u{element}")[self.numbers.integers(0, 5, size // element)].tobytes()
        if kind == 1:
            small = [n for n in range(min(70, 1 << 8 * element)) if n not in avoided]
            return self.numbers.choice(small, size // element).astype(f"<u{element}").tobytes()
        if kind == 2:
            few = self.numbers.integers(0, 256, (2, 16), np.uint8)
            return few[self.numbers.integers(0, 2, size // 16)].tobytes()
        return self.numbers.bytes(size)
