"""One call proved with a function and with all its mutants: both codes over GF(2), side by side.

The function runs once a call. Where it first comes to a changed instruction its state is kept; the mutant
begins there. Once both states are the same expressions again, and the instruction is not met any more, the
rest of the mutant's run is the function's own, which is proved; else it goes on to its end and every byte
is compared.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from aeskit.contracts import Call
from aeskit.machine import decode as d
from aeskit.machine.errors import MachineError, OutsideDomain, UnknownInstruction
from aeskit.machine.run import Machine
from aeskit.machine.splits import Choose, Impossible, Split
from aeskit.verify import mutants_make
from aeskit.verify.assumption import Assumption
from aeskit.verify.mutants_make import Mutant
from aeskit.verify.mutants_reach import Kind
from aeskit.verify.proof import Proof, Prover
from aeskit.verify.proofs import Target

STEPS = 20_000
"""Instructions after which a mutant is given up; the longest run of ours takes about two thousand."""
LARGE = 2_000_000
"""Expressions after which a new table is begun: mutants leave many that nobody meets again."""
PATIENCE = 24
"""Instructions for which states are compared where no reason is asked for."""
CLEARS = ("vzeroupper", "vzeroall")
"""They read registers only to shorten them."""


@dataclass(frozen=True)
class Given:
    """One call that is proved: a length in bytes, a kind of call, a layout."""

    length: int
    kind: Kind
    in_place: bool


@dataclass
class Seen:
    """What two runs side by side showed."""

    visits: int = 0
    differed: dict[str, None] = field(default_factory=dict)
    readers: dict[str, None] = field(default_factory=dict)
    left: tuple[str, ...] = ()
    """What differs at the end, or where the comparison ended."""
    parted: str = ""
    """The instruction after which they go different ways."""
    steps: tuple[int, int] = (0, 0)
    """Instructions of the function's whole run, and of the mutant's."""
    whole: bool = False
    """Whether they were compared as long as anything differed."""

    def step(self, one: Machine, other: Machine, address: int) -> bool:
        """One instruction of both, which are at the same place; False where they part behind it."""
        at, end = one.state.rip, one.instruction(one.state.rip).following
        self.visits += at == address
        instruction = one.step()
        other.step()
        while at == address and at < other.state.rip < end:
            other.step()  # the nops that fill a shorter mutant up
        if one.state.rip != other.state.rip:
            self.parted = instruction.text
            return False
        if self.left and at != address and instruction.mnemonic not in CLEARS:
            read = [name for name in self.left if name in instruction.reads]
            if read:
                self.readers[f"{instruction.text} ({', '.join(read)})"] = None
        self.left = () if _same(one, other) else tuple(differences(one, other))
        self.differed |= dict.fromkeys(self.left)
        return True


@dataclass(frozen=True)
class Told:
    """What one call says of one mutant; an empty finding where its results are right."""

    finding: str
    refused: bool
    """The finding is that the domain cannot follow: not that a result is wrong."""
    seen: Seen


class Unproved(ValueError):
    """The function itself is not right."""


class Pair:
    """A function and its mutants with one table of expressions: what one computes serves the next."""

    def __init__(self, targets: tuple[Target, ...]) -> None:
        """`targets` are the contracts of one function of one file."""
        self.image, self.changed = targets[0].image(), targets[0].image()
        self.function = targets[0].function
        self.promises = [target.promise() for target in targets]
        self._begin()

    def _begin(self) -> None:
        self.one = Prover(self.image, limit=STEPS)
        self.other = Prover(self.changed, self.one.domain, limit=STEPS)
        self.other.machine.stretches = None  # its code changes from run to run
        self.steps = 0

    def run(
        self, given: Given, mutants: Iterable[Mutant], whole: frozenset[Mutant] = frozenset()
    ) -> Iterator[tuple[Mutant, Told]]:
        """What a call says of each mutant that it reaches; those in `whole` are compared to the end.

        Unproved where the function itself is not right.
        """
        if len(self.one.domain.expressions.terms) > LARGE:
            self._begin()
        contract = self.promises[given.kind.target]
        in_place = given.in_place and contract.in_place and contract.has_length
        asked = contract, given.length, given.kind.key_size, in_place
        try:
            call = self.one.call(*asked, Assumption())
            path = self._path(call, Proof(self.function, contract.name, *asked[1:]))
        except (Split, Choose, Impossible):
            yield from ((mutant, self._alone(mutant, asked)) for mutant in mutants)
            return
        self.steps = len(path)
        first, last = _visits(path)
        at: dict[int, list[Mutant]] = defaultdict(list)
        for mutant in mutants:
            at[mutant.address].append(mutant)
        self.other.place(call)
        self.one.place(call)
        machine = self.one.machine
        machine.start(self.function)
        for address in sorted(first.keys() & at.keys(), key=lambda address: first[address]):
            if machine.state.rip != address:
                machine.resume(STEPS, until=lambda rip, to=address: rip == to)  # type: ignore[misc]
            kept = Kept(machine)
            for mutant in at[address]:
                yield mutant, self._told(mutant, asked, call, last[address] - first[address], mutant in whole)
                kept.into(machine)

    def _path(self, call: Call, proof: Proof) -> list[int]:
        """The addresses of the function's own run, which is proved."""
        path: list[int] = []
        prover, machine = self.one, self.one.machine
        prover.place(call)
        try:
            machine.start(self.function)
            machine.resume(STEPS, until=path.append)  # type: ignore[arg-type]
            findings = prover.wrong(call)
        except MachineError as error:
            findings = [str(error)]
        if findings:
            raise Unproved(f"only a function that is right has mutants: {proof.title()}: {findings[0]}")
        return path

    def _told(self, mutant: Mutant, asked: Any, call: Call, until: int, whole: bool) -> Told:
        """`until`: steps from the instruction's first visit to its last."""
        seen, finding, refused = Seen(), "", False
        before = mutants_make.put(self.changed, mutant.address, mutant.code)
        self.other.machine.forget(mutant.address, len(before))
        Kept(self.one.machine).into(self.other.machine)
        try:
            if not self._meets(mutant.address, seen, until, whole):
                self.other.machine.resume(STEPS)
                finding = next(iter(self.other.wrong(call)), "")
        except MachineError as error:
            finding, refused = str(error), type(error) in (OutsideDomain, UnknownInstruction)
        except (Split, Choose, Impossible):
            return self._alone(mutant, asked)
        finally:
            mutants_make.put(self.changed, mutant.address, before)
            self.other.machine.forget(mutant.address, len(before))
        title = Proof(self.function, *_named(asked)).title()
        seen.steps = (self.steps, self.other.machine.steps)
        return Told(f"{title}: {finding}" if finding else "", refused, seen)

    def _meets(self, address: int, seen: Seen, until: int, whole: bool) -> bool:
        """Run both from the changed instruction on: whether their states meet for good.

        If not the other one stands where they part, at its end, or where patience ends.
        """
        one, other, made = self.one.machine, self.other.machine, 0
        while not one.finished and not other.finished:
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
        seen.whole = one.finished
        return False

    def _next(self, address: int) -> int:
        """Go on to the instruction's next visit, both in the same state; the steps that were made."""
        one = self.one.machine
        if one.state.rip == address:
            return 0
        before = one.steps
        one.resume(STEPS, until=lambda rip: rip == address)
        Kept(one).into(self.other.machine)
        return one.steps - before

    def _alone(self, mutant: Mutant, asked: Any) -> Told:
        """A proof with all its cases, where there is more than one."""
        before = mutants_make.put(self.changed, mutant.address, mutant.code)
        self.other.machine.forget(mutant.address, len(before))
        try:
            proof = self.other.prove(self.function, *asked)
        finally:
            mutants_make.put(self.changed, mutant.address, before)
            self.other.machine.forget(mutant.address, len(before))
        finding = "" if proof.proved else f"{proof.title()}: {proof.findings[0]}"
        return Told(finding, proof.refused, Seen())


def _named(asked: Any) -> tuple[Any, ...]:
    contract, *rest = asked
    return (contract.name, *rest)


def _visits(path: list[int]) -> tuple[dict[int, int], dict[int, int]]:
    """The number of the first and of the last step at each address."""
    last = {address: number for number, address in enumerate(path)}
    first = {address: number for number, address in reversed(list(enumerate(path)))}
    return first, last


_FLAGS = ("cf", "pf", "zf", "sf", "of")
"""Not af, which no instruction of the table reads."""


class Kept:
    """A copy of a machine's state: registers, flags, and memory that can be written."""

    def __init__(self, machine: Machine) -> None:
        """Copy it."""
        state = machine.state
        self.v, self.k, self.gpr, self.rip = state.v.copy(), list(state.k), list(state.gpr), state.rip
        self.flags = [getattr(state, name) for name in (*_FLAGS, "af")]
        self.memory = [region.data.copy() for region in _written(machine)]
        self.steps = machine.steps

    def into(self, machine: Machine) -> None:
        """Put it into a machine with the same memory."""
        state = machine.state
        state.v[...], state.k[:], state.gpr[:], state.rip = self.v, self.k, self.gpr, self.rip
        for name, value in zip((*_FLAGS, "af"), self.flags, strict=True):
            setattr(state, name, value)
        for region, data in zip(_written(machine), self.memory, strict=True):
            region.data[...] = data
        machine.steps = self.steps


def _written(machine: Machine) -> list[Any]:
    """Buffers that may be written, and the stack: all that a proof lets code write."""
    sections = {section.address for section in machine.image.sections}
    return [r for r in machine.memory.regions if "w" in r.permissions and r.address not in sections]


def _same(one: Machine, other: Machine) -> bool:
    a, b = one.state, other.state
    if a.gpr != b.gpr or not np.array_equal(a.v, b.v) or a.k != b.k:
        return False
    if any(getattr(a, name) != getattr(b, name) for name in _FLAGS):
        return False
    memory = zip(_written(one), _written(other), strict=True)
    return all(np.array_equal(mine.data, its.data) for mine, its in memory)


def differences(one: Machine, other: Machine) -> Iterator[str]:
    """The names of what is not the same."""
    a, b = one.state, other.state
    yield from (f"zmm{n}" for n in np.flatnonzero((a.v != b.v).any(axis=1)).tolist())
    yield from (name for n, name in enumerate(d.GPR_NAMES) if a.gpr[n] != b.gpr[n])
    yield from (f"k{n}" for n in range(8) if a.k[n] != b.k[n])
    if any(getattr(a, name) != getattr(b, name) for name in _FLAGS):
        yield "flags"
    for mine, its in zip(_written(one), _written(other), strict=True):
        if (mine.data != its.data).any():
            yield f"memory: {mine.name}"
