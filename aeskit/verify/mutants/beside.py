"""One call proved with a function and with all its mutants: both codes over GF(2), side by side.

The function runs once a case of the call. Where it first comes to a changed instruction its state is kept,
and the mutant begins there. Once both states are the same expressions again, and the instruction is not met
any more, the rest of the mutant's run is the function's own, which is proved; else it goes on to its end and
every byte is compared.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass, field, replace

from aeskit.contracts import Call, Contract
from aeskit.machine.errors import MachineError, OutsideDomain, SecretDependence, UnknownInstruction
from aeskit.machine.splits import Choose, Impossible, Split
from aeskit.verify.mutants import make
from aeskit.verify.mutants.domain import Tolerant
from aeskit.verify.mutants.make import Mutant
from aeskit.verify.mutants.reach import Kind
from aeskit.verify.mutants.states import STEPS, Kept, Seen, Side
from aeskit.verify.proving.assumption import Assumption, Choices
from aeskit.verify.proving.proof import MAX_CASES, Proof, Prover
from aeskit.verify.proving.proofs import Target

LARGE = 2_000_000
"""Expressions after which a new table is begun: mutants leave many that nobody meets again."""
PATIENCE = 24
"""Instructions for which states are compared where no reason is asked for."""


@dataclass(frozen=True)
class Given:
    """One call that is proved: a length in bytes, a kind of call, a layout."""

    length: int
    kind: Kind
    in_place: bool


@dataclass(frozen=True)
class Told:
    """What one call says of one mutant; an empty finding where its results are right."""

    finding: str
    refused: bool
    """The finding is that the domain cannot follow: not that a result is wrong."""
    seen: tuple[Seen, ...]
    """A case of the call each."""
    covered: bool = False
    """It is refused, and right all the same: with any value in place of what the domain cannot follow."""

    @property
    def wrong(self) -> bool:
        """Whether a result is wrong."""
        return bool(self.finding) and not self.refused

    def also(self, other: Told) -> Told:
        """With another case: what the worse of both says."""
        worse = max(self, other, key=lambda told: (told.wrong, told.refused, not told.covered))
        return replace(worse, seen=self.seen + other.seen)


class Unproved(ValueError):
    """The function itself is not right."""


@dataclass(frozen=True)
class _Asked:
    """One call as a prover takes it."""

    contract: Contract
    length: int
    key_size: int
    in_place: bool
    whole: frozenset[Mutant]
    """Mutants whose states are compared to the end."""

    @property
    def call(self) -> tuple[Contract, int, int, bool]:
        return self.contract, self.length, self.key_size, self.in_place

    def title(self, function: str) -> str:
        return Proof(function, self.contract.name, self.length, self.key_size, self.in_place).title()


@dataclass
class _Turn:
    """What is heard of some mutants while certain bits of public inputs are cases or an index."""

    asked: _Asked
    choices: Choices
    heard: dict[Mutant, Told] = field(default_factory=dict)
    apart: dict[Mutant, Choose] = field(default_factory=dict)
    """Mutants whose own run asks for more of such bits."""

    def hear(self, mutant: Mutant, told: Told) -> None:
        self.heard[mutant] = self.heard[mutant].also(told) if mutant in self.heard else told

    def done(self, mutant: Mutant) -> bool:
        return mutant in self.apart or (mutant in self.heard and self.heard[mutant].wrong)

    def narrower(self, mutant: Mutant, case: Assumption, question: Exception) -> list[Assumption]:
        """The cases of a case among which a mutant's own run must choose, if they are to be had here."""
        try:
            if isinstance(question, Choose):
                raise question
            return list(case.halves(question)) if isinstance(question, Split) else []
        except Choose as choice:
            self.apart[mutant] = choice
            return []


class Pair:
    """A function and its mutants with one table of expressions: what one computes serves the next."""

    def __init__(self, targets: tuple[Target, ...]) -> None:
        """`targets` are the contracts of one function of one file."""
        self.image, self.changed = targets[0].image(), targets[0].image()
        self.function = targets[0].function
        self.promises = [target.promise() for target in targets]
        self._choices: dict[str, Choices] = {}
        self._steps = 0
        self._begin()

    def _begin(self) -> None:
        self.domain = Tolerant()
        self.prover = Prover(self.image, self.domain, limit=STEPS)
        self.changed_prover = Prover(self.changed, self.domain, limit=STEPS)
        self.changed_prover.machine.stretches = None  # its code changes from run to run
        self.one, self.other = Side(self.prover.machine), Side(self.changed_prover.machine)
        machine = self.other.machine
        self.domain.objects = lambda: [r for r in machine.memory.regions if r is not machine.stack]

    def run(
        self, given: Given, mutants: Iterable[Mutant], whole: frozenset[Mutant] = frozenset()
    ) -> Iterator[tuple[Mutant, Told]]:
        """What a call says of each mutant that it reaches; those in `whole` are compared to the end.

        Unproved where the function itself is not right.
        """
        if len(self.domain.expressions.terms) > LARGE:
            self._begin()
        contract = self.promises[given.kind.target]
        in_place = given.in_place and contract.in_place and contract.has_length
        asked = _Asked(contract, given.length, given.kind.key_size, in_place, whole)
        choices = self._choices.setdefault(contract.name, Choices())
        yield from self._turn(asked, choices, tuple(mutants)).items()

    # ---- Cases

    def _turn(self, asked: _Asked, choices: Choices, mutants: Sequence[Mutant]) -> dict[Mutant, Told]:
        """All cases of a call; `choices` become those that the function's own run asks for."""
        while True:
            turn = _Turn(asked, choices)
            try:
                self._cases(turn, mutants)
                break
            except Choose as choice:
                choices.hear(choice)
            except Unproved:
                if not choices.give_up():
                    raise
        for mutant, more in turn.apart.items():
            mine = deepcopy(choices)
            mine.hear(more)
            turn.heard |= self._turn(asked, mine, (mutant,))
        for mutant in [m for m, told in turn.heard.items() if told.finding and choices.indices]:
            mine = deepcopy(choices)
            mine.give_up()  # an index that is kept unknown proves, and does not disprove
            turn.heard |= self._turn(asked, mine, (mutant,))
        return turn.heard

    def _cases(self, turn: _Turn, mutants: Sequence[Mutant]) -> None:
        left = [(case, tuple(mutants)) for case in turn.choices.cases(Assumption())]
        for _ in range(MAX_CASES):
            if not left:
                return
            case, every = left.pop()
            if some := [mutant for mutant in every if not turn.done(mutant)]:
                left += self._case(turn, case, some)
        many = f"{turn.asked.title(self.function)}: more than {MAX_CASES} cases of the counter"
        for mutant in {mutant for _, some in left for mutant in some}:
            turn.hear(mutant, Told(many, True, ()))

    def _case(
        self, turn: _Turn, case: Assumption, mutants: Sequence[Mutant]
    ) -> Iterator[tuple[Assumption, tuple[Mutant, ...]]]:
        """Hear what one case says; gives narrower cases, and the mutants that must meet them."""
        try:
            call = self.prover.call(*turn.asked.call, case)
            path = self._path(call, turn.asked)
        except Split as split:
            yield from ((half, tuple(mutants)) for half in case.halves(split))
            return
        except Impossible:
            return
        self._steps = len(path)
        for mutant, kept, until in self._met(call, path, mutants):
            try:
                turn.hear(mutant, self._told(mutant, kept, turn.asked, call, until))
            except (Split, Choose, Impossible) as question:
                yield from ((narrower, (mutant,)) for narrower in turn.narrower(mutant, case, question))

    def _met(
        self, call: Call, path: list[int], mutants: Sequence[Mutant]
    ) -> Iterator[tuple[Mutant, Kept, int]]:
        """Each mutant that the call comes to, the state there, and the steps from there to its last visit."""
        first, last = _visits(path)
        at: dict[int, list[Mutant]] = defaultdict(list)
        for mutant in mutants:
            at[mutant.address].append(mutant)
        self._start(call)
        for address in sorted(first.keys() & at.keys(), key=lambda address: first[address]):
            if self.one.machine.state.rip != address:
                self.one.resume(until=lambda rip, to=address: rip == to)  # type: ignore[misc]
            kept = Kept(self.one)
            until = last[address] - first[address]
            yield from ((mutant, kept, until) for mutant in at[address])
            kept.into(self.one)

    def _path(self, call: Call, asked: _Asked) -> list[int]:
        """The addresses of the function's own run, which is proved."""
        path: list[int] = []
        self._start(call)
        try:
            self.one.resume(until=path.append)
            findings = self.prover.wrong(call)
        except MachineError as error:
            findings = [str(error)]
        if findings:
            raise Unproved(
                f"only a function that is right has mutants: {asked.title(self.function)}: {findings[0]}"
            )
        return path

    def _start(self, call: Call) -> None:
        """Both stand at the beginning of the call."""
        for prover, side in ((self.changed_prover, self.other), (self.prover, self.one)):
            prover.place(call)
            side.start(self.function)

    def _told(self, mutant: Mutant, kept: Kept, asked: _Asked, call: Call, until: int) -> Told:
        """One case with one mutant; `until`: steps from the instruction's first visit to its last."""
        whole = mutant in asked.whole
        with self._in_place(mutant):
            seen, finding, error = self._followed(mutant.address, kept, call, until, whole)
            text = f"{asked.title(self.function)}: {finding}" if finding else ""
            if type(error) in (OutsideDomain, SecretDependence):
                with self.domain.anything() as noted:
                    other, wrong, _ = self._followed(mutant.address, kept, call, until, whole)
                other.unfollowed, other.rests = tuple(noted.unfollowed), tuple(noted.rests)
                if not wrong:
                    return Told(text, True, (other,), covered=True)
        return Told(text, type(error) in (OutsideDomain, UnknownInstruction), (seen,))

    @contextmanager
    def _in_place(self, mutant: Mutant) -> Iterator[None]:
        """The mutant's bytes are in the changed image."""
        before = make.put(self.changed, mutant.address, mutant.code)
        self.other.machine.forget(mutant.address, len(before))
        try:
            yield
        finally:
            make.put(self.changed, mutant.address, before)
            self.other.machine.forget(mutant.address, len(before))

    def _followed(
        self, address: int, kept: Kept, call: Call, until: int, whole: bool
    ) -> tuple[Seen, str, MachineError | None]:
        """What both show from the changed instruction on, what is wrong, and what stopped the mutant."""
        kept.into(self.one)
        kept.into(self.other)
        seen, finding, stopped = Seen(), "", None
        try:
            if not self._meets(address, seen, until, whole):
                self.other.resume()
                finding = next(iter(self.changed_prover.wrong(call)), "")
        except MachineError as error:
            finding, stopped = str(error), error
        seen.steps = (self._steps, self.other.machine.steps)
        return seen, finding, stopped

    def _meets(self, address: int, seen: Seen, until: int, whole: bool) -> bool:
        """Run both from the changed instruction on: whether their states meet for good.

        If not the other one stands where they part, at its end, or where patience ends.
        """
        one, other, made = self.one, self.other, 0
        while not one.machine.finished and not other.machine.finished:
            if not seen.step(one, other, address):
                return False
            made += 1
            if not seen.left:
                if made > until:
                    seen.whole = True
                    return True
                made += self._next(address)
            elif made > PATIENCE and not whole:
                break
        seen.whole = one.machine.finished
        return False

    def _next(self, address: int) -> int:
        """Go on to the instruction's next visit, both in the same state; the steps that were made."""
        machine = self.one.machine
        if machine.state.rip == address:
            return 0
        before = machine.steps
        self.one.resume(until=lambda rip: rip == address)
        Kept(self.one).into(self.other)
        return machine.steps - before


def _visits(path: list[int]) -> tuple[dict[int, int], dict[int, int]]:
    """The number of the first and of the last step at each address."""
    last = {address: number for number, address in enumerate(path)}
    first = {address: number for number, address in reversed(list(enumerate(path)))}
    return first, last
