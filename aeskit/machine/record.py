"""A run recorded as a Trace: instructions, phases, changed registers by lanes, memory, recognised values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from aeskit.bits import from_le
from aeskit.machine import decode as d
from aeskit.machine.divergence import Wrong
from aeskit.machine.events import Event, Events, is_register, register
from aeskit.machine.loader import Image
from aeskit.machine.memory import Region
from aeskit.machine.naming import LANE, Names
from aeskit.machine.phases import phases
from aeskit.trace import Access, Buffer, Finding, Step, Trace, Wanted

Kind = Callable[[str], str]
"""From a value's name to what it belongs to: ``block 3``, ``tweak``; empty if to nothing."""


def record(
    title: str,
    source: str,
    image: Image,
    run: Events,
    buffers: Sequence[Buffer],
    stack: Region,
    names: Names,
    about: Kind = lambda name: "",
    findings: Iterable[Finding] = (),
    model: Iterable[Step] = (),
    origins: Sequence[Mapping[str, str]] = (),
    wrong: Sequence[Wrong] = (),
) -> Trace:
    """The trace of a run; `buffers` as they were before it, `about` names the part of each phase.

    `origins` are of each step, as `origins.origins` gives them; `wrong` are `divergence.divergence`'s lanes.
    """
    return _Recording(image, run, buffers, stack, names, origins, wrong).trace(
        title, source, about, tuple(findings), tuple(model)
    )


WIDEST = 64
"""Bytes of a zmm register."""


class _Recording:
    """The state of one recording: registers as they stand, at the width of the widest that the code uses."""

    def __init__(
        self,
        image: Image,
        run: Events,
        buffers: Sequence[Buffer],
        stack: Region,
        names: Names,
        origins: Sequence[Mapping[str, str]],
        wrong: Sequence[Wrong],
    ) -> None:
        self.image, self.run, self.names, self.origins = image, run, names, origins
        self.buffers = sorted((*buffers, *_frame(run, stack)), key=lambda buffer: buffer.address)
        self.size = max([LANE, *(width(event.instruction) for event in run.events)])
        self.constants = {at: name for name, at in image.labels.items()}
        self.texts: dict[int, tuple[str, str]] = {}
        self.now: dict[str, bytes] = {}
        self.wrong: dict[int, list[Wrong]] = {}
        for one in wrong:
            self.wrong.setdefault(one.step, []).append(one)

    def trace(
        self, title: str, source: str, about: Kind, findings: tuple[Finding, ...], model: tuple[Step, ...]
    ) -> Trace:
        start = {name: register(self.run.start, name) for name in d.GPR_NAMES}
        # Vector registers hold nothing at a call: only so that what stays as it was is no change.
        held = ((f"zmm{n}", register(self.run.start, f"zmm{n}")) for n in range(32))
        self.now = start | dict(self._view(name, data) for name, data in held)
        events, wanted = self.run.events, _wanted_flags(self.run.events)
        known = self.origins or [{}] * len(events)
        made = [self._step(n, *step) for n, step in enumerate(zip(events, wanted, known, strict=True))]
        work = [{kind for name in step.names.values() if (kind := about(name))} for step in made]
        told = phases(self.image, [event.instruction.address for event in events], work)
        steps = [_with_phase(step, phase) for step, phase in zip(made, told, strict=True)]
        return Trace(title, source, tuple(steps), findings, tuple(self.buffers), start, model)

    def _step(self, number: int, event: Event, flags: bool, known: Mapping[str, str]) -> Step:
        values, names, origins = {}, {}, {}
        for full, data in event.values.items():
            if not is_register(full) or (full == "flags" and not flags):
                continue
            name, data = self._view(full, data)
            if self.now.get(name) == data and full != "flags":
                continue
            self.now[name] = values[name] = data
            names.update(self._named(name, data))
            if full in known:
                origins[name] = self._letters(known[full])
        accesses = tuple(self._access(*access) for access in event.accesses)
        for access, (_, _, data) in zip(accesses, event.accesses, strict=True):
            names.update(self._moved(access, data))
        text, place = self._text(event.instruction)
        wanted = dict(map(self._wanted, self.wrong.get(number, ())))
        return Step(text, place, "", values, names, accesses, event.instruction.line, origins, wanted)

    def _wanted(self, wrong: Wrong) -> tuple[str, Wanted]:
        name, _ = self._view(wrong.register, b"")
        place = f"{name}[{wrong.lane}]" if name[1:3] == "mm" else name
        return place, Wanted(wrong.name, wrong.must)

    def _letters(self, letters: str) -> str:
        """Of the lanes, or bytes, that are shown."""
        return letters[: self.size if len(letters) == WIDEST else self.size // LANE]

    def _view(self, name: str, data: bytes) -> tuple[str, bytes]:
        if name[1:3] != "mm":
            return name, data
        letter = {16: "x", 32: "y", 64: "z"}[self.size]
        return f"{letter}{name[1:]}", data[: self.size]

    def _named(self, name: str, data: bytes) -> dict[str, str]:
        if name[1:3] == "mm":
            return self.names.lanes(name, data)
        place = self._place(from_le(data), inside=True) if name in d.GPR_NAMES else ""
        return {name: place} if place else {}

    def _moved(self, access: Access, data: bytes) -> dict[str, str]:
        """Names of what was read or written, by whole lanes or as one value."""
        step = LANE if len(data) % LANE == 0 else max(len(data), 1)
        parts = ((at, self.names.name(data[at : at + step])) for at in range(0, len(data), step))
        return {f"{access.buffer}+{access.offset + at}": name for at, name in parts if name and access.buffer}

    def _access(self, kind: str, address: int, data: bytes) -> Access:
        buffer, written = self._buffer(address), data if kind == "w" else None
        if buffer is None:
            return Access("", address, len(data), written)
        return Access(buffer.name, address - buffer.address, len(data), written)

    def _buffer(self, address: int) -> Buffer | None:
        for buffer in self.buffers:
            if buffer.address <= address < buffer.address + len(buffer.data):
                return buffer
        return None

    def _place(self, address: int, inside: bool = False) -> str:
        """``source+16``; the byte behind a buffer counts, since pointers end there."""
        for buffer in self.buffers:
            if buffer.address <= address <= buffer.address + len(buffer.data):
                offset = address - buffer.address
                return f"{buffer.name}+{offset}" if offset else buffer.name
        return ""

    def _constant(self, address: int) -> str:
        """An address relative to rip by the label or the section that it is in; any other as it is."""
        if not any(section.address <= address < section.end for section in self.image.sections):
            return f"{address:#x}"
        return f"{self.constants.get(address) or self.image.label_at(address)}(%rip)"

    def _text(self, instruction: d.Instruction) -> tuple[str, str]:
        """The instruction, branch targets by name, and where it stands."""
        known = self.texts.get(instruction.address)
        if known is None:
            text, place = instruction.text, function_offset(self.image, instruction.address)
            for operand in instruction.operands:
                if isinstance(operand, d.Target):
                    target = function_offset(self.image, operand.address)
                    same = target.split("+")[0] == place.split("+")[0]
                    short = "+" + target.partition("+")[2] if same and "+" in target else target
                    text = text.replace(f"{operand.address:#x}", short)
                elif isinstance(operand, d.Memory) and operand.base is None and operand.index is None:
                    text = text.replace(f"{operand.displacement:#x}", self._constant(operand.displacement))
            known = self.texts[instruction.address] = (text, place)
        return known


def _frame(run: Events, stack: Region) -> list[Buffer]:
    """The part of the stack that the run touches below the return address, as a buffer."""
    top = run.start.gpr[4]
    touched = [at for event in run.events for _, at, _ in event.accesses if stack.address <= at < top]
    return [Buffer("stack", min(touched), bytes(top - min(touched)), True)] if touched else []


def width(instruction: d.Instruction) -> int:
    """Bytes of the widest vector register that an instruction names; 0 for none."""
    sizes = (operand.size for operand in instruction.operands if isinstance(operand, d.Vector))
    return max(sizes, default=0)


def function_offset(image: Image, address: int) -> str:
    """``function+0x1f``; a plain address where no function is named."""
    starts = [
        (at, name) for name in image.functions if (at := image.symbols.get(name, address + 1)) <= address
    ]
    if not starts:
        return image.label_at(address)
    at, name = max(starts)
    return f"{name}+{address - at:#x}" if address > at else name


def _wanted_flags(events: Sequence[Event]) -> list[bool]:
    """Whether a step's flags are read before others take their place."""
    wanted, needed = [], False
    for event in reversed(events):
        sets = "flags" in event.instruction.writes
        wanted.append(needed and sets)
        needed = "flags" in event.instruction.reads or (needed and not sets)
    return wanted[::-1]


def _with_phase(step: Step, phase: str) -> Step:
    return replace(step, phase=phase)
