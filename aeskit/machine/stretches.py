"""Stretches of a run, remembered: code that reads the same values again is not executed again.

A proof runs the same code on the same expressions many times: at lengths that differ in their tails alone,
under contracts that differ in a flag. A stretch is a piece of a run up to the next instruction that reads
what hangs on the length. While it is first run, registers and flags hold `UNREAD`, which no operation
takes; just before an instruction, what it is said to read is put in place and noted, as is every byte of
memory that is read. So the effect rests on what was noted and on nothing else, whatever is said of the
instructions: had one read more, an operation would have failed or `UNREAD` be left among the results, and
nothing would be remembered. Where all that was noted holds again, and every access is allowed, the effect
is put in place at once.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from aeskit.machine.errors import MemoryFault
from aeskit.machine.memory import UNREAD, show
from aeskit.machine.realigned import Frames
from aeskit.machine.semantics import Array
from aeskit.machine.splits import Choose, Impossible, Split
from aeskit.machine.touched import Spans, Undeclared, touched
from aeskit.machine.uses import Uses, uses_of

if TYPE_CHECKING:
    from aeskit.machine.run import Machine
    from aeskit.machine.symbolic import Symbolic

RSP = 4
FLAGS = ("cf", "pf", "af", "zf", "sf", "of")
LONGEST = 512
"""Instructions of a stretch at most."""
SHORTEST = 3
"""Fewer are run as fast one by one."""
PATIENCE = 3
"""So often may no stretch be found at an address before none is looked for."""
TRIED = 256
"""After so many at an address, it is kept up where they are met again at least half as often."""
KEPT = 192 << 20
"""Bytes of what is remembered, about; then all of it is forgotten."""

_V = UNREAD + (np.arange(32 * 64).reshape(32, 64) << 8)
_GPR = [tuple(UNREAD + (4096 + 8 * n + byte << 8) for byte in range(8)) for n in range(16)]
_K: list[Any] = [object() for _ in range(8)]
_FLAGS: dict[str, Any] = {name: object() for name in FLAGS}
_HIDDEN = frozenset(map(id, (*_GPR, *_K, *_FLAGS.values())))


class _State(NamedTuple):
    v: Array
    gpr: list[Any]
    k: list[Any]
    flags: dict[str, Any]
    memory: dict[int, Array]
    """By a region's address."""
    aligned: Frames
    """Stack pointers that were aligned."""


@dataclass(eq=False, slots=True)
class _Shape:
    """Registers that a stretch reads."""

    v: Array
    gpr: tuple[int, ...]
    k: tuple[int, ...]
    flags: tuple[str, ...]


@dataclass(slots=True)
class _Effect:
    """What a stretch leaves."""

    rip: int
    steps: int
    rows: Array
    v: Array
    gpr: list[tuple[int, Any]]
    k: list[tuple[int, Any]]
    flags: list[tuple[str, Any]]
    memory: list[tuple[int, Array]]
    read_back: Spans
    writes: frozenset[str]
    aligned: Frames


@dataclass(eq=False, slots=True)
class _Place:
    """What begins at an address."""

    shapes: list[_Shape] = field(default_factory=list)
    missed: int = 0
    tried: int = 0
    again: int = 0

    def hopeless(self) -> bool:
        """Whether it is not worth while to look here."""
        return self.missed >= PATIENCE or (self.tried >= TRIED and 2 * self.again < self.tried)


class Stretches:
    """The stretches of one machine over GF(2)."""

    def __init__(self, machine: Machine) -> None:
        """Nothing is remembered yet."""
        self.machine = machine
        domain: Any = machine.domain
        self.domain: Symbolic = domain
        self.by_length: set[str] = set()
        """General registers whose values hang on the length, and ``flags``: only a hint where to end."""
        self.clear()

    def clear(self) -> None:
        """Forget all: the code may have changed."""
        self._places: dict[Any, _Place] = {}
        self._spans: dict[Any, list[Spans]] = {}
        self._effects: dict[Any, _Effect] = {}
        self._uses: dict[int, Uses] = {}
        self._bytes = 0

    def begin(self) -> None:
        """A run begins or goes on: what answers hang on besides registers and memory is settled."""
        self._context = self.domain.context()
        self._off = False

    def advance(self, rip: int, stop: int | None, left: int) -> int:
        """The steps of the stretch that begins here, done; 0 where there is none. rip is set."""
        if self._off:
            return 0
        uses = self._uses.get(rip) or self._look(rip)
        if uses.breaks or not uses.scalars.isdisjoint(self.by_length):
            return 0
        place = self._places.get((rip, stop))
        if place is None:
            place = self._places[rip, stop] = _Place()
        if place.hopeless():
            return 0
        return self._again(place, rip, stop, left) or self._first(place, rip, stop, left)

    def passed(self, rip: int) -> None:
        """An instruction was run by itself: what hangs on the length is followed."""
        uses = self._uses.get(rip) or self._look(rip)
        if uses.scalars.isdisjoint(self.by_length):
            self.by_length -= uses.writes
        else:
            self.by_length |= uses.writes

    # ---- Again

    def _again(self, place: _Place, rip: int, stop: int | None, left: int) -> int:
        state = self.machine.state
        for shape in place.shapes:
            now = _State(state.v, state.gpr, state.k, _flags(state), {}, self.domain.aligned)
            key = self._key(rip, stop, shape, now)
            for spans in self._spans.get(key, ()):
                content = self._content(spans)
                effect = self._effects.get((key, spans, content)) if content is not None else None
                if effect is not None and effect.steps <= left and self._allowed(effect):
                    self._apply(effect)
                    place.again += 1
                    return effect.steps
        return 0

    def _key(self, rip: int, stop: int | None, shape: _Shape, state: _State) -> Any:
        return (
            self._context,
            rip,
            stop,
            id(shape),
            state.v[shape.v].tobytes(),
            *[state.gpr[n] for n in shape.gpr],
            *[state.k[n] for n in shape.k],
            *[state.flags[name] for name in shape.flags],
            state.aligned,
        )

    def _content(self, spans: Spans) -> bytes | None:
        memory, out = self.machine.memory, []
        try:
            for address, size in spans:
                region, at = memory.find("read", address, size)
                out.append(region.data[at : at + size].tobytes())
        except MemoryFault:
            return None
        return b"".join(out)

    def _allowed(self, effect: _Effect) -> bool:
        memory = self.machine.memory
        try:
            for address, data in effect.memory:
                memory.find("write", address, len(data))
            for address, size in effect.read_back:
                memory.find("read", address, size)
        except MemoryFault:
            return False
        return True

    def _apply(self, effect: _Effect) -> None:
        state, memory = self.machine.state, self.machine.memory
        state.v[effect.rows] = effect.v
        for number, value in effect.gpr:
            state.gpr[number] = value
        for number, value in effect.k:
            state.k[number] = value
        for name, value in effect.flags:
            setattr(state, name, value)
        for address, data in effect.memory:
            memory.write(address, data)
        self.by_length -= effect.writes
        self.domain.aligned = effect.aligned
        state.rip = effect.rip

    # ---- The first time

    def _first(self, place: _Place, rip: int, stop: int | None, left: int) -> int:
        """Run the stretch and remember it; 0, and nothing done, where that fails."""
        memory = self.machine.memory
        place.tried += 1
        kept, hints, derived = self._hide(), set(self.by_length), self.domain.counters.derived
        memory.log, memory.hidden = [], kept.memory
        try:
            run = self._run(rip, stop, min(left, LONGEST), kept)
            log, memory.log = memory.log, None
            self._keep(place, rip, stop, kept, run, log, derived)
        except Exception as error:  # what is no fault of hiding comes again where the code is run by itself
            self._put_back(kept)
            self.by_length = hints
            place.missed += not isinstance(error, Split | Choose | Impossible)
            self._off = True
            return 0
        finally:
            memory.log = memory.hidden = None
        place.missed += run.steps < SHORTEST
        self.machine.state.rip = run.rip
        return run.steps

    def _hide(self) -> _State:
        """Nothing can be read that is not shown: registers, flags, and memory that is not always the same."""
        state, memory = self.machine.state, {}
        for region in self.machine.changing():
            memory[region.address] = region.data.copy()
            region.data[...] = UNREAD
        aligned = self.domain.aligned
        kept = _State(state.v.copy(), list(state.gpr), list(state.k), _flags(state), memory, aligned)
        state.v[...], state.gpr[:], state.k[:] = _V, _GPR, _K
        state.gpr[RSP] = kept.gpr[RSP]  # what the stack permits hangs on it at every access
        for name, unread in _FLAGS.items():
            setattr(state, name, unread)
        return kept

    def _put_back(self, kept: _State) -> None:
        state = self.machine.state
        for region in self.machine.changing():
            region.data[...] = kept.memory[region.address]
        state.v[...], state.gpr[:], state.k[:] = kept.v, kept.gpr, kept.k
        self.domain.aligned = kept.aligned
        for name, value in kept.flags.items():
            setattr(state, name, value)

    def _run(self, rip: int, stop: int | None, left: int, kept: _State) -> _Run:
        machine, run = self.machine, _Run(rip)
        while run.steps < left and not (run.steps and run.rip == stop):
            uses = self._uses.get(run.rip) or self._look(run.rip)
            if uses.breaks or not uses.scalars.isdisjoint(self.by_length):
                break
            self._show(uses, kept, run)
            execute, following, *_ = machine.bound(run.rip)
            target = execute()
            run.rip = following if target is None else target
            run.steps += 1
            run.writes |= uses.writes
            self.by_length -= uses.writes
        return run

    def _show(self, uses: Uses, kept: _State, run: _Run) -> None:
        """Put what the instruction is said to read in the place of `UNREAD`."""
        state = self.machine.state
        for n in uses.v:
            if show(state.v[n], kept.v[n]):
                run.v.add(n)
        for n in uses.gpr:
            if state.gpr[n] is _GPR[n]:
                state.gpr[n] = kept.gpr[n]
                run.gpr.add(n)
        for n in uses.k:
            if state.k[n] is _K[n]:
                state.k[n] = kept.k[n]
                run.k.add(n)
        for name in FLAGS if uses.flags else ():
            if getattr(state, name) is _FLAGS[name]:
                setattr(state, name, kept.flags[name])
                run.flags.add(name)

    def _look(self, rip: int) -> Uses:
        found = self._uses[rip] = uses_of(self.machine.instruction(rip))
        return found

    # ---- What is remembered

    def _keep(
        self, place: _Place, rip: int, stop: int | None, kept: _State, run: _Run, log: Any, derived: int
    ) -> None:
        rows, gpr, k, flags = self._changed(kept, run)
        for region in self.machine.changing():
            show(region.data, kept.memory[region.address])
        spans, content, written, read_back = touched(self.machine.memory, log)
        if run.steps < SHORTEST or self.domain.counters.derived != derived:
            return  # what a shift of a length told is not told again
        state = self.machine.state
        wrote, aligned = frozenset(run.writes), self.domain.aligned
        effect = _Effect(
            run.rip, run.steps, rows, state.v[rows], gpr, k, flags, written, read_back, wrote, aligned
        )
        key = self._key(rip, stop, self._shape(place, run), kept)
        spans_of = self._spans.setdefault(key, [])
        if spans not in spans_of:
            spans_of.append(spans)
        self._effects[key, spans, content] = effect
        self._bytes += len(key[4]) + len(content) + effect.v.nbytes + sum(w.nbytes for _, w in written) + 2000
        if self._bytes > KEPT:
            self._places, self._spans, self._effects, self._bytes = {}, {}, {}, 0

    def _shape(self, place: _Place, run: _Run) -> _Shape:
        v, gpr, k = (tuple(sorted(s)) for s in (run.v, run.gpr, run.k))
        flags = tuple(name for name in FLAGS if name in run.flags)
        for shape in place.shapes:
            if (tuple(shape.v), shape.gpr, shape.k, shape.flags) == (v, gpr, k, flags):
                return shape
        place.shapes.append(_Shape(np.array(v, np.intp), gpr, k, flags))
        return place.shapes[-1]

    def _changed(self, kept: _State, run: _Run) -> tuple[Array, list[Any], list[Any], list[Any]]:
        """Registers that the stretch has written, with what it left; what it has not is shown again."""
        state = self.machine.state
        rows = self._rows(kept, run)
        gpr = self._scalars(state.gpr, _GPR, kept.gpr, run.gpr)
        k = self._scalars(state.k, _K, kept.k, run.k)
        now = [getattr(state, name) for name in FLAGS]
        read = {at for at, name in enumerate(FLAGS) if name in run.flags}
        flags = self._scalars(now, list(_FLAGS.values()), list(kept.flags.values()), read, ids=True)
        for name, value in zip(FLAGS, now, strict=True):
            setattr(state, name, value)
        return rows, gpr, k, [(FLAGS[at], value) for at, value in flags]

    def _rows(self, kept: _State, run: _Run) -> Array:
        v = self.machine.state.v
        hidden = v >= UNREAD
        if (v[hidden] != _V[hidden]).any():
            raise Undeclared
        v[hidden] = kept.v[hidden]
        whole = hidden.all(1)
        run.v |= set(np.flatnonzero(hidden.any(1) & ~whole).tolist())
        same = (v == kept.v).all(1)
        read = np.zeros(32, bool)
        read[list(run.v)] = True
        return np.flatnonzero(~whole & ~(same & read))

    def _scalars(
        self, now: list[Any], unread: list[Any], kept: list[Any], read: set[int], ids: bool = False
    ) -> list[tuple[int, Any]]:
        """(number, value) of what is written; with `ids` an int may be an id, else it is a number."""
        out = []
        for n, value in enumerate(now):
            if value is unread[n]:
                now[n] = kept[n]
                continue
            parts = value if isinstance(value, tuple) else (value,)
            if id(value) in _HIDDEN:
                raise Undeclared
            if (ids or isinstance(value, tuple)) and any(type(p) is int and p >= UNREAD for p in parts):
                raise Undeclared
            if n not in read or value is not kept[n]:
                out.append((n, value))
        return out


@dataclass(slots=True)
class _Run:
    """A stretch while it is run the first time: where it stands, what it has read and written."""

    rip: int
    steps: int = 0
    v: set[int] = field(default_factory=set)
    gpr: set[int] = field(default_factory=lambda: {RSP})
    k: set[int] = field(default_factory=set)
    flags: set[str] = field(default_factory=set)
    writes: set[str] = field(default_factory=set)


def _flags(state: Any) -> dict[str, Any]:
    return {name: getattr(state, name) for name in FLAGS}
