"""Step and Trace: what ran and what it set, as frozen values, JSON in and out.

A model's step sets named values of its standard (``T_3``, ``PP_2``); a machine's step sets registers and
memory. Views, findings and comparisons read these and never ask how they came about.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

VERSION = 1
"""Of the JSON form; a reader refuses any other."""

MAX_STEPS = 1_000_000


class TraceError(ValueError):
    """A trace's JSON that is not what this version writes; says where."""


@dataclass(frozen=True)
class Step:
    """One step: its text, where it stands, and what it set."""

    text: str
    """``T_1 = T_0 ⊗ α`` or an instruction."""
    place: str = ""
    """The clause of the standard, or the address of the instruction."""
    phase: str = ""
    """The part of the run: ``tweak``, ``main loop``, ``tail``."""
    values: Mapping[str, bytes] = field(default_factory=dict)
    """Name to bytes, as the step left them."""
    names: Mapping[str, str] = field(default_factory=dict)
    """Where a value was recognised: ``zmm6[2]`` to ``T_2``."""


@dataclass(frozen=True)
class Trace:
    """A run: its title, who ran it (model, lanes, silicon, emulator) and its steps."""

    title: str
    source: str
    steps: tuple[Step, ...] = ()
    findings: tuple[str, ...] = ()

    def __iter__(self) -> Iterator[Step]:
        """Iterate over the steps in order."""
        return iter(self.steps)

    def values(self) -> dict[str, bytes]:
        """Every name with the last bytes it was set to."""
        return {name: data for step in self.steps for name, data in step.values.items()}

    def to_json(self) -> str:
        """The trace as JSON, bytes as hex; `from_json` gives an equal trace back."""
        steps = [
            {"text": s.text, "place": s.place, "phase": s.phase, "names": dict(s.names)}
            | {"values": {name: bytes(data).hex() for name, data in s.values.items()}}
            for s in self.steps
        ]
        head = {"aeskit_trace": VERSION, "title": self.title, "source": self.source}
        return json.dumps(head | {"steps": steps, "findings": list(self.findings)}, ensure_ascii=False)

    @staticmethod
    def from_json(text: str) -> Trace:
        """Read what `to_json` wrote; TraceError with the place for anything else."""
        try:
            raw = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise TraceError(f"a trace must be JSON: {error}") from None
        if not isinstance(raw, dict) or raw.get("aeskit_trace") != VERSION:
            raise TraceError(f'a trace must be an object with "aeskit_trace": {VERSION}')
        steps = _list(raw, "steps", "trace")
        if len(steps) > MAX_STEPS:
            raise TraceError(f"a trace must have at most {MAX_STEPS} steps, not {len(steps)}")
        return Trace(
            title=_text(raw, "title", "trace"),
            source=_text(raw, "source", "trace"),
            steps=tuple(_step(item, f"step {number}") for number, item in enumerate(steps)),
            findings=_findings(raw),
        )


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


def _findings(raw: dict[str, Any]) -> tuple[str, ...]:
    found = _list(raw, "findings", "trace")
    if not all(isinstance(finding, str) for finding in found):
        raise TraceError('trace: "findings" must be a list of strings')
    return tuple(found)


def _step(raw: Any, where: str) -> Step:
    if not isinstance(raw, dict):
        raise TraceError(f"{where} must be an object, not {type(raw).__name__}")
    values = _map(raw, "values", where)
    try:
        data = {name: bytes.fromhex(text) for name, text in values.items()}
    except ValueError:
        raise TraceError(f"{where}: values must be hexadecimal") from None
    text, place, phase = (_text(raw, key, where) for key in ("text", "place", "phase"))
    return Step(text, place, phase, data, _map(raw, "names", where))


def _text(raw: dict[str, Any], key: str, where: str) -> str:
    if not isinstance(raw.get(key), str):
        raise TraceError(f'{where}: "{key}" must be a string')
    return str(raw[key])


def _list(raw: dict[str, Any], key: str, where: str) -> list[Any]:
    if not isinstance(raw.get(key), list):
        raise TraceError(f'{where}: "{key}" must be a list')
    return list(raw[key])


def _map(raw: dict[str, Any], key: str, where: str) -> dict[str, str]:
    found = raw.get(key)
    if not isinstance(found, dict) or not all(isinstance(item, str) for item in found.values()):
        raise TraceError(f'{where}: "{key}" must be an object of strings')
    return dict(found)
