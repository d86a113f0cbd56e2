"""Where a run leaves the model: from wrong bytes of a buffer back to the first lane that differs.

What a lane or a general register must be follows from what was made of it (`undo`). Of several sources of
which one must have been wrong that one is to blame whose place a value of the model would take, or the only
one that the model does not know; of a general register the model knows halves of its values. An XOR of the
message with a lane that the model does not know is wrong as well, if the run is. What no rule explains is
where the search ends.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from aeskit.machine.again import Place
from aeskit.machine.decode import GPR_NAMES
from aeskit.machine.events import Events, is_register
from aeskit.machine.naming import LANE, SHORTEST, Names
from aeskit.machine.undo import ROUNDS, History, Must, Source, Way, all_of, as_array, is_xor, stem_of

BLOCKS = 16
"""Wrong blocks that are looked at in a buffer."""
MESSAGE = re.compile(r"[PC]\*?_\d+( ⊕ .*)?")
"""Names of blocks of the message, a round key added or not."""
_NUMBER = re.compile(r"\d+")
FLAGS = "flags"
MOST = 2000
"""Steps that are undone in one search."""


@dataclass(frozen=True)
class Wrong:
    """A lane, or a general register, that is not what it must be."""

    step: int
    """That set it."""
    register: str
    """By its full name: zmm6, r8."""
    lane: int
    """Of a vector register."""
    name: str
    """What the model calls the value that must be there; empty where it has none."""
    must: bytes
    """Its bytes; where a bit is not known, as it is."""


@dataclass(frozen=True)
class _Meeting:
    """An XOR of a block of the message with something else."""

    step: int
    register: str
    lane: int
    made: bytes
    message: Source
    other: Source


def divergence(
    run: Events,
    names: Names,
    buffers: Iterable[tuple[int, bytes, bytes]],
    given: Iterable[tuple[int, bytes]] = (),
) -> list[Wrong]:
    """The wrong lanes in the order of their steps; `buffers` are (address, bytes after the run, wanted).

    `given` are (address, bytes before the run) of buffers, from which alone inputs can be loaded.

    Empty where nothing is wrong, or no wrong byte was stored from a vector register.
    """
    buffers = list(buffers)
    search = _Search(run, names, [(address, wanted) for address, _, wanted in buffers], list(given))
    found: dict[tuple[int, str, int], Wrong] = {}
    for address, after, wanted in buffers:
        for at in _first_wrong(after, wanted):
            for wrong in (*search.from_byte(address + at, address, wanted), *search.from_message()):
                key = wrong.step, wrong.register, wrong.lane
                if key not in found or not found[key].name:
                    found[key] = wrong
    return sorted(found.values(), key=lambda wrong: (wrong.step, wrong.lane))


def _first_wrong(after: bytes, wanted: bytes) -> list[int]:
    """The first wrong byte of each block that has one."""
    wrong = np.flatnonzero(as_array(after) != as_array(wanted))
    _, first = np.unique(wrong // LANE, return_index=True)
    return [int(at) for at in wrong[first][:BLOCKS]]


class _Search:
    """One run beside the values of its model."""

    def __init__(
        self, run: Events, names: Names, wanted: list[tuple[int, bytes]], given: list[tuple[int, bytes]]
    ) -> None:
        self.run, self.names, self.held = run, names, History(run)
        self.wanted, self.given = wanted, given
        self.message: tuple[Wrong, ...] | None = None
        self.seen: dict[tuple[int, Place], int] = {}
        """How many bytes were known of what was found wrong."""
        self.lanes = {
            data[at : at + LANE]
            for event in run.events
            for name, data in event.values.items()
            if is_register(name)
            for at in range(0, len(data), LANE)
        }

    def from_byte(self, byte: int, address: int, wanted: bytes) -> Iterator[Wrong]:
        """The lanes behind one wrong byte of a buffer that lies at `address`; both are addresses."""
        held, last = self.held, len(self.run.events)
        step = held.store(byte, byte + 1, last)
        if step < 0:
            return
        place = held.stored(step, byte)
        must, known = as_array(held.written(step, place)).copy(), np.zeros(place.size, np.uint8)
        for at in range(place.size):
            here = place.at + at
            if 0 <= here - address < len(wanted) and held.store(here, here + 1, last) == step:
                must[at], known[at] = wanted[here - address], 0xFF
        for source, wants in self._blamed(step, place, Must(must, known)):
            yield from self._behind(step, source, wants)

    def _behind(self, before: int, source: Source, must: Must) -> Iterator[Wrong]:
        """The lanes that are not what they must be, backwards; `source` was read by the step `before`.

        What little speaks for, as for the one bit that a mask was made of, is told where it leads to a value
        of the model or to an instruction that nothing behind it explains, not where it ends at what is right.
        """
        ahead: list[tuple[int, Source, Must, tuple[Wrong, ...]]] = [(before, source, must, ())]
        while ahead:
            before, source, must, doubtful = ahead.pop()
            if not must.differs(source.data) or self._misplaced(source, before, must):
                continue
            if source.register and self._elsewhere(before, must):
                continue
            if not source.register:
                if source.place.size >= SHORTEST:  # of fewer bytes the address may be to blame as well
                    ahead += [(*one, doubtful) for one in self._stored(before, source, must)]
                continue
            step, place = self.held.writer(source.place, before), source.place
            known = int(np.count_nonzero(must.known == 0xFF))
            if step < 0 or known <= self.seen.get((step, place), -1) or len(self.seen) > MOST:
                continue
            self.seen[step, place] = known
            found, ways = self._found(step, source, must)
            if found is not None:
                clear = source.plain and not doubtful and place.name[1:3] == "mm"
                doubtful = (*doubtful, found)
                if found.name or clear or self._ends(step, source, must):
                    yield from doubtful
                    doubtful = ()
            ahead += [(step, *one, doubtful) for one in ways]

    def _found(self, step: int, source: Source, must: Must) -> tuple[Wrong | None, tuple[Way, ...]]:
        """What a step left wrong, none for flags, and what is to blame."""
        place = source.place
        if place.name == FLAGS:
            return None, self._blamed(step, place, must)
        called, whole = self._completed(must)
        ways = self._blamed(step, place, whole)
        if not ways and not must.whole() and (ways := self._blamed(step, place, must)):
            called, whole = "", must  # the rest of the value comes in later
        data = (whole.data & whole.known | as_array(source.data) & ~whole.known).tobytes()
        called = called or (self._halves(whole) if ways else "")
        return Wrong(step, place.name, place.at // LANE, called, data), ways

    def _ends(self, step: int, source: Source, must: Must) -> bool:
        """Whether nothing that a step read explains what it left: it is wrong itself, or its constant is.

        A zero may only be what stood there before an instruction that is missing, and a number that no
        immediate holds was never meant to be a constant.
        """
        if not must.whole() or not any(source.data) or self.held.ways(step, source.place, must).sources:
            return False
        high = must.data[4:].tobytes()
        return len(must.data) == LANE or high in (bytes(4), b"\xff" * 4)

    def _stored(self, before: int, source: Source, must: Must) -> Iterator[tuple[int, Source, Must]]:
        """What was stored where a step then read: each store by itself that a byte of it comes from."""
        held, place = self.held, source.place
        steps = [held.store(place.at + n, place.at + n + 1, before) for n in range(place.size)]
        for step in sorted({step for step in steps if step >= 0}):
            mine = [n for n, other in enumerate(steps) if other == step]
            begin, end = mine[0], mine[-1] + 1
            target = Place("", place.at + begin, end - begin)
            known = np.where([n in mine for n in range(begin, end)], must.known[begin:end], 0).astype(
                np.uint8
            )
            wants = Must(must.data[begin:end], known)
            right = self._stays(step, target, source.data[begin:end])
            if wants.differs(source.data[begin:end]) and not right:
                yield from ((step, *one) for one in self._blamed(step, target, wants))

    def _stays(self, step: int, place: Place, data: bytes) -> bool:
        """Whether a store is the last one there and left what must be there: it is only read by mistake."""
        last = self.held.store(place.at, place.at + place.size, len(self.run.events))
        parts = (wanted[place.at - at :][: place.size] for at, wanted in self.wanted if at <= place.at)
        return last == step and any(part == data for part in parts)

    def _misplaced(self, source: Source, before: int, must: Must) -> bool:
        """Whether it is a right value and only the wrong one to be used here.

        A value of the model that was computed is, unless what must be there was never held and follows from
        another block in the same way.
        """
        name = self._name(source.data)
        if not source.register or not name:
            return False
        step = self.held.writer(source.place, before)
        if step < 0:
            return True
        called, whole = self._completed(must)
        loaded = [(at, data) for kind, at, data in self.run.events[step].accesses if kind == "r"]
        if loaded:
            return self._right_load(step, *loaded[0], whole)
        if self._half(source.data) and not self.names.double(source.data[:8]):
            return True
        if not called or called.split(".")[0] == name.split(".")[0] or whole.data.tobytes() in self.lanes:
            return True
        return not any(self._blamed(step, source.place, one) for one in (whole, must))

    def _elsewhere(self, before: int, must: Must) -> bool:
        """Whether another register held what must be there: the wrong one was read."""
        _, whole = self._completed(must)
        if not whole.whole() or not whole.data.any() or len(whole.data) < 8:
            return False
        wants, held = whole.data.tobytes(), self.held
        if len(wants) < LANE:
            return any(held.value(name, before) == wants for name in GPR_NAMES)
        registers = (held.value(f"zmm{number}", before) for number in range(32))
        return any(wants == data[at : at + LANE] for data in registers for at in range(0, len(data), LANE))

    def _right_load(self, step: int, address: int, data: bytes, must: Must) -> bool:
        """Whether a buffer's own bytes were loaded, and what must have been is in none of them."""
        mine = any(at <= address < at + len(whole) for at, whole in self.given)
        if not mine or self.held.store(address, address + len(data), step) >= 0:
            return False
        known = np.flatnonzero(must.known == 0xFF)
        if len(known) < SHORTEST:
            return True
        first, last = int(known[0]), int(known[-1]) + 1
        wants = re.compile(
            b"".join(map(self._pattern, must.data[first:last], must.known[first:last])), re.DOTALL
        )
        return not any(wants.search(whole) for _, whole in self.given)

    @staticmethod
    def _pattern(byte: int, known: int) -> bytes:
        return re.escape(bytes([byte])) if known == 0xFF else b"."

    def _name(self, data: bytes) -> str:
        """Of a lane, or of a half of one."""
        return (self.names.name(data) if len(data) == LANE else "") or self._half(data)

    def _half(self, data: bytes) -> str:
        """The name of a half in a general register, or in a lane beside zeros."""
        return self.names.half(data[:8]) if len(data) >= 8 and not any(data[8:]) else ""

    def _completed(self, must: Must) -> tuple[str, Must]:
        """Its name, and all of its bytes where the model has one value that fits those known."""
        if len(must.data) != LANE:
            return (self.names.half(must.data.tobytes()) if must.whole() else ""), must
        data = self.names.fitting(must.data.tobytes(), (must.known == 0xFF).tobytes())
        return ("", must) if data is None else (self.names.name(data), all_of(data))

    def _halves(self, must: Must) -> str:
        """The name of the half of a lane that is known, if one is."""
        for part in (slice(0, 8), slice(8, 16)):
            if (must.known[part] == 0xFF).all() and len(must.data) == LANE:
                return self.names.half(must.data[part].tobytes())
        return ""

    def _blamed(self, step: int, place: Place, must: Must) -> tuple[Way, ...]:
        """The sources that should have been others, and what they must be: one, or all of several."""
        found = self.held.ways(step, place, must)
        ways = tuple(way for way in found.sources if way[1].differs(way[0].data))
        if found.together:
            return ways
        flags = tuple(way for way in ways if way[0].register == FLAGS)
        if flags:  # that another carry makes it right is no chance
            return flags
        named = tuple(way for way in ways if self._completed(way[1])[0])
        if stem_of(self.run.events[step]) == "pshufb":  # its other source, the order, may be to blame
            return named or tuple(way for way in ways if not way[1].whole())
        strange = tuple(way for way in ways if not self._name(way[0].data))
        # Beside a source that is 0 the other must be what the result must be: its name says nothing.
        plain = tuple(way for way in named if way[1].data.tobytes() == must.data.tobytes())
        telling = tuple(way for way in named if way not in plain or self.names.double(must.data.tobytes()))
        told = not any(self._made_zero(step, source) for source, _ in ways)
        named = tuple(way for way in named if way in telling or (told and self._follows(step, *way)))
        one = next((few for few in (telling, strange, named, ways) if len(few) == 1), ())
        if len(ways) > 1 and any(not must.data.any() for _, must in one):
            return ()  # nothing should have been added
        whole = len(ways) == 2 and must.whole() and len(must.data) == LANE
        return one or (self._both(ways, step, must) if whole else ())

    def _made_zero(self, before: int, source: Source) -> bool:
        """Whether a lane was computed to be 0, where it may be what is wrong."""
        if any(source.data) or source.register[1:3] != "mm":
            return False
        step = self.held.writer(source.place, before)
        return step < 0 or not any(kind == "r" for kind, *_ in self.run.events[step].accesses)

    def _follows(self, before: int, source: Source, must: Must) -> bool:
        """Whether the AES round that made a source, if one did, makes it right of a value of the model."""
        return not self._round(source, before) or self._leads_back(source, before, must.data)

    # ---- Both sources of an instruction are wrong

    def _both(self, ways: tuple[Way, ...], step: int, must: Must) -> tuple[Way, ...]:
        """Two values of the model that make what must be, if one leads further back."""
        round_ = ROUNDS.get(stem_of(self.run.events[step]))
        (first, _), (second, _) = ways
        if not round_ and not self._round(first, step):
            first, second = second, first
        values = np.array([as_array(data) for data in self.names.lanes_known()]).reshape(-1, LANE)
        others = (round_[0](values) if round_ else values) ^ must.data
        for value, other in zip(values, others, strict=True):
            if self.names.name(other.tobytes()) and self._leads_back(first, step, value):
                return ((first, all_of(value.tobytes())), (second, all_of(other.tobytes())))
        return ()

    def _round(self, source: Source, before: int) -> bool:
        """Whether a source was made by an AES round."""
        step = self.held.writer(source.place, before) if source.register else -1
        return step >= 0 and stem_of(self.run.events[step]) in ROUNDS

    def _leads_back(self, source: Source, before: int, value: np.ndarray) -> bool:
        """Whether the round that made a source would have made `value` of a value of the model."""
        if not self._round(source, before):
            return False
        step = self.held.writer(source.place, before)
        ways = self.held.ways(step, source.place, all_of(value.tobytes())).sources
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
            if not is_xor(event) or event.instruction.mask:
                continue
            for name, data in event.values.items():
                for lane in range(len(data) // LANE):
                    made = data[LANE * lane : LANE * lane + LANE]
                    place = Place(name, LANE * lane, LANE)
                    ways = self.held.summed(step, place, all_of(made)) if any(made) else ()
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
            yield from self._behind(met.step, met.other, all_of((as_array(sums[name]) ^ block).tobytes()))
