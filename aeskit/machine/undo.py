"""Instructions undone: what a source must have been, so that a lane of the result is what it must be.

XORs and AES rounds have rules; every other instruction is made again (`again`) to see what each bit of its
sources does, and what they must have been is solved for. Sums are tried as sums. `History` is a run with what
each register held when, and what was stored when.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import Any

import numpy as np

from aeskit.bits import from_le, to_le
from aeskit.machine import crypto
from aeskit.machine import decode as d
from aeskit.machine.again import Again, Place
from aeskit.machine.equations import solve
from aeskit.machine.errors import MachineError
from aeskit.machine.events import Event, Events, register
from aeskit.machine.naming import LANE
from aeskit.models import aes

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


@dataclass(frozen=True, eq=False)
class Must:
    """What the bytes of a place must be; in `known` the bits of each of which that is known are set.

    It is equal to itself alone.
    """

    data: np.ndarray
    known: np.ndarray

    def differs(self, actual: bytes) -> bool:
        """Whether a known bit is another."""
        return bool(((self.data ^ as_array(actual)) & self.known).any())

    def whole(self) -> bool:
        """Whether every bit is known."""
        return bool((self.known == 0xFF).all())


def all_of(data: bytes) -> Must:
    """All bytes are known."""
    return Must(as_array(data), np.full(len(data), 0xFF, np.uint8))


@dataclass(frozen=True)
class Source:
    """A place that a step read, and what it held."""

    place: Place
    data: bytes
    plain: bool = True
    """Whether the result has each of its bits at most once; else little may speak for what it must be."""

    @property
    def register(self) -> str:
        """Its name; empty for memory."""
        return self.place.name


@dataclass(frozen=True)
class Ways:
    """Sources with what each must be: any one of them, the others being right; or all of them."""

    sources: tuple[tuple[Source, Must], ...] = ()
    together: bool = False


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

    def writer(self, place: Place, before: int) -> int:
        """The last step before another that set a register or stored to memory there; -1 for none."""
        if not place.name:
            return self.store(place.at, place.at + place.size, before)
        steps = self.steps.get(place.name, [])
        at = bisect_left(steps, before)
        return steps[at - 1] if at else -1

    def value(self, name: str, before: int) -> bytes:
        """What a register held when a step began."""
        step = self.writer(Place(name, 0, 0), before)
        return register(self.run.start, name) if step < 0 else self.run.events[step].values[name]

    def held(self, place: Place, before: int) -> bytes:
        """What a place in a register held when a step began."""
        return self.value(place.name, before)[place.at : place.at + place.size]

    def store(self, begin: int, end: int, before: int) -> int:
        """The last step before another that stored one of these bytes; -1 for none."""
        steps = (s for s, a, e in reversed(self.stores) if s < before and a < end and begin < e)
        return next(steps, -1)

    def stored(self, step: int, address: int) -> Place:
        """The lane, or as much as was stored at once, in which a step stored to an address."""
        for kind, at, data in self.run.events[step].accesses:
            if kind == "w" and at <= address < at + len(data):
                inside = (address - at) // LANE * LANE
                return Place("", at + inside, min(LANE, len(data) - inside))
        return Place("", address, 1)

    def written(self, step: int, place: Place) -> bytes:
        """What a step left at a place."""
        event = self.run.events[step]
        if place.name:
            return event.values[place.name][place.at : place.at + place.size]
        begin, data = next(
            (at, d) for k, at, d in event.accesses if k == "w" and at <= place.at < at + len(d)
        )
        return data[place.at - begin :][: place.size]

    # ---- A step undone

    def ways(self, step: int, target: Place, must: Must) -> Ways:
        """Each source of what a step left at `target` with what it must be, the others being right."""
        event = self.run.events[step]
        operands = [o for o in event.instruction.operands if not isinstance(o, d.Immediate)]
        two = operands if len(operands) == 2 and event.instruction.encoding == "legacy" else operands[1:]
        stem = stem_of(event)
        if stem in ROUNDS:
            return Ways(self._round(two, ROUNDS[stem], step, target, must) if must.whole() else ())
        if target.name and not event.instruction.mask and is_xor(event):
            found = self.summed(step, target, must)
            if found:
                return Ways(found)
        return self._again(step, target, must)

    def summed(self, step: int, target: Place, must: Must) -> tuple[tuple[Source, Must], ...]:
        """The same of an XOR of vectors."""
        ins = self.run.events[step].instruction
        operands = [o for o in ins.operands if not isinstance(o, d.Immediate)]
        three = stem_of(self.run.events[step]).startswith("pternlog")
        two = operands if three or (len(operands) == 2 and ins.encoding == "legacy") else operands[1:]
        sources = [self._read(operand, step, target) for operand in two]
        known = [source for source in sources if source]
        if len(known) < len(two):
            return ()
        total = np.bitwise_xor.reduce([as_array(source.data) for source in known]) ^ must.data
        return tuple((source, Must(total ^ as_array(source.data), must.known)) for source in known)

    def _read(self, operand: d.Operand, step: int, target: Place) -> Source | None:
        """A lane of an operand, as the step read it."""
        if isinstance(operand, d.Vector):
            place = Place(f"zmm{operand.number}", target.at, LANE)
            return Source(place, self.held(place, step))
        if not isinstance(operand, d.Memory) or operand.broadcast:
            return None
        at = target.at % max(operand.size, 1)
        for kind, address, data in self.run.events[step].accesses:
            if kind == "r" and len(data) == operand.size and len(data) % LANE == 0:
                return Source(Place("", address + at, LANE), data[at : at + LANE])
        return None

    def _round(
        self, operands: Sequence[d.Operand], maps: tuple[Any, Any], step: int, target: Place, must: Must
    ) -> tuple[tuple[Source, Must], ...]:
        forward, backward = maps
        state, key = (self._read(operand, step, target) for operand in operands)
        if not state or not key:
            return ()
        before = backward(must.data ^ as_array(key.data))
        return (
            (state, Must(before, must.known)),
            (key, Must(forward(as_array(state.data)) ^ must.data, must.known)),
        )

    # ---- Any other instruction, by making it again

    def _again(self, step: int, target: Place, must: Must) -> Ways:
        event = self.run.events[step]
        try:
            again = Again(self, step, event)
        except MachineError:
            return Ways()
        made = again.made(target)
        if made is None or made != self.written(step, target):
            return Ways()
        wrong, known = from_le(bytes(must.data)) ^ from_le(made), from_le(bytes(must.known))
        found = {place: again.columns(place, target) for place in dict.fromkeys(again.places())}
        linear = {place: columns for place, columns in found.items() if columns}
        parts = _parts(linear)
        if len(parts) > 1:
            return Ways(_in_parts(again, linear, parts, wrong, known), together=True)
        others = [place for place, columns in found.items() if columns is None]
        sums = [self._added(again, place, target, must) for place in others]
        single = [_solved(again, place, columns, wrong, known) for place, columns in linear.items()]
        return Ways(tuple(way for way in (*single, *sums) if way))

    def _added(self, again: Again, place: Place, target: Place, must: Must) -> tuple[Source, Must] | None:
        """A source of a sum or a difference, in elements of 8 bytes or of 4."""
        made, held = again.made(target), again.source(place)
        if made is None or not must.whole() or len(held) != target.size:
            return None
        for kind in ("<u8", "<u4"):
            if target.size % np.dtype(kind).itemsize:
                continue
            off = np.frombuffer(must.data.tobytes(), kind) - np.frombuffer(made, kind)
            for other in (np.frombuffer(held, kind) + off, np.frombuffer(held, kind) - off):
                if again.made(target, place, other.tobytes()) == must.data.tobytes():
                    return Source(place, held), all_of(other.tobytes())
        return None


Way = tuple[Source, Must]


def _solved(again: Again, place: Place, columns: list[int], wrong: int, known: int) -> Way | None:
    """What a source must be so that the `known` bits of the result are other by `wrong`."""
    found = solve([column & known for column in columns], wrong & known)
    if found is None:
        return None
    held, size = again.source(place), place.size
    data = from_le(held) ^ found[0]
    sure = ~found[1] & (1 << 8 * size) - 1
    plain = all((column & known).bit_count() < 2 for column in columns)
    return Source(place, held, plain), Must(as_array(to_le(data, size)), as_array(to_le(sure, size)))


def _parts(linear: Mapping[Place, list[int]]) -> dict[Place, int]:
    """The sources of which each gives some bits of the result, with these; one more may choose among them."""
    reach = {place: reduce(or_, columns) for place, columns in linear.items()}
    for chooser in (None, *linear):
        some = {place: bits for place, bits in reach.items() if place != chooser}
        if sum(bits.bit_count() for bits in some.values()) == reduce(or_, some.values(), 0).bit_count():
            return some
    return {}


def _in_parts(
    again: Again, linear: Mapping[Place, list[int]], parts: Mapping[Place, int], wrong: int, known: int
) -> tuple[Way, ...]:
    """What each part must be; nothing if several are wrong and a source chooses: that may be to blame."""
    if wrong & known & ~reduce(or_, parts.values(), 0):
        return ()
    bad = [place for place, bits in parts.items() if wrong & known & bits]
    ways = [_solved(again, place, linear[place], wrong, known & parts[place]) for place in parts]
    if None in ways or (len(bad) > 1 and len(parts) < len(linear)):
        return ()
    return tuple(way for way in ways if way)


def is_xor(event: Event) -> bool:
    """Whether an instruction adds vectors over GF(2)."""
    stem = stem_of(event)
    if not stem.startswith("pternlog"):
        return stem in XORS
    last = event.instruction.operands[-1]
    return isinstance(last, d.Immediate) and last.value & 0xFF == XOR_OF_THREE


def stem_of(event: Event) -> str:
    """The mnemonic without the v of VEX and EVEX."""
    return event.instruction.mnemonic.removeprefix("v")


def as_array(data: bytes) -> np.ndarray:
    """Bytes to compute with."""
    return np.frombuffer(data, np.uint8)
