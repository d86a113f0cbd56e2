"""From a proof that failed to a call that shows it, as small as it was found to be.

The shortest length, out of place, the shortest key; then each key, the tweak, IV or counter, and the data,
one after another, are replaced by simpler values as long as a call with them still goes wrong.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from aeskit.contracts import Buffer, Contract
from aeskit.machine import events
from aeskit.machine.errors import MachineError, NotDefined, UnknownInstruction
from aeskit.machine.loader import Image
from aeskit.machine.silicon import Silicon
from aeskit.verify import tries
from aeskit.verify.calls import Given, Prepared, prepare
from aeskit.verify.judge import Failure, Judge, Spent, limit
from aeskit.verify.proving.assumption import placed_at
from aeskit.verify.proving.failing_case import failing_case, hints
from aeskit.verify.proving.proof import Proof, Prover
from aeskit.verify.proving.proofs import Target
from aeskit.verify.review import code, hardware, proved
from aeskit.verify.review.counterexample import Counterexample, value
from aeskit.verify.review.model import Cell
from aeskit.verify.review.runs import LIMIT, observed, tidy, title
from aeskit.verify.simplest import simplest
from aeskit.verify.stepping import first_wrong
from aeskit.verify.tries import Values

BUDGET = 1500
"""What the calls that look for a counterexample may cost, and what those that make it small may."""
FOLLOWED = 8
"""Calls that the lane machine makes first: it sees every access to memory."""
ALWAYS = ("memory", "abi")
"""Kinds of findings that nearly every call shows, whatever its inputs."""
ROUNDS = 2
"""How often each input is made simpler: what one needs may hang on another."""


class NoneFound(Exception):
    """There is no counterexample; the text says why."""


@dataclass
class _Search:
    """One cell of the matrix, and the calls that it stands for."""

    image: Image
    target: Target
    contract: Contract
    base: Given
    judge: Judge
    letters: tuple[str, ...] = ()
    native: bool = False
    """Whether calls are made on this CPU, and not in the lane machine."""

    def prepared(self, some: Values) -> Prepared:
        """A call with these values; ValueError where the contract does not allow them."""
        asked = tries.given(self.base, some, self.letters)
        return prepare(self.image, self.target.function, self.contract, asked, quiet=True)

    def failure(self, some: Values) -> Failure | None:
        """What is wrong after the call, if it may be made."""
        try:
            prepared = self.prepared(some)
        except MachineError:
            raise
        except ValueError:  # a counter that the contract does not allow
            return None
        return self.judge.silicon(prepared) if self.native else self.judge.lanes(prepared)

    # ---- Finding one

    def find(self, others: Iterator[Values], kind: str, native: bool) -> tuple[Values, Failure]:
        """The first values with which the call goes wrong; NoneFound. `kind` is what the proof found."""
        try:
            for number, some in enumerate(others):
                self.native = native and number >= FOLLOWED
                found = self.failure(some)
                if found:
                    return some, found
        except Spent:
            pass
        what = title(self.contract, self.base.length, self.base.key_size, self.base.in_place)
        why = "it is rare, or the bytes are equal for a reason that the proof does not see"
        if kind == "secret":
            why = "their bytes are right, wherever the branches and addresses lead that depend on a secret"
        raise NoneFound(f"{self.judge.calls} calls do not show it ({what}): {why}")

    # ---- What shows whatever the inputs are

    def seen(self, drawn: Values, kind: str) -> tuple[Values, Failure] | None:
        """The simplest call, if what it does shows a finding of this kind, with the finding."""
        zeros = tries.apart({name: bytes(len(data)) for name, data in drawn.items()}, self.letters)
        prepared = self.prepared(zeros)
        prepared.load(self.judge.machine)
        run = events.lanes(self.judge.machine, self.target.function, LIMIT)
        self.judge.calls += 1
        for found, finding in observed(prepared, self.judge.machine, run):
            if found == kind:
                where = "" if finding.step is None else run.events[finding.step].instruction.where()
                text = tidy(finding.text)
                return zeros, Failure(kind, text if where in text else f"{text}; {where}")
        return None

    # ---- Making it small

    def small(self, some: Values, kind: str) -> Values:
        """The same values, each as simple as it can be for the call to go wrong in the same way."""
        best = dict(some)

        def shows(name: str, data: bytes) -> bool:
            asked = best | {name: data}
            if tries.apart(asked, self.letters) is not asked:
                return False
            found = self.failure(asked)
            if found is None or found.kind != kind:
                return False
            best[name] = data
            return True

        try:
            for _ in range(ROUNDS):
                before = dict(best)
                for name in before:
                    if any(best[name]):
                        best[name] = simplest(best[name], partial(shows, name))
                if best == before:
                    break
        except Spent:
            pass
        return best


def search(
    image: Image, target: Target, contracts: Sequence[Contract], wrong: Sequence[Cell], make: Any
) -> Counterexample:
    """A call that shows the smallest of the `wrong` cells; NoneFound with the reason.

    `make` is the engine that must confirm it, or None. `target` names the file as the command is to.
    """
    cell = min(wrong, key=lambda cell: (cell.length, cell.in_place, cell.key_bits))
    contract = next(c for c in contracts if c.name == cell.contract)
    base = Given(cell.length, cell.key_bits // 8, in_place=cell.in_place)
    first = prepare(image, target.function, contract, base, quiet=True)
    drawn, letters = tries.values(first), first.inputs.letters
    prover, case = _case(image, target.function, contract, cell)
    base = replace(base, places=_places(case, first))
    named = hints(prover, case, drawn)
    constants = tries.constants_of(code.read(image, target.function).instructions.values())
    native = make is Silicon and not image.externals  # what is not there would be a fault on this CPU
    with Judge(image, BUDGET) as judge:
        state = _Search(image, target, contract, base, judge, letters)
        kind = proved.kind(cell.findings[0]) if cell.findings else "result"
        seen = state.seen(drawn, kind) if kind in ALWAYS else None
        if seen:
            return _made(state, *seen, make)
        try:
            some, found = state.find(tries.others(drawn, letters, named, constants), kind, native)
        except UnknownInstruction:
            raise NoneFound("the lane machine does not run this instruction") from None
        except NotDefined as error:
            raise NoneFound(str(error)) from None
        judge.left = BUDGET
        found = (_here(state, some) if native else None) or found
        some = state.small(some, found.kind)
        judge.left = BUDGET
        last = state.failure(some) or found
        return _made(state, some, last, make)


def _case(image: Image, function: str, contract: Contract, cell: Cell) -> tuple[Prover, Any]:
    prover = Prover(image)
    proof = Proof(function, contract.name, cell.length, cell.key_bits // 8, cell.in_place)
    return prover, failing_case(prover, proof, contract)


def _places(case: Any, call: Prepared) -> tuple[tuple[str, int, int], ...]:
    """Where the case that fails has its buffers, as far as the code has asked."""
    fixed = case.alignments(call.call) if case else {}
    return tuple((name, *low) for name, low in fixed.items())


def _here(state: _Search, some: Values) -> Failure | None:
    """What is wrong on this CPU, which from then on makes the calls if something is."""
    state.native = True
    try:
        found = state.failure(some)
    except MachineError:
        found = None
    state.native = found is not None
    return found


# ---- Telling


def _made(state: _Search, some: Values, found: Failure, make: Any) -> Counterexample:
    given, contract = state.base, state.contract
    pairs = zip(found.expected, found.got, strict=True)
    at = next((n for n, (must, held) in enumerate(pairs) if must != held), 0)
    return Counterexample(
        function=state.target.function,
        call=title(contract, given.length, given.key_size, given.in_place) + placed_at(given.places),
        text=found.text,
        engine=_confirmed(state, some, make),
        command=_command(state, some),
        inputs=tuple(value(name, data) for name, data in some.items()),
        buffer=found.buffer,
        expected=found.expected.hex(),
        got=found.got.hex(),
        block=at // 16,
        step=_first_wrong(state, some) if found.kind == "result" else "",
        calls=state.judge.calls,
    )


def _first_wrong(state: _Search, some: Values) -> str:
    asked = tries.given(state.base, some, state.letters)
    return first_wrong(prepare(state.image, state.target.function, state.contract, asked))


def _confirmed(state: _Search, some: Values, make: Any) -> str:
    """Which engine shows it."""
    if state.native:
        return "so it is on this CPU"
    if make is None:
        return "so it is in the lane machine"
    as_it_is = hardware.Layout("as it is", partial(_at, state.base))
    for layout in (as_it_is, *hardware.LAYOUTS[:2]):
        out = hardware.Hardware()
        hardware.beside(out, replace(state.prepared(some)), layout, make, limit(state.base.length))
        if out.findings:
            return f"so it is {'on this CPU' if make is Silicon else 'in the emulator'}"
    return f"it is not so {'on this CPU' if make is Silicon else 'in the emulator'}"


def _at(given: Given, buffer: Buffer, start: int) -> int:
    low = given.low(buffer.name)
    return start + (buffer.place(0, low) if low[0] else 64)


def _command(state: _Search, some: Values) -> str:
    target, given = state.target, tries.given(state.base, some, state.letters)
    words = ["aeskit", "step", f"{target.path}:{target.function}", "--contract", target.contract]
    words += ["--contract-file", target.contract_file] if target.contract_file else []
    words += [word for folder in target.include for word in ("-I", folder)]
    words += [word for macro in target.define for word in ("-D", macro)]
    if given.key is not None:
        words += ["--key", given.key.hex()]
    elif len(state.contract.key_sizes) > 1:
        words += ["--key-bits", str(8 * given.key_size)]
    for name, mask, low in given.places:
        words += ["--at", f"{name}={low}/{mask + 1}"]
    words += ["--start", given.start.hex()] if given.start is not None else []
    words += [word for name, data in given.inputs for word in ("--input", f"{name}={data.hex()}")]
    if given.data is not None:
        words += ["--data", given.data.hex()]
    elif state.contract.has_length:
        words += ["--bytes", str(given.length)]
    return shlex.join(words + ["--in-place"] * given.in_place)
