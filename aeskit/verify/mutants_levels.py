"""What can kill a mutant: known answers, the verification's cases, the proof. Nothing runs on this CPU.

The first two run in the emulator with bounded steps, the proof in the lane machine: a mutant may crash, loop
or write anywhere and harms nobody.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from aeskit import implementations
from aeskit.machine.errors import MachineError, OutsideDomain, UnknownInstruction
from aeskit.machine.loader import Image
from aeskit.verify import cases, inputs, known, layouts, mutants_make, oracle
from aeskit.verify.differential import Expected, examine
from aeskit.verify.emulated import EmulatedRunner
from aeskit.verify.inputs import Inputs
from aeskit.verify.layouts import Layout
from aeskit.verify.mutants_make import Mutant
from aeskit.verify.mutants_reach import Kind, Reach
from aeskit.verify.proof import Proof, Prover
from aeskit.verify.proofs import Target

BRANCHES = 20_000
"""Taken branches after which the emulator gives a mutant up; the longest case takes about a hundred."""
STEPS = 20_000
"""Instructions after which a proof gives a mutant up; the longest of ours takes about two thousand."""
LARGE = 1_000_000
"""Expressions after which a new table is begun: mutants leave many that nobody meets again."""
REFUSALS = 8
"""Proofs of one mutant that may end at what the domain cannot follow before the search for a fault ends."""
EVERYWHERE = Layout("out_of_place")


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a level says of a mutant: `finding` is empty where it lives; `checks` were made."""

    finding: str
    checks: int
    refused: bool = False
    """The finding is that the proof cannot follow the code: not that a result is wrong."""

    @property
    def killed(self) -> bool:
        """Whether something wrong was found."""
        return bool(self.finding) and not self.refused


@dataclass(frozen=True, slots=True)
class Check:
    """One call with what must come of it."""

    inputs: Inputs
    expected: Expected
    layout: Layout
    title: str

    def lengths(self) -> set[int]:
        """Of each piece."""
        bounds = [0, *self.layout.cuts, len(self.inputs.data)]
        return {end - begin for begin, end in pairwise(bounds)}


# ---- In the emulator --------------------------------------------------------------------------------------


class Emulated:
    """Known answers and verification of one of our own functions, under any of its mutants."""

    def __init__(self, image: Image, name: str, level: str = "brief") -> None:
        """EmulatorMissing or UnknownImplementation, in one line, where there can be none."""
        self.image, self.row, self.level = image, implementations.named(name), level
        self.runner = EmulatedRunner(steps=BRANCHES)

    @contextmanager
    def under(self, mutant: Mutant) -> Iterator[None]:
        """The mutant's code is in place."""
        self.runner.patch(mutant.address, mutant.code)
        try:
            yield
        finally:
            self.runner.patch(mutant.address, self.image.code_at(mutant.address, len(mutant.code)))

    def finding(self, check: Check) -> str:
        """What is wrong in one check; empty for nothing."""
        made = check.inputs
        context = oracle.context(made.mode, made.key)
        found = examine(self.runner, self.row.name, made, context, check.expected, check.layout)
        return f"{check.title}: {found}" if found else ""

    def known(self, mutant: Mutant) -> Verdict:
        """Every known answer, out of place: what a project's usual self-test does."""
        return self._run(mutant, self._known)

    def verified(self, mutant: Mutant, reached: frozenset[int], longest: int) -> Verdict:
        """The verification's cases that can reach the instruction, every length once before all the rest.

        Lengths beyond `longest`, of which it is not known, are taken too.
        """
        able = (c for c in self._cases if any(n in reached or n > longest for n in c.lengths()))
        return self._run(mutant, able)

    def _run(self, mutant: Mutant, checks: Iterator[Check] | list[Check]) -> Verdict:
        made = 0
        with self.under(mutant):
            for check in checks:
                made += 1
                if found := self.finding(check):
                    return Verdict(found, made)
        return Verdict("", made)

    @cached_property
    def _known(self) -> list[Check]:
        every = known.every(self.row.mode, self.row.direction)
        return [Check(known.inputs(k), known.expected(k), EVERYWHERE, k.title) for k in every]

    @cached_property
    def _cases(self) -> list[Check]:
        first: list[Check] = []
        rest: list[Check] = []
        for number, case in enumerate(cases.cases(self.row.mode, self.row.direction, self.level)):
            made = inputs.of(case)
            expected = oracle.expected(made)
            for place in layouts.of(case.mode, case.length, self.level, number):
                check = Check(made, expected, place, f"{case.title}, {place.title}")
                (first if place is EVERYWHERE or place.name == EVERYWHERE.name else rest).append(check)
        return self._known + first + rest


# ---- In the lane machine ----------------------------------------------------------------------------------


class _Prover(Prover):
    """A prover that keeps what stopped its machine."""

    stopped: MachineError | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        run = self.machine.resume

        def resume(limit: int = STEPS, until: Callable[[int], bool] | None = None) -> None:
            self.stopped = None
            try:
                run(limit, until)
            except MachineError as error:
                self.stopped = error
                raise

        self.machine.resume = resume  # type: ignore[method-assign]

    @property
    def refused(self) -> bool:
        """Whether the last run met something that the domain does not hold, or an unknown instruction."""
        return type(self.stopped) in (OutsideDomain, UnknownInstruction)


class Proofs:
    """Proofs of one function under any of its mutants; what was computed for one serves the next."""

    def __init__(self, targets: tuple[Target, ...], reach: Reach) -> None:
        """`targets` are the contracts of one function of one file."""
        self.image, self.function = targets[0].image(), targets[0].function
        self.promises = [target.promise() for target in targets]
        self.reach = reach
        self.prover = _Prover(self.image, limit=STEPS)

    def quick(self, mutant: Mutant) -> Verdict:
        """The shortest length of each class that reaches it, kinds of call and layouts in turn."""
        return self._prove(mutant, self._first(mutant.address))

    def full(self, mutant: Mutant) -> Verdict:
        """That length with every kind of call, every other length that reaches it with one in turn."""
        return self._prove(mutant, self._all(mutant.address))

    def _first(self, address: int) -> Iterator[tuple[int, Kind, bool]]:
        for number, (lengths, kinds) in enumerate(self.reach.of(address)):
            yield lengths[0], kinds[-1 - number % len(kinds)], number % 2 == 1

    def _all(self, address: int) -> Iterator[tuple[int, Kind, bool]]:
        every = self.reach.of(address)
        for number, (lengths, kinds) in enumerate(every):
            for turn, kind in enumerate(kinds, number):
                yield lengths[0], kind, turn % 2 == 0
        for lengths, kinds in every:
            for turn, length in enumerate(lengths[1:]):
                yield length, kinds[turn % len(kinds)], turn // len(kinds) % 2 == 0

    def _prove(self, mutant: Mutant, asked: Iterator[tuple[int, Kind, bool]]) -> Verdict:
        made, refusals = 0, []
        with self.under(mutant):
            for length, kind, in_place in asked:
                made += 1
                proof = self.one(length, kind, in_place)
                finding = "" if proof.proved else f"{proof.title()}: {proof.findings[0]}"
                if finding and not self.prover.refused:
                    return Verdict(finding, made)
                refusals += [finding] if finding else []
                if len(refusals) == REFUSALS:
                    break
        return Verdict(refusals[0], made, refused=True) if refusals else Verdict("", made)

    def one(self, length: int, kind: Kind, in_place: bool) -> Proof:
        """One proof of the code as it stands."""
        contract = self.promises[kind.target]
        in_place = in_place and contract.in_place and contract.has_length
        return self.prover.prove(self.function, contract, length, kind.key_size, in_place)

    @contextmanager
    def under(self, mutant: Mutant) -> Iterator[None]:
        """The mutant's code is in place."""
        if len(self.prover.domain.expressions.terms) > LARGE:
            self.prover = _Prover(self.image, limit=STEPS)
        before = mutants_make.put(self.image, mutant.address, mutant.code)
        self.prover.machine.forget(mutant.address, len(before))
        try:
            yield
        finally:
            mutants_make.put(self.image, mutant.address, before)
            self.prover.machine.forget(mutant.address, len(before))
