"""Proof for every length: the main loop closed by induction, what is shorter proved length by length.

The length is an unknown n. From entry the run comes to the main loop's head; one pass later it is there
again. That second state must be the one, but for what slides (see `heads`), in which another call arrives
there: the call for the message's rest, with n − s bytes, source and destination s bytes further on, and the
tweak, counter or IV that the contract says follows; and the first s bytes of output must be the model's. So
what n bytes do behind the first pass is what n − s bytes do from the head on, and by induction every length
ends as the lengths from `first` − s to `first` − 1 do. Those, and all that are shorter, are proved one by
one, by runs that forget at the head what the induction does not carry. Either call may have done some of its
own first blocks before the loop.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aeskit.bits import BLOCK
from aeskit.contracts import ANY, Call, Contract
from aeskit.machine.counters import Word
from aeskit.machine.errors import MachineError
from aeskit.machine.memory import Region
from aeskit.machine.splits import Choose, Impossible, Split
from aeskit.verify.proving.arrival import Arrival, differences, wanted
from aeskit.verify.proving.assumption import Assumption, Choices
from aeskit.verify.proving.case_lengths import LONGEST, lengths_of
from aeskit.verify.proving.heads import Head, risen_by, slide
from aeskit.verify.proving.main_loop import Watch
from aeskit.verify.proving.proof import FIRST_BUFFER, LENGTH, SAVED, Ids, Prover

WINDOW = 2304
"""Bytes of the buffers before the stride is known."""
STANDS_FOR = 1 << 40
"""What an unknown length is in an address: so far away that the buffer's two ends do not meet."""
TAIL = 48
PASSES = (1, 2)
MOST_BITS = 13
"""Bits that choose addresses, of which each value is a case."""
HEADS = 4
"""How many loops are tried as the main one."""
ROUNDS = 8
"""How often registers may turn out dead before the search is given up."""


class NotClosed(Exception):
    """The induction does not close, and why."""


class _Returns(NotClosed):
    """A case has no loop."""


@dataclass(frozen=True)
class Closed:
    """A loop that the induction closes: what it rests on."""

    function: str
    contract: str
    key_size: int
    in_place: bool
    head: Head = field(default_factory=lambda: Head(0))
    stride: int = 0
    passes: int = 1
    """Passes of the loop in a step of the induction: 2 where two sets of registers or memory take turns."""
    first: int = 0
    """Every length from here on follows; those below must be proved one by one."""
    carried: tuple[str, ...] = ()
    """Registers that a pass changes and the next one needs."""
    cases: int = 0
    findings: tuple[str, ...] = ()

    def base(self) -> int:
        """The lengths from here to `first` − 1 must be proved from the head on."""
        return self.first - self.stride


@dataclass
class EveryLength:
    """The induction for one function, contract, key size and layout."""

    prover: Prover
    function: str
    contract: Contract
    key_size: int
    in_place: bool
    lengths: Choices = field(default_factory=Choices)
    """Bits of the length that choose an address."""
    window: int = WINDOW
    tail: int = 0
    """Bytes at the end of source and destination that the run reaches by the length."""

    def close(self) -> Closed:
        """Find the loop and close it; the findings say why where that fails."""
        closed = self._try()
        return self._try() if closed.findings and self._choices().give_up() else closed

    def _try(self) -> Closed:
        blank = Closed(self.function, self.contract.name, self.key_size, self.in_place)
        known, said, tried = self.prover.loops.get(self.function), "", set[int]()
        try:
            if known is not None:
                return self._close(replace(blank, passes=known.passes), known.head, known.stride)
        except (NotClosed, MachineError) as error:
            said = str(error)
        for _ in range(HEADS):
            try:
                address, stride = self._find(frozenset(tried))
            except (NotClosed, MachineError) as error:
                said = said or str(error)
                break
            tried.add(address)
            for passes in PASSES:
                try:
                    return self._close(replace(blank, passes=passes), Head(address), stride * passes)
                except (NotClosed, MachineError) as error:
                    said = said or str(error)
        return replace(blank, findings=(f"not closed for every length: {said}",))

    # ---- Cases

    def _start(self) -> list[Assumption]:
        multiple = self.contract.multiple
        zeros = (multiple & -multiple) - 1 & 0xFF
        bits = ((LENGTH, 0, zeros, 0),) if zeros else ()
        fixed = sum(mask.bit_count() for *_, mask in (*self.lengths.fixed, *self._choices().fixed))
        if fixed > MOST_BITS:
            raise NotClosed(f"an address depends on {fixed} bits of the length and of counters")
        of_length = self.lengths.cases(Assumption(bits=bits))
        cases = [case for start in of_length for case in self._choices().cases(start)]
        low = -(-self.contract.minimum // multiple) * multiple
        return [replace(c, intervals=((self._base(c), (low, LONGEST - multiple)),)) for c in cases]

    def _choices(self) -> Choices:
        return self.prover.choices.setdefault((self.function, self.contract.name), Choices())

    def _word(self, assumption: Assumption) -> Word:
        return (*self.prover._inputs(assumption, {})(LENGTH, 6).tolist(), 0, 0)

    def _base(self, assumption: Assumption) -> Word:
        return self.prover.domain.counters.origin(self._word(assumption))[0]

    def _cases(self, run: Any) -> Iterator[tuple[int, Any]]:
        """(first length, outcome) of `run` in every unbounded case; (last + 1, None) of the others."""
        todo = self._start()
        while todo:
            assumption = todo.pop()
            base, offset = self.prover.domain.counters.origin(self._word(assumption))
            interval = dict(assumption.intervals)[base]
            if interval[1] < LONGEST - self.contract.multiple:
                yield interval[1] + offset + 1, None
                continue
            try:
                outcome = run(assumption)
            except _Returns:
                span = lengths_of(assumption, self._word(assumption), self.prover.domain, self.contract)
                raise NotClosed(f"{span} the function returns without a loop") from None
            except Split as split:
                todo += assumption.halves(split)
                continue
            except Impossible:
                continue
            except Choose as choice:
                if choice.name == LENGTH and (choice.index or choice.mask & 0xF0):
                    if self.tail:
                        raise NotClosed("an address depends on the length") from None
                    self.tail = TAIL
                    raise
                if choice.name == LENGTH:
                    self.lengths.fixed.append((choice.name, choice.index, choice.mask))
                else:
                    self._choices().hear(choice)
                raise
            yield interval[0] + offset, outcome

    def _every_case(self, run: Any) -> list[tuple[int, Any]]:
        while True:
            try:
                return list(self._cases(run))
            except Choose:
                continue

    # ---- The loop

    def _find(self, tried: frozenset[int]) -> tuple[int, int]:
        """The head's address and the stride, in the first case that has a loop; `_pass` asks every case.

        A loop in the main loop comes first where it does blocks of its own: then another is asked for than
        those that were `tried`.
        """
        self.window = WINDOW
        while True:
            try:
                cases = self._cases(lambda assumption: self._look(assumption, tried))
                found = next((outcome for _, outcome in cases if outcome), None)
            except Choose:
                continue
            if found is None:
                raise NotClosed("no case of the length is without an upper bound")
            return found

    def _least(self) -> int:
        """A short length that the contract allows: the rest of a message is never less.

        So the rest is a call that the contract knows, and what the contract assumes of a message of a stride
        and so many bytes holds for all that are longer.
        """
        return max(2 * BLOCK, -(-self.contract.minimum // BLOCK) * BLOCK)

    def _look(self, assumption: Assumption, tried: frozenset[int]) -> tuple[int, int]:
        machine = self.prover.machine
        self._place(self._call(assumption, self._least()), assumption)
        machine.start(self.function)
        watch = Watch(machine, self.prover.domain.counters, self._base(assumption), tried)
        machine.resume(self.prover.limit, until=watch)
        if machine.finished:
            raise _Returns
        return machine.state.rip, watch.stride

    def _call(self, assumption: Assumption, size: int, given: dict[str, Ids] | None = None) -> Call:
        """A call of which the model does `size` bytes."""
        return self.prover.call(self.contract, size, self.key_size, self.in_place, assumption, given)

    def _place(self, call: Call, assumption: Assumption, shift: int = 0) -> None:
        """The call with n − shift bytes, and `window` bytes of source and destination.

        For the tail, `STANDS_FOR` is n in addresses.
        """
        prover, counters = self.prover, self.prover.domain.counters
        base, offset = counters.origin(self._word(assumption))
        prover.place(call, shift, counters.add(self._word(assumption), -shift))
        prover.domain.stand_ins = {base: STANDS_FOR} if self.tail else {}
        memory, inputs = prover.machine.memory, prover.domain.expressions.inputs
        for buffer in call.buffers:
            if not buffer.moves:
                continue
            region = next(r for r in memory.regions_from(FIRST_BUFFER) if r.name == buffer.name)
            name = "data" if buffer.name in ("data", "source") else "old destination"
            region.data = inputs(name, shift + self.window)[shift:]
            if self.tail:
                at = region.address - shift + STANDS_FOR - self.tail
                end = inputs(f"the end of {name}", self.tail + offset)
                memory.add(Region(f"end of {buffer.name}", at, end, region.permissions))

    # ---- The induction

    def _close(self, blank: Closed, head: Head, stride: int) -> Closed:
        if stride % self.contract.multiple:
            rule = f"lengths are multiples of {self.contract.multiple}, so the rest is no call of its own"
            raise NotClosed(f"a step does {stride} bytes, but {rule}")
        self.window = 3 * stride + 4 * BLOCK
        for _ in range(ROUNDS):
            outcomes = self._every_case(lambda a, h=head: self._pass(a, h, stride, blank.passes))
            different = _joined([outcome[0] for _, outcome in outcomes if outcome])
            first = max(stride + self._least(), *(at for at, _ in outcomes))
            shortest = (first - self.tail) // BLOCK * BLOCK
            if shortest < self.window:  # no pass may touch what the shortest lacks
                self.window = shortest
                continue
            if not different:
                carried = sorted(set().union(*(outcome[1] for _, outcome in outcomes if outcome)))
                cases = sum(outcome is not None for _, outcome in outcomes)
                closed = replace(
                    blank, head=head, stride=stride, first=first, carried=tuple(carried), cases=cases
                )
                self.prover.loops[self.function] = closed
                return closed
            head = head.joined(different)
        raise NotClosed("registers keep changing from pass to pass")

    def _pass(
        self, assumption: Assumption, head: Head, stride: int, passes: int
    ) -> tuple[dict[str, int | None], set[str]]:
        """Registers that differ from the rest's call, with by how much, and those that a pass changes."""
        machine = self.prover.machine
        call = self._call(assumption, stride + 2 * BLOCK)
        self._place(call, assumption)
        machine.start(self.function)
        before = self._arrive(head)
        for finding in self.prover.forget(head, call):
            raise NotClosed(finding)
        for _ in range(passes):
            after = self._arrive(head)
        self._output(call, after, stride)
        moving = {buffer.name for buffer in call.buffers if buffer.moves}
        given = self._given(call, stride, self._least())
        rest = self._call(assumption, self._least(), given)
        self._place(rest, assumption, stride)
        regions = machine.memory.regions_from(FIRST_BUFFER)
        placed = {r.name: r.data.copy() for r in regions if r.name in moving}
        machine.start(self.function)
        expected = self._arrive(head)
        self._same_data(after, expected, placed)
        domain = self.prover.domain
        slide(domain, head, expected.gpr, expected.stack, more=1)
        names = set(differences(after, expected, moving)) - head.dead
        for name in names:
            if name.startswith("[end of"):
                raise NotClosed(f"the {name[1:-1]} is not left as the call for the rest needs it")
        different = {name: self._risen(name, expected, after) for name in names}
        return different, set(differences(before, after, moving)) - head.dead

    def _risen(self, name: str, expected: Arrival, after: Arrival) -> int | None:
        """By how much a register, or a word of the stack, is more than the rest's call needs it."""
        domain = self.prover.domain
        values = [state.value(name, domain.from_bytes) for state in (expected, after)]
        return None if None in values else risen_by(domain, *values)

    def _given(self, call: Call, stride: int, length: int) -> dict[str, Ids]:
        """The inputs of the call for the rest."""
        inputs = self.prover.domain.expressions.inputs
        given = {name: after(stride // BLOCK) for name, after in call.following.items()}
        for name in ("data", "old destination"):
            given[name] = inputs(name, stride + length)[stride:]
        return given

    def _arrive(self, head: Head) -> Arrival:
        machine = self.prover.machine
        machine.resume(self.prover.limit, stop=head.address)
        if machine.finished:
            raise _Returns
        state = machine.state
        buffers = [r for r in machine.memory.regions_from(FIRST_BUFFER) if r is not machine.stack]
        regions = {r.name: (r.address, r.data.copy()) for r in buffers}
        return Arrival(list(state.gpr), state.v.copy(), list(state.k), machine.stack.data.copy(), regions)

    def _output(self, call: Call, state: Arrival, stride: int) -> None:
        """The first `stride` bytes are the model's; of those behind them see `_same_data`."""
        for buffer in call.buffers:
            if not buffer.moves or not buffer.writable:
                continue
            data = state.regions[buffer.name][1]
            wrong = np.flatnonzero(data[:stride] != wanted(buffer)[:stride])
            if len(wrong):
                raise NotClosed(f"{buffer.name}: byte {wrong[0]} of a pass is not what the model says")

    def _same_data(self, after: Arrival, expected: Arrival, placed: dict[str, NDArray[Any]]) -> None:
        """Behind the step's bytes source and destination are as the call for the rest has left them.

        That call, as any, may have written some of its first bytes before the loop. What lies behind the
        first call's window, which that one cannot touch, is as it was `placed`.
        """
        for name, before in placed.items():
            (was, old), (at, data) = after.regions[name], expected.regions[name]
            known = len(data) - (at - was)
            if (old[at - was :] != data[:known]).any() or (data[known:] != before[known:]).any():
                raise NotClosed(f"{name} is not left as the call for the rest needs it")

    # ---- The lengths below

    def model_agrees(self, length: int, stride: int) -> bool:
        """Whether the model itself does `length` + stride bytes as stride bytes and then the rest."""
        todo = [Assumption()]
        while todo:
            assumption = todo.pop()
            try:
                if not self._agrees(length, stride, assumption):
                    return False
            except Split as split:
                todo += assumption.halves(split)
            except Impossible:
                continue
        return True

    def _agrees(self, length: int, stride: int, assumption: Assumption) -> bool:
        prover = self.prover
        whole = prover.call(self.contract, length + stride, self.key_size, self.in_place, assumption)
        given = self._given(whole, stride, length)
        rest = prover.call(self.contract, length, self.key_size, self.in_place, assumption, given)
        for a, b in zip(whole.buffers, rest.buffers, strict=True):
            if a.expected is None or a.expected is ANY or b.expected is ANY:
                continue
            if (wanted(a)[stride if a.moves else 0 :] != wanted(b)).any():
                return False
        return True


def _joined(every: list[dict[str, int | None]]) -> dict[str, int | None]:
    """What differs in some case; by how much where all of them say the same."""
    out: dict[str, int | None] = {}
    for name, rise in (item for one in every for item in one.items()):
        out[name] = rise if out.get(name, rise) == rise else None
    return out


__all__ = ["LONGEST", "SAVED", "Closed", "EveryLength", "NotClosed"]
