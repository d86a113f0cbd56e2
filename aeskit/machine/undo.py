"""Instructions undone: what a source must have been, so that a lane of the result is what it must be.

Of moves, XORs, AES rounds and byte shuffles; all others have no answer. `History` is a run with what each
register held when, and what was stored when.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from aeskit.bits import from_le
from aeskit.machine import crypto, semantics
from aeskit.machine import decode as d
from aeskit.machine.events import Event, Events, register
from aeskit.machine.naming import LANE
from aeskit.machine.operands import spread
from aeskit.models import aes

MOVES = ("movdq", "movup", "movap", "movnt", "movq", "movd", "lddqu", "broadcasti", "broadcastf")
"""How their names begin."""
XORS = ("pxor", "pxord", "pxorq", "xorps", "xorpd")
XOR_OF_THREE = 0x96
"""The immediate of vpternlog."""


def _before_key(body: Callable[..., Any], substitute: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The round of the semantics table, without its key."""
    return lambda state: body(substitute(state), np.uint8(0))


ROUNDS: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "aesenc": (
        _before_key(crypto.aesenc, aes.sub_bytes),
        lambda state: aes.inv_sub_bytes(aes.inv_shift_rows(aes.inv_mix_columns(state))),
    ),
    "aesenclast": (
        _before_key(crypto.aesenclast, aes.sub_bytes),
        lambda state: aes.inv_sub_bytes(aes.inv_shift_rows(state)),
    ),
    "aesdec": (
        _before_key(crypto.aesdec, aes.inv_sub_bytes),
        lambda state: aes.sub_bytes(aes.shift_rows(aes.mix_columns(state))),
    ),
    "aesdeclast": (
        _before_key(crypto.aesdeclast, aes.inv_sub_bytes),
        lambda state: aes.sub_bytes(aes.shift_rows(state)),
    ),
}
"""What a round does before its key is added, and its inverse."""


@dataclass(frozen=True)
class Must:
    """What the bytes of a lane must be, as far as they are known."""

    data: np.ndarray
    known: np.ndarray

    def only(self, selected: np.ndarray) -> Must:
        """Known only where it is `selected` too."""
        return Must(self.data, self.known & selected)

    def differs(self, actual: bytes) -> bool:
        """Whether a known byte is another."""
        return bool((self.known & (self.data != as_array(actual))).any())


@dataclass(frozen=True)
class Source:
    """Where 16 bytes came from: a lane of a register, or memory where `register` is negative."""

    register: int
    lane: int
    data: bytes
    address: int = 0


Ways = list[tuple[Source, Must]]
"""Sources with what each must be, the others being right."""


class History:
    """What each register held when, and what was stored when."""

    def __init__(self, run: Events) -> None:
        """Read the run once."""
        self.run = run
        self.steps: dict[str, list[int]] = {}
        self.stores: list[tuple[int, int, int]] = []
        for number, event in enumerate(run.events):
            for name in event.values:
                self.steps.setdefault(name, []).append(number)
            self.stores += [(number, at, at + len(data)) for kind, at, data in event.accesses if kind == "w"]

    def writer(self, name: str, before: int) -> int:
        """The last step before another that set a register; -1 for none."""
        steps = self.steps.get(name, [])
        at = bisect_left(steps, before)
        return steps[at - 1] if at else -1

    def value(self, name: str, before: int) -> bytes:
        """What a register held when a step began."""
        step = self.writer(name, before)
        return register(self.run.start, name) if step < 0 else self.run.events[step].values[name]

    def lane(self, number: int, lane: int, before: int) -> bytes:
        """16 bytes of a vector register when a step began."""
        return self.value(f"zmm{number}", before)[LANE * lane : LANE * lane + LANE]

    def store(self, begin: int, end: int, before: int) -> int:
        """The last step before another that stored one of these bytes; -1 for none."""
        steps = (s for s, a, e in reversed(self.stores) if s < before and a < end and begin < e)
        return next(steps, -1)

    def stored(self, step: int, address: int) -> tuple[Source, int] | None:
        """The lane that a step stored to an address, and the address of its first byte."""
        event = self.run.events[step]
        target, *rest = event.instruction.operands
        if not isinstance(target, d.Memory) or not rest or not isinstance(rest[0], d.Vector):
            return None
        stem, skipped = stem_of(event), 0
        if not stem.startswith((*MOVES, "extract")):
            return None
        if event.instruction.mask:
            selected = np.flatnonzero(self.selected(step, target.size))
            skipped = int(selected[0]) if selected.size else 0
        base = min(at for kind, at, _ in event.accesses if kind == "w") - skipped
        lane = (address - base) // LANE
        inside = lane + self._extracted(event) if stem.startswith("extract") else lane
        data = self.lane(rest[0].number, inside, step)
        return Source(rest[0].number, inside, data), base + LANE * lane

    def _extracted(self, event: Event) -> int:
        target, source, which = event.instruction.operands
        assert isinstance(source, d.Vector)
        assert isinstance(which, d.Immediate)
        size = getattr(target, "size", LANE)
        return which.value % (source.size // size) * (size // LANE)

    def selected(self, step: int, size: int) -> np.ndarray:
        """A Boolean a byte of a masked instruction's destination."""
        event = self.run.events[step]
        entry = semantics.lookup(event.instruction)
        mask = from_le(self.value(f"k{event.instruction.mask}", step))
        return np.asarray(spread(mask, entry.element if entry and entry.element else 1, size))

    def ways(self, step: int, lane: int, must: Must) -> Ways:
        """Each source with what it must be, the others being right."""
        event = self.run.events[step]
        ins, stem = event.instruction, stem_of(event)
        operands = [o for o in ins.operands if not isinstance(o, d.Immediate)]
        last = ins.operands[-1]
        immediate = last.value & 0xFF if isinstance(last, d.Immediate) else -1
        if stem.startswith("extract"):
            return self._sources(operands[1:], step, lane + self._extracted(event), must)
        if stem.startswith("insert") and len(operands) == 3:
            return self._inserted(operands, immediate, step, lane, must)
        if stem.startswith(MOVES) and len(operands) == 2:
            return self._sources(operands[1:], step, lane, must)
        two = operands if len(operands) == 2 and ins.encoding == "legacy" else operands[1:]
        if stem.startswith("pternlog") and immediate == XOR_OF_THREE:
            return self._xor(operands, step, lane, must)
        if stem in XORS:
            return self._xor(two, step, lane, must)
        if stem in ROUNDS and must.known.all():
            return self._round(two, ROUNDS[stem], step, lane, must)
        if stem == "pshufb":
            return self._shuffled(two, step, lane, must)
        return []

    def _read(self, operand: d.Operand, step: int, lane: int) -> Source | None:
        """A lane of an operand, as the step read it."""
        if isinstance(operand, d.Vector):
            return Source(operand.number, lane, self.lane(operand.number, lane, step))
        if not isinstance(operand, d.Memory) or operand.broadcast:
            return None
        at = LANE * lane % max(operand.size, 1)
        for kind, address, data in self.run.events[step].accesses:
            if kind == "r" and len(data) == operand.size and len(data) % LANE == 0:
                return Source(-1, 0, data[at : at + LANE], address + at)
        return None

    def _sources(self, operands: Sequence[d.Operand], step: int, lane: int, must: Must) -> Ways:
        source = self._read(operands[0], step, lane)
        return [(source, must)] if source else []

    def _inserted(
        self, operands: Sequence[d.Operand], immediate: int, step: int, lane: int, must: Must
    ) -> Ways:
        target, whole, part = operands
        count, size = getattr(part, "size", 0) // LANE, getattr(target, "size", 0) // LANE
        if not count or not size:
            return []
        first = immediate % (size // count) * count
        taken = first <= lane < first + count
        return self._sources([part if taken else whole], step, lane - first if taken else lane, must)

    def _xor(self, operands: Sequence[d.Operand], step: int, lane: int, must: Must) -> Ways:
        sources = [self._read(operand, step, lane) for operand in operands]
        known = [source for source in sources if source]
        if len(known) < len(operands):
            return []
        total = np.bitwise_xor.reduce([as_array(source.data) for source in known]) ^ must.data
        return [(source, Must(total ^ as_array(source.data), must.known)) for source in known]

    def _round(
        self, operands: Sequence[d.Operand], maps: tuple[Any, Any], step: int, lane: int, must: Must
    ) -> Ways:
        forward, backward = maps
        state, key = (self._read(operand, step, lane) for operand in operands)
        if not state or not key:
            return []
        before = backward(must.data ^ as_array(key.data))
        return [
            (state, Must(before, must.known)),
            (key, Must(forward(as_array(state.data)) ^ must.data, must.known)),
        ]

    def _shuffled(self, operands: Sequence[d.Operand], step: int, lane: int, must: Must) -> Ways:
        source, order = (self._read(operand, step, lane) for operand in operands)
        if not source or not order:
            return []
        data, known = np.zeros(LANE, np.uint8), np.zeros(LANE, bool)
        for at, index in enumerate(order.data):
            if index < 0x80 and must.known[at]:
                data[index & 15], known[index & 15] = must.data[at], True
        return [(source, Must(data, known))]


def stem_of(event: Event) -> str:
    """The mnemonic without the v of VEX and EVEX."""
    return event.instruction.mnemonic.removeprefix("v")


def as_array(data: bytes) -> np.ndarray:
    """Bytes to compute with."""
    return np.frombuffer(data, np.uint8)
