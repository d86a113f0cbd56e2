"""Where the bytes of a lane come from, and whether secrets decide the path: the same call with other inputs.

A byte that changes when the data changes comes from the data, else from the tweak, IV or counter, else from
the key, else from constants and lengths. Chance hides a dependence in one of 256 bytes a run, so each input
is changed several times.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from aeskit.bits import from_le, to_le
from aeskit.machine.events import Event, Events
from aeskit.machine.naming import LANE
from aeskit.trace import Finding

KINDS = {"data": "d", "start": "t", "key": "k"}
"""Input that is changed to its letter, the first that counts first; ``c`` is none of them."""

Runs = Mapping[str, Sequence[Events]]
"""Changed input to runs with it changed."""


def origins(run: Events, others: Runs) -> list[dict[str, str]]:
    """For every step, its vector registers by full name with the letters of their lanes.

    A letter a lane where all lanes are of one kind each, else a letter a byte; nothing where the runs part.
    """
    told = []
    for number, event in enumerate(run.events):
        letters = {}
        for name, data in event.values.items():
            if name[1:3] == "mm":
                found = _letters(data, name, number, others)
                if found:
                    letters[name] = found
        told.append(letters)
    return told


def _letters(data: bytes, name: str, number: int, others: Runs) -> str:
    letters = bytearray(b"c" * len(data))
    for kind in reversed(KINDS):
        changed = 0
        for run in others.get(kind, ()):
            other = run.events[number].values.get(name) if number < len(run.events) else None
            if other is None:
                return ""
            changed |= from_le(data) ^ from_le(other)
        for at, byte in enumerate(to_le(changed, len(data)) if changed else b""):
            if byte:
                letters[at] = ord(KINDS[kind])
    text = letters.decode()
    lanes = [text[at : at + LANE] for at in range(0, len(text), LANE)]
    return "".join(lane[0] for lane in lanes) if all(lane == lane[0] * LANE for lane in lanes) else text


def secret_paths(run: Events, others: Runs) -> Iterator[Finding]:
    """Branches and addresses that another key or other data changed: the first of each."""
    for kind, what in (("key", "the key"), ("data", "the data")):
        for other in others.get(kind, ()):
            found = _parting(run.events, other.events, what)
            if found:
                yield found
                break


def _places(event: Event) -> list[tuple[str, int]]:
    """What it read and wrote, in an order that all engines have."""
    return sorted(access[:2] for access in event.accesses)


def _parting(events: Sequence[Event], others: Sequence[Event], what: str) -> Finding | None:
    for number, (event, other) in enumerate(zip(events, others, strict=False)):
        if event.instruction.address != other.instruction.address:
            return Finding(f"a branch depends on {what}: with other bytes the run goes elsewhere", number - 1)
        if _places(event) != _places(other):
            return Finding(f"an address depends on {what}: with other bytes it is another", number)
    if len(events) != len(others):
        return Finding(f"how long it runs depends on {what}", min(len(events), len(others)) - 1)
    return None
