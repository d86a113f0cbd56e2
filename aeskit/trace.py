"""Step and Trace: what ran and what it set, as frozen values, JSON in and out (`aeskit.trace_json`).

A model's step sets named values of its standard (``T_3``, ``PP_2``); a machine's step sets registers and
memory. Views, findings and comparisons read these and never ask how they came about.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Protocol


class TraceError(ValueError):
    """A trace's JSON that is not what this version writes; says where."""


@dataclass(frozen=True)
class Access:
    """Memory that a step read or wrote."""

    buffer: str
    """Name of a buffer of the trace; empty where the address lies in none."""
    offset: int
    """Bytes from the buffer's start; the address itself without a buffer."""
    size: int
    """In bytes."""
    written: bytes | None = None
    """What a write stored; None for a read."""

    @property
    def name(self) -> str:
        """``destination+16``."""
        return f"{self.buffer}+{self.offset}" if self.buffer else f"{self.offset:#x}"


@dataclass(frozen=True)
class Wanted:
    """What a lane must hold and does not."""

    name: str
    """What the model calls it; empty where the model names no such value."""
    data: bytes


@dataclass(frozen=True)
class Step:
    """One step: its text, where it stands, and what it set."""

    text: str
    """``T_1 = T_0 ⊗ α`` or an instruction."""
    place: str = ""
    """The clause of the standard, or ``function+0x1f``."""
    phase: str = ""
    """The part of the run: ``tweak``, ``main, pass 2``, ``tail``."""
    values: Mapping[str, bytes] = field(default_factory=dict)
    """Name to bytes, as the step left them. A machine's step tells the registers that it changed, whole."""
    names: Mapping[str, str] = field(default_factory=dict)
    """Where a value was recognised: ``zmm6[2]`` to ``T_2``."""
    accesses: tuple[Access, ...] = ()
    """Memory reads and writes, in order."""
    line: str = ""
    """``file:line`` of the source, where it is known."""
    origins: Mapping[str, str] = field(default_factory=dict)
    """Where a register's bytes come from: a letter a lane, or a byte where a lane is of several kinds.

    ``d`` data, else ``t`` tweak, IV or counter, else ``k`` key, else ``c`` constants.
    """
    wanted: Mapping[str, Wanted] = field(default_factory=dict)
    """Lanes that are not what the model has there: ``zmm6[2]`` to what it must be."""


@dataclass(frozen=True)
class Buffer:
    """Memory that a function was given."""

    name: str
    address: int
    data: bytes
    """What it held before the first step."""
    writable: bool = False
    expected: bytes | None = None
    """What it must hold after the last; None where nobody said."""


@dataclass(frozen=True)
class Finding:
    """Something that must not be, in words."""

    text: str
    step: int | None = None
    """The step at which it shows, from 0; None for the whole run."""

    def __str__(self) -> str:
        """The words, behind the step's number."""
        return self.text if self.step is None else f"step {self.step}: {self.text}"


@dataclass(frozen=True)
class Trace:
    """A run: its title, who ran it (model, lanes, silicon, emulator) and its steps."""

    title: str
    source: str
    steps: tuple[Step, ...] = ()
    findings: tuple[Finding, ...] = ()
    buffers: tuple[Buffer, ...] = ()
    start: Mapping[str, bytes] = field(default_factory=dict)
    """Registers before the first step; one that is missing held nothing that matters."""
    model: tuple[Step, ...] = ()
    """What the executable standard did for the same input: the steps that set the recognised values."""

    def __iter__(self) -> Iterator[Step]:
        """Iterate over the steps in order."""
        return iter(self.steps)

    def values(self) -> dict[str, bytes]:
        """Every name with the last bytes it was set to."""
        return {name: data for step in self.steps for name, data in step.values.items()}

    def to_json(self) -> str:
        """The trace as JSON, bytes as hex; `from_json` gives an equal trace back."""
        from aeskit import trace_json

        return trace_json.write(self)

    @staticmethod
    def from_json(text: str) -> Trace:
        """Read what `to_json` wrote; TraceError with the place for anything else."""
        from aeskit import trace_json

        return trace_json.read(text)


class Note(Protocol):
    """What a model or a machine calls after each step: `Recorder.note`, or anything of its shape."""

    def __call__(self, text: str, place: str = "", phase: str = "", **values: bytes) -> None:
        """Hear of a step that set `values`."""


class Recorder:
    """Collects steps as a model or a machine runs; pass its `note` where a `note` is taken."""

    def __init__(self) -> None:
        """Start with no steps."""
        self.steps: list[Step] = []

    def note(self, text: str, place: str = "", phase: str = "", **values: bytes) -> None:
        """Add a step that sets `values`; names as keywords (``T_1=…``)."""
        self.steps.append(Step(text, place, phase, {name: bytes(data) for name, data in values.items()}))

    def trace(self, title: str, source: str) -> Trace:
        """What was collected so far, frozen."""
        return Trace(title, source, tuple(self.steps))
