"""Proof of one length: machine code and model in the GF(2) domain, and every byte compared.

What "proved" says: for every key, tweak, IV, counter and every data of that length the function leaves in
each buffer what the contract asks for, touches nothing else, branches on nothing secret and keeps the
registers that it must keep. The run is one path, or one a case where a public counter decides.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aeskit.contracts import ANY, Buffer, Call, Contract, UInt32
from aeskit.machine.counters import Choose, Interval, Split, Unknown, Word
from aeskit.machine.decode import GPR_NAMES
from aeskit.machine.errors import MachineError, SecretDependence
from aeskit.machine.gf2 import keep
from aeskit.machine.loader import Image
from aeskit.machine.memory import Region
from aeskit.machine.run import MAX_STEPS, STACK_SIZE, STACK_TOP, Machine
from aeskit.machine.symbolic import Symbolic
from aeskit.verify.symbolic_models import SymbolicModel

Ids = NDArray[np.int64]

ARGUMENTS = (7, 6, 2, 1, 8, 9)
"""rdi rsi rdx rcx r8 r9 (System V AMD64 ABI, 3.2.3)."""
SAVED = (3, 5, 12, 13, 14, 15)
"""rbx rbp r12 to r15."""
FIRST_BUFFER = 0x2000_0000_0000
BUFFER_STEP = 0x1_0000_0000
ODD = 0x35
"""What is added to the address of a buffer that need not be aligned."""
MAX_CASES = 8192


class UnsetMask:
    """A mask register that nothing has set: using it is an error."""

    def _refuse(self, *other: Any) -> Any:
        raise SecretDependence("a mask register is used that was never set")

    __and__ = __rand__ = __or__ = __ror__ = __xor__ = __rxor__ = __add__ = __invert__ = __lshift__ = _refuse


@dataclass(frozen=True)
class Assumption:
    """One case: intervals of counters, and fixed bits of public inputs as (name, index, mask, value)."""

    intervals: tuple[tuple[Word, Interval], ...] = ()
    bits: tuple[tuple[str, int, int, int], ...] = ()

    def halves(self, split: Split) -> Iterator[Assumption]:
        """The two cases of a split."""
        others = tuple(item for item in self.intervals if item[0] != split.word)
        for half in split.halves:
            yield replace(self, intervals=(*others, (split.word, half)))


@dataclass(frozen=True)
class Proof:
    """The outcome for one length, key size and layout."""

    function: str
    contract: str
    length: int
    key_size: int
    in_place: bool
    cases: int = 0
    steps: int = 0
    findings: tuple[str, ...] = ()

    @property
    def proved(self) -> bool:
        """Whether nothing was found."""
        return not self.findings

    def title(self) -> str:
        """Function, contract, key, length and layout."""
        layout = "in place" if self.in_place else "out of place"
        return f"{self.function} ({self.contract}), AES-{8 * self.key_size}, {self.length} bytes, {layout}"


@dataclass
class Prover:
    """Proves functions of one image; what was computed for one length serves the next."""

    image: Image
    domain: Symbolic = field(default_factory=Symbolic)
    limit: int = MAX_STEPS
    """Steps that one case may take."""

    def __post_init__(self) -> None:
        """The machine and the model share the domain."""
        self.machine = Machine(self.image, domain=self.domain)
        self.model = SymbolicModel(self.domain)
        inputs = self.domain.expressions.inputs
        self._v = np.concatenate([inputs(f"zmm{n} at entry", 64) for n in range(32)]).reshape(32, 64)
        self._gpr = [tuple(inputs(f"{name} at entry", 8).tolist()) for name in GPR_NAMES]
        self._stack = inputs("the stack at entry", STACK_SIZE)
        self._calls: dict[Any, Call] = {}
        self._choices: dict[tuple[str, str], list[tuple[str, int, int]]] = {}

    def prove(
        self, function: str, contract: Contract, length: int, key_size: int, in_place: bool = False
    ) -> Proof:
        """Run every case of one length; findings are sentences, none when it is proved."""
        proof = Proof(function, contract.name, length, key_size, in_place)
        cases = steps = 0
        todo = list(self._chosen(function, contract))
        while todo:
            if cases + len(todo) > MAX_CASES:
                return replace(proof, findings=(f"more than {MAX_CASES} cases of the counter",))
            assumption = todo.pop()
            try:
                findings = self._case(function, contract, length, key_size, in_place, assumption)
            except Split as split:
                todo += assumption.halves(split)
                continue
            except Choose as choice:
                known = self._choices.setdefault((function, contract.name), [])
                known.append((choice.name, choice.index, choice.mask))
                cases, todo = 0, list(self._chosen(function, contract))
                continue
            cases, steps = cases + 1, steps + self.machine.steps
            if findings:
                return replace(proof, cases=cases, steps=steps, findings=tuple(findings))
        return replace(proof, cases=cases, steps=steps)

    def _chosen(self, function: str, contract: Contract) -> Iterator[Assumption]:
        """A case for every value of the bits that were found to choose an address."""
        cases = [Assumption()]
        for name, index, mask in self._choices.get((function, contract.name), []):
            values = [value for value in range(256) if value & ~mask == 0]
            cases = [replace(c, bits=(*c.bits, (name, index, mask, v))) for c in cases for v in values]
        yield from cases

    # ---- One case

    def _case(
        self,
        function: str,
        contract: Contract,
        length: int,
        key_size: int,
        in_place: bool,
        assumption: Assumption,
    ) -> list[str]:
        self.domain.counters.assumed = dict(assumption.intervals)
        self.domain.counters.public = frozenset(name for name, *_ in assumption.bits)
        call = self._call(contract, length, key_size, in_place, assumption)
        self._assume(call)
        self.domain.counters.public = frozenset(call.public)
        addresses = self._place(call)
        try:
            self.machine.call(function, self.limit)
        except MachineError as error:
            return [str(error)]
        return [*self._wrong_bytes(call), *self._wrong_registers(addresses)]

    def _call(
        self, contract: Contract, length: int, key_size: int, in_place: bool, assumption: Assumption
    ) -> Call:
        """The call as the contract sets it up; the last few are kept, for another function's turn."""
        key = (contract, length, key_size, in_place, assumption)
        call = self._calls.get(key)
        if call is None:
            call = Call(self.model, self._input(assumption), self._add, length, key_size, in_place)
            call.on_public = self._make_public
            contract.setup(call)
            if len(self._calls) >= 256:
                self._calls.clear()
            self._calls[key] = call
        return call

    def _make_public(self, name: str) -> None:
        self.domain.counters.public |= {name}

    def _input(self, assumption: Assumption) -> Any:
        expressions = self.domain.expressions

        def unknown(name: str, size: int) -> Ids:
            ids = expressions.inputs(name, size)
            for where, index, mask, value in assumption.bits:
                if where == name:
                    ids[index] = expressions.map(keep(0xFF & ~mask), int(ids[index])) ^ value
            return ids

        return unknown

    def _add(self, word: Ids, number: int) -> Ids:
        return np.array(self.domain.counters.add(tuple(word.tolist()), number), np.int64)

    def _assume(self, call: Call) -> None:
        for word, low, high in call.assumed:
            base, offset = self.domain.counters.origin(tuple(word.tolist()))
            step = self.domain.counters.granularity(base)
            first, last = self.domain.counters.assumed.get(base, (0, (1 << 8 * len(base)) - step))
            bounds = (max(first, low - offset, 0), min(last, (high - offset) // step * step))
            self.domain.counters.assumed = {**self.domain.counters.assumed, base: bounds}

    def _place(self, call: Call) -> dict[int, int]:
        """Memory and registers as the call finds them; the address of each buffer by its identity."""
        addresses, regions = {}, []
        for number, buffer in enumerate(call.buffers):
            address = FIRST_BUFFER + BUFFER_STEP * number + (0 if buffer.aligned else ODD + 16 * number)
            addresses[id(buffer)] = address
            rights = "rw" if buffer.writable else "r"
            if len(buffer.data):
                regions.append(Region(buffer.name, address, buffer.data.copy(), rights))
        self.machine.reset(regions, self._stack)
        state = self.machine.state
        state.v[...] = self._v
        state.k[:] = [UnsetMask()] * 8  # type: ignore[list-item]
        stack_pointer = state.gpr[4]
        state.gpr[:] = self._gpr
        state.gpr[4] = stack_pointer
        unset = Unknown("the flags at entry")
        state.cf = state.pf = state.af = state.zf = state.sf = state.of = unset
        for number, value in enumerate(call.registers):
            self._argument(number, value, addresses)
        return addresses

    def _argument(self, number: int, value: Buffer | UInt32 | int, addresses: dict[int, int]) -> None:
        state = self.machine.state
        given: Any = addresses[id(value)] if isinstance(value, Buffer) else value
        if isinstance(value, UInt32):
            upper = self.domain.expressions.inputs(f"the upper half of argument {number + 1}", 4)
            given = (*value.value.to_bytes(4, "little"), *upper.tolist())
        if number < len(ARGUMENTS):
            state.gpr[ARGUMENTS[number]] = given
        else:
            at = state.gpr[4] + 8 * (number - len(ARGUMENTS))
            self.machine.memory.write(at, self.domain.to_bytes(given, 8))

    # ---- What is compared

    def _wrong_bytes(self, call: Call) -> Iterator[str]:
        regions = self.machine.memory.regions_from(FIRST_BUFFER)
        for buffer, region in zip((b for b in call.buffers if len(b.data)), regions, strict=False):
            expected = buffer.data if buffer.expected is None else buffer.expected
            if expected is ANY:
                continue
            wrong = np.flatnonzero(region.data != expected)
            if len(wrong):
                block, byte = divmod(int(wrong[0]), 16)
                kind = "changed" if buffer.expected is None else "not what the model says"
                yield f"{buffer.name}: block {block} byte {byte} is {kind} ({len(wrong)} bytes in all)"

    def _wrong_registers(self, addresses: dict[int, int]) -> Iterator[str]:
        gpr = self.machine.state.gpr
        for number in SAVED:
            if gpr[number] != self._gpr[number]:
                yield f"{GPR_NAMES[number]} is not what it was at entry, as the ABI asks"
        if gpr[4] != STACK_TOP - 4096:
            yield "rsp is not what it was at entry"
        frame = STACK_SIZE - 4096
        if (self.machine.stack.data[frame + 64 :] != self._stack[frame + 64 :]).any():
            yield "the caller's part of the stack was written"
