"""Where a run leaves the model: from wrong bytes of a buffer back to the first lane that differs.

What a lane must be follows from what was made of it (`undo`). A store and a move pass bytes on; of an XOR or
an AES round that source is to blame whose place a value of the model would take, or the only one that the
model does not know. An XOR of the message with a lane that the model does not know is wrong as well, if the
run is. What no rule explains is where the search ends.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from aeskit.machine.events import Events
from aeskit.machine.naming import LANE, Names
from aeskit.machine.undo import ROUNDS, XORS, History, Must, Source, Ways, as_array, stem_of

BLOCKS = 16
"""Wrong blocks that are looked at in a buffer."""
MESSAGE = re.compile(r"[PC]\*?_\d+( ⊕ .*)?")
"""Names of blocks of the message, a round key added or not."""
_ALL = np.ones(LANE, bool)
_NUMBER = re.compile(r"\d+")


@dataclass(frozen=True)
class Wrong:
    """A lane that is not what it must be."""

    step: int
    """That set it."""
    register: str
    """By its full name: zmm6."""
    lane: int
    name: str
    """What the model calls the value that must be there; empty where it has none."""
    must: bytes
    """Its bytes; where one is not known, as they are."""


@dataclass(frozen=True)
class _Meeting:
    """An XOR of a block of the message with something else."""

    step: int
    register: str
    lane: int
    made: bytes
    message: Source
    other: Source


def divergence(run: Events, names: Names, buffers: Iterable[tuple[int, bytes, bytes]]) -> list[Wrong]:
    """The wrong lanes in the order of their steps; `buffers` are (address, bytes after the run, wanted).

    Empty where nothing is wrong, or no wrong byte was stored from a vector register.
    """
    search = _Search(run, names)
    found: dict[tuple[int, str, int], Wrong] = {}
    for address, after, wanted in buffers:
        for at in _first_wrong(after, wanted):
            for wrong in (*search.from_byte(address, at, wanted), *search.from_message()):
                found.setdefault((wrong.step, wrong.register, wrong.lane), wrong)
    return sorted(found.values(), key=lambda wrong: (wrong.step, wrong.lane))


def _first_wrong(after: bytes, wanted: bytes) -> list[int]:
    """The first wrong byte of each block that has one."""
    wrong = np.flatnonzero(as_array(after) != as_array(wanted))
    _, first = np.unique(wrong // LANE, return_index=True)
    return [int(at) for at in wrong[first][:BLOCKS]]


class _Search:
    """One run beside the values of its model."""

    def __init__(self, run: Events, names: Names) -> None:
        self.run, self.names, self.held = run, names, History(run)
        self.message: tuple[Wrong, ...] | None = None
        self.lanes = {
            data[at : at + LANE]
            for event in run.events
            for name, data in event.values.items()
            if name[1:3] == "mm"
            for at in range(0, len(data), LANE)
        }

    def from_byte(self, address: int, at: int, wanted: bytes) -> Iterator[Wrong]:
        """The lanes behind one wrong byte of a buffer."""
        held, last = self.held, len(self.run.events)
        step = held.store(address + at, address + at + 1, last)
        found = held.stored(step, address + at) if step >= 0 else None
        if not found:
            return
        source, begin = found
        must, known = as_array(source.data).copy(), np.zeros(LANE, bool)
        for byte in range(LANE):
            place = begin + byte - address
            if 0 <= place < len(wanted) and held.store(begin + byte, begin + byte + 1, last) == step:
                must[byte], known[byte] = wanted[place], True
        yield from self._behind(step, source, Must(must, known))

    def _behind(self, before: int, source: Source, must: Must) -> Iterator[Wrong]:
        """The lanes that are not what they must be, backwards; `source` was read by the step `before`."""
        ahead = [(before, source, must)]
        while ahead:
            before, source, must = ahead.pop()
            if not must.differs(source.data) or self._misplaced(source, before, must):
                continue
            if source.register < 0:
                step = self.held.store(source.address, source.address + LANE, before)
                found = self.held.stored(step, source.address) if step >= 0 else None
                ahead += [(step, found[0], must)] if found and found[1] == source.address else []
                continue
            step = self._writer(source, before)
            if step < 0:
                continue
            called, must = self._completed(must)
            data = np.where(must.known, must.data, as_array(source.data)).tobytes()
            yield Wrong(step, f"zmm{source.register}", source.lane, called, data)
            ahead += [(step, *one) for one in self._blamed(step, source.lane, must)]

    def _writer(self, source: Source, before: int) -> int:
        return self.held.writer(f"zmm{source.register}", before) if source.register >= 0 else -1

    def _misplaced(self, source: Source, before: int, must: Must) -> bool:
        """Whether it is a right value and only the wrong one to be used here.

        A value of the model that was computed is, unless what must be there was never held and follows from
        another block in the same way.
        """
        name = self.names.name(source.data)
        if source.register < 0 or not name:
            return False
        step = self._writer(source, before)
        if step < 0 or any(kind == "r" for kind, *_ in self.run.events[step].accesses):
            return step < 0
        called, must = self._completed(must)
        if not called or called.split(".")[0] == name.split(".")[0] or must.data.tobytes() in self.lanes:
            return True
        return not self._blamed(step, source.lane, must)

    def _completed(self, must: Must) -> tuple[str, Must]:
        """Its name, and all of its bytes where the model has one value that fits those known."""
        data = self.names.fitting(must.data.tobytes(), must.known.tobytes())
        return ("", must) if data is None else (self.names.name(data), Must(as_array(data), _ALL))

    def _blamed(self, step: int, lane: int, must: Must) -> Ways:
        """The sources that should have been others, and what they must be: one, or both of two."""
        if self.run.events[step].instruction.mask:
            must = must.only(self.held.selected(step, 4 * LANE)[LANE * lane : LANE * lane + LANE])
        ways = [way for way in self.held.ways(step, lane, must) if way[1].differs(way[0].data)]
        named = [way for way in ways if self._completed(way[1])[0]]
        strange = [way for way in ways if not self.names.name(way[0].data)]
        if stem_of(self.run.events[step]) == "pshufb":  # its other source, the order, may be to blame
            return named
        one = next((few for few in (named, strange, ways) if len(few) == 1), [])
        return one or (self._both(ways, step, must) if len(ways) == 2 and must.known.all() else [])

    # ---- Both sources of an instruction are wrong

    def _both(self, ways: Ways, step: int, must: Must) -> Ways:
        """Two values of the model that make what must be, if one leads further back."""
        round_ = ROUNDS.get(stem_of(self.run.events[step]))
        (first, _), (second, _) = ways
        if not round_ and not self._round(first, step):
            first, second = second, first
        values = np.array([as_array(data) for data in self.names.lanes_known()]).reshape(-1, LANE)
        others = (round_[0](values) if round_ else values) ^ must.data
        for value, other in zip(values, others, strict=True):
            if self.names.name(other.tobytes()) and self._leads_back(first, step, value):
                return [(first, Must(value, _ALL)), (second, Must(other, _ALL))]
        return []

    def _round(self, source: Source, before: int) -> bool:
        """Whether a source was made by an AES round."""
        step = self._writer(source, before)
        return step >= 0 and stem_of(self.run.events[step]) in ROUNDS

    def _leads_back(self, source: Source, before: int, value: np.ndarray) -> bool:
        """Whether the round that made a source would have made `value` of a value of the model."""
        if not self._round(source, before):
            return False
        ways = self.held.ways(self._writer(source, before), source.lane, Must(value, _ALL))
        return bool(ways) and bool(self._completed(ways[0][1])[0])

    # ---- The message meets a lane that the model does not know

    def from_message(self) -> tuple[Wrong, ...]:
        """The first XOR of a block of the message with a lane unknown to the model, and what lies behind."""
        if self.message is None:
            like: set[str] = set()
            strange: list[_Meeting] = []
            for met in self._meetings():
                if name := self.names.name(met.made):
                    like.add(_NUMBER.sub("#", name))
                elif not self.names.name(met.other.data):
                    strange.append(met)
            self.message = tuple(self._met(strange[0], like)) if strange else ()
        return self.message

    def _meetings(self) -> Iterator[_Meeting]:
        for step, event in enumerate(self.run.events):
            if not stem_of(event).startswith((*XORS, "pternlog")) or event.instruction.mask:
                continue
            for name, data in event.values.items():
                for lane in range(len(data) // LANE):
                    made = data[LANE * lane : LANE * lane + LANE]
                    ways = self.held.ways(step, lane, Must(as_array(made), _ALL)) if any(made) else []
                    called = [bool(MESSAGE.fullmatch(self.names.name(source.data))) for source, _ in ways]
                    if called in ([True, False], [False, True]):
                        at = called.index(True)
                        yield _Meeting(step, name, lane, made, ways[at][0], ways[1 - at][0])

    def _met(self, met: _Meeting, like: set[str]) -> Iterator[Wrong]:
        """What must stand there: a sum of the block and an earlier value, named as where others meet."""
        places = {data: at for at, data in enumerate(self.names.lanes_known())}
        block, sums = as_array(met.message.data), {}
        for data, at in places.items():
            rest = (as_array(data) ^ block).tobytes()
            if self.names.name(rest) and places.get(rest, -1) < at:
                sums[self.names.name(data)] = data
        fits = [name for name in sums if _NUMBER.sub("#", name) in like] or list(sums)
        for name in fits[:1]:
            yield Wrong(met.step, met.register, met.lane, name, sums[name])
            yield from self._behind(met.step, met.other, Must(as_array(sums[name]) ^ block, _ALL))
