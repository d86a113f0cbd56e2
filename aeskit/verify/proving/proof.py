"""Proof of one length: machine code and model in the GF(2) domain, and every byte compared.

What "proved" says: for every key, tweak, IV, counter and every data of that length the function leaves in
each buffer what the contract asks for, touches nothing else, branches on nothing secret and keeps the
registers that it must keep. The run is one path, or one a case where a public counter decides.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aeskit.contracts import ANY, Blocks, Buffer, Call, Contract, Length, UInt32
from aeskit.machine import stand_ins
from aeskit.machine.addresses import IMAGE, RETURN_ADDRESS, UNDEFINED, Addresses, Place
from aeskit.machine.counters import Unknown, Word
from aeskit.machine.decode import GPR_NAMES
from aeskit.machine.errors import MachineError, OutsideDomain, UnknownInstruction
from aeskit.machine.loader import PROTECTOR, Image
from aeskit.machine.masks import UnsetMask
from aeskit.machine.memory import Region
from aeskit.machine.relocate import AROUND
from aeskit.machine.run import MAX_STEPS, RETURN, STACK_SIZE, STACK_TOP, Machine
from aeskit.machine.splits import Choose, Impossible, Split
from aeskit.machine.stretches import Stretches
from aeskit.machine.symbolic import Symbolic
from aeskit.verify.judge import limit
from aeskit.verify.proving import heads, parts
from aeskit.verify.proving.assumption import Assumption, Choices, placed
from aeskit.verify.proving.heads import Head
from aeskit.verify.proving.models import SymbolicModel

Ids = NDArray[np.int64]

ARGUMENTS = (7, 6, 2, 1, 8, 9)
"""rdi rsi rdx rcx r8 r9 (System V AMD64 ABI, 3.2.3)."""
SAVED = (3, 5, 12, 13, 14, 15)
"""rbx rbp r12 to r15."""
FIRST_BUFFER = 0x4100_0000_0000
BUFFER_STEP = 0x20A_5C3B_0000
"""Neither these nor their sums look like a mask: a number that does is no address."""
BUFFERS = 29
FRAME = 4096
"""Bytes of the stack above its pointer at entry."""
MAX_CASES = 8192
KEPT_CALLS = 256
LENGTH = "length"
"""The input that stands for the length in a proof for every length."""


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
    refused: bool = False
    """Whether what was found is that the domain cannot follow the code, not that a result is wrong."""
    stand_ins: tuple[str, ...] = ()
    """Functions of others that were run by their stand-ins."""
    from_head: bool = False
    """Whether the run forgot at the main loop's head what the induction does not carry."""

    @property
    def proved(self) -> bool:
        """Whether nothing was found."""
        return not self.findings

    def title(self) -> str:
        """Function, contract, key, length and layout."""
        layout = "in place" if self.in_place else "out of place"
        return f"{self.function} ({self.contract}), AES-{8 * self.key_size}, {self.length} bytes, {layout}"


def elsewhere(image: Image) -> Iterator[tuple[Place, int, int]]:
    """Where code and constants lie, where it returns to, and what stands for symbols that are elsewhere."""
    yield RETURN_ADDRESS, RETURN, RETURN
    apart = (PROTECTOR, stand_ins.NAME) if image.linked else {s.name for s in image.sections}
    together = [s for s in image.sections if s.name not in apart]
    if together:
        yield IMAGE, min(s.address for s in together) - AROUND, max(s.end for s in together) + AROUND
    for section in (s for s in image.sections if s.name in apart):
        yield f"{section.name} at {section.address:#x}", section.address - AROUND, section.end + AROUND - 1
    if image.externals:
        yield UNDEFINED, min(image.externals) - AROUND, max(image.externals) + AROUND


@dataclass
class Prover:
    """Proves functions of one image; what was computed for one length serves the next."""

    image: Image
    domain: Symbolic = field(default_factory=Symbolic)
    limit: int = MAX_STEPS
    """Steps that one case may take, or fewer: see `judge.limit`."""

    def __post_init__(self) -> None:
        """The machine and the model share the domain."""
        self.machine = Machine(self.image, domain=self.domain)
        self.machine.stretches = self.stretches = Stretches(self.machine)
        bottom = STACK_TOP - STACK_SIZE
        others = tuple(elsewhere(self.image))
        addresses = Addresses(FIRST_BUFFER, BUFFER_STEP, BUFFERS, bottom, STACK_TOP, others)
        self.pointers = self.domain.watch(addresses)
        self.model = SymbolicModel(self.domain)
        inputs = self.domain.expressions.inputs
        self.machine.refuse_state(lambda n, size: inputs(f"the stack that rsp has left, {n}", size))
        self.machine.hide_addresses(self.pointers)
        for region in self.machine.memory.regions:
            if region.name == PROTECTOR:
                region.data[...] = inputs(PROTECTOR, len(region.data))
        self._v = np.concatenate([inputs(f"zmm{n} at entry", 64) for n in range(32)]).reshape(32, 64)
        self._gpr = [tuple(inputs(f"{name} at entry", 8).tolist()) for name in GPR_NAMES]
        self._stack = inputs("the stack at entry", STACK_SIZE)
        self._calls: dict[Any, Call] = {}
        self.loops: dict[str, Any] = {}
        """Main loops that were closed for another key size, layout or contract: where to begin."""
        self.choices: dict[tuple[str, str], Choices] = {}
        """By function and contract."""
        self._arguments_end = 0

    def prove(
        self,
        function: str,
        contract: Contract,
        length: int,
        key_size: int,
        in_place: bool = False,
        head: Head | None = None,
    ) -> Proof:
        """Run every case of one length; findings are sentences, none when it is proved.

        With `head` the run must come to that place, where all that is thought dead is made unknown.
        """
        blank = Proof(function, contract.name, length, key_size, in_place, from_head=head is not None)
        choices = self.choices.setdefault((function, contract.name), Choices())
        while True:
            try:
                proof = self._cases(blank, contract, head, choices)
            except Choose as choice:
                choices.hear(choice)
                continue
            if proof.proved or not choices.give_up():
                return proof

    def _cases(self, proof: Proof, contract: Contract, head: Head | None, choices: Choices) -> Proof:
        cases = steps = 0
        self.machine.stood_in.clear()
        impossible = "no case is possible: the contract's assumptions exclude each other"
        todo = choices.cases(Assumption())
        while todo:
            if cases + len(todo) > MAX_CASES:
                return replace(proof, findings=(f"more than {MAX_CASES} cases of the counter",))
            assumption = todo.pop()
            try:
                call = self.call(contract, proof.length, proof.key_size, proof.in_place, assumption)
                findings = self._case(proof.function, call, head)
            except Split as split:
                todo += assumption.halves(split)
                continue
            except Impossible:
                continue
            except MachineError as error:  # from the contract: a model that leaves the domain
                return replace(proof, cases=cases, findings=(f"the contract: {error}",))
            cases, steps = cases + 1, steps + self.machine.steps
            proof = replace(proof, stand_ins=tuple(sorted(self.machine.stood_in)))
            if findings:
                where = placed(call) or self._distances(assumption)
                told = tuple(f"{finding}{where}" for finding in findings)
                found = replace(proof, cases=cases, steps=steps, findings=told)
                return replace(found, refused=type(self._stopped) in (OutsideDomain, UnknownInstruction))
        return replace(proof, cases=cases, steps=steps, findings=() if cases else (impossible,))

    def _distances(self, assumption: Assumption) -> str:
        """For the end of a finding: that the case is one of how far apart buffers lie."""
        words = [word for word, _ in assumption.intervals if isinstance(word[0], int)]
        counters = self.domain.counters
        if not any(counters.names(word) & counters.layout for word in words):
            return ""
        return ", for one answer to how far apart two buffers lie, which the code asks"

    def _case(self, function: str, call: Call, head: Head | None) -> list[str]:
        self.place(call)
        most = min(self.limit, limit(int(call.length)))
        self._stopped: MachineError | None = None
        try:
            self.machine.start(function)
            if head is not None:
                self.machine.resume(most, stop=head.address)
                if self.machine.finished:
                    return [f"the run does not come to the loop at {head.address:#x}"]
                changed = list(self.forget(head, call))
                if changed:
                    return changed
            self.machine.resume(most)
        except MachineError as error:
            self._stopped = error
            return [str(error)]
        return self.wrong(call, head)

    def wrong(self, call: Call, head: Head | None = None) -> list[str]:
        """What is not as it must be at a run's end: memory first, then registers and the stack."""
        return [*self.wrong_bytes(call, head), *self._wrong_registers()]

    def forget(self, head: Head, call: Call) -> Iterator[str]:
        """Make unknown what the head says, and the flags; findings where that may not be."""
        counters, regions = self.domain.counters, self.machine.memory.regions_from(FIRST_BUFFER)
        if head.slides:
            counters.forms.lengths |= {heads.STEPS}
            counters.assumed = {**counters.assumed, heads.steps(self.domain): (0, heads.MOST_STEPS)}
        yield from heads.forget(self.machine, self.domain, head, call.buffers, regions)
        self._unset_flags("the flags at the loop's head")

    def _unset_flags(self, what: str) -> None:
        state, unset = self.machine.state, Unknown(what)
        state.cf = state.pf = state.af = state.zf = state.sf = state.of = unset

    # ---- The call

    def call(
        self,
        contract: Contract,
        length: int,
        key_size: int,
        in_place: bool,
        assumption: Assumption,
        given: Mapping[str, Ids] | None = None,
    ) -> Call:
        """The call as the contract sets it up; the last few are kept, for another function's turn.

        `given` are inputs that are not unknown. The assumption holds from here on.
        """
        counters = self.domain.counters
        counters.assume(dict(assumption.intervals))
        counters.public = assumption.public() | {LENGTH}
        key = (contract, length, key_size, in_place, assumption)
        call = self._calls.get(key) if given is None else None
        if call is None:
            unknown = self._inputs(assumption, given or {})
            call = Call(self.model, unknown, self._add, length, key_size, in_place)
            call.on_public = self._make_public
            call.on_assume = self._assume
            contract.setup(call)
            call.alignments = assumption.alignments(call)
            if len(self._calls) >= KEPT_CALLS:
                self._calls.clear()
            if given is None:
                self._calls[key] = call
        else:
            for item in call.assumed:
                self._assume(*item)
        counters.public = frozenset(call.public) | {LENGTH}
        return call

    def _make_public(self, name: str) -> None:
        self.domain.counters.public |= {name}

    def _inputs(self, assumption: Assumption, given: Mapping[str, Ids]) -> Any:
        unknown = assumption.inputs(self.domain.expressions)
        return lambda name, size: given[name] if name in given else unknown(name, size)

    def _add(self, word: Ids, number: int) -> Ids:
        counters, given = self.domain.counters, tuple(word.tolist())
        parts.learn(counters, given)
        return np.array(parts.add(counters, given, number), np.int64)

    def _assume(self, word: Ids, low: int, high: int) -> None:
        counters = self.domain.counters
        base, offset = counters.origin(tuple(word.tolist()))
        step = counters.granularity(base)
        first, last = counters.assumed.get(base, (0, (1 << 8 * len(base)) - step))
        bounds = (max(first, low - offset, 0), min(last, (high - offset) // step * step))
        if bounds[0] > bounds[1]:
            raise Impossible
        counters.assumed = {**counters.assumed, base: bounds}

    def place(self, call: Call, shift: int = 0, length: Word | None = None) -> None:
        """Memory and registers as the call finds them.

        Source and destination lie `shift` bytes further on; `length` stands in the length's place.
        """
        addresses, regions = {}, []
        self.pointers.aligned.clear()
        self.pointers.buffers.clear()
        self.pointers.ends.clear()
        for number, buffer in enumerate(call.buffers):
            low = call.alignments.get(buffer.name, (0, 0))
            address = FIRST_BUFFER + BUFFER_STEP * number + buffer.place(number, low)
            address += shift * buffer.moves
            addresses[id(buffer)] = address
            self.pointers.aligned[number] = buffer.name, low[0]
            if len(buffer.data):
                rights = "rw" if buffer.writable else "r"
                regions.append(Region(buffer.name, address, buffer.data.copy(), rights))
            self.pointers.buffers[number] = address, len(buffer.data)
            if buffer.moves and length is not None:
                self.pointers.ends[number] = self.domain.counters.add(length, address)
        self.domain.counters.forms.lengths = frozenset() if length is None else frozenset({LENGTH})
        self.domain.aligned = ()
        self.machine.reset(regions, self._stack)
        self._arguments_end = 8 * max(0, len(call.registers) - len(ARGUMENTS))
        self.machine.refuse_caller(self._arguments_end // 8)
        state = self.machine.state
        state.v[...] = self._v
        state.k[:] = [UnsetMask()] * 8  # type: ignore[list-item]
        state.gpr[:] = [*self._gpr[:4], state.gpr[4], *self._gpr[5:]]
        self._unset_flags("the flags at entry")
        self.stretches.by_length = {
            GPR_NAMES[register]
            for register, value in zip(ARGUMENTS, call.registers, strict=False)
            if isinstance(value, int)
        }
        for number, value in enumerate(call.registers):
            given: Any = value
            if length is not None and isinstance(value, Length | Blocks):
                given = length if isinstance(value, Length) else self._in_blocks(length)
            self._argument(number, given, addresses)

    def _in_blocks(self, length: Word) -> Word:
        """The number of whole blocks, 16 bytes each, of an unknown length."""
        blocks = self.domain.counters.shifted_right(length, 4, lambda word: self.domain.shifted(word, 4))
        if blocks is None:
            raise MachineError("the number of blocks of a length below 0 or without a bound")
        return blocks

    def _argument(self, number: int, value: Any, addresses: dict[int, int]) -> None:
        state = self.machine.state
        given = addresses[id(value)] if isinstance(value, Buffer) else value
        if isinstance(value, UInt32):
            upper = self.domain.expressions.inputs(f"the upper half of argument {number + 1}", 4)
            given = (*value.value.to_bytes(4, "little"), *upper.tolist())
        elif isinstance(given, int):
            given = int(given)
        if number < len(ARGUMENTS):
            state.gpr[ARGUMENTS[number]] = given
        else:
            at = state.gpr[4] + 8 * (number - len(ARGUMENTS))
            self.machine.memory.write(at, self.domain.to_bytes(given, 8))

    # ---- What is compared

    def wrong_bytes(self, call: Call, head: Head | None = None) -> Iterator[str]:
        """The buffers that do not hold what the contract asks for; with `head` see `forget`."""
        regions = self.machine.memory.regions_from(FIRST_BUFFER)
        for buffer, region in zip((b for b in call.buffers if len(b.data)), regions, strict=False):
            expected = buffer.data if buffer.expected is None else buffer.expected
            if buffer.expected is None and head is not None and f"[{buffer.name}]" in head.dead:
                expected = self.domain.expressions.inputs(f"[{buffer.name}] at the loop", len(buffer.data))
            if expected is ANY:
                continue
            wrong = np.flatnonzero(region.data != expected)
            if len(wrong):
                block, byte = divmod(int(wrong[0]), 16)
                kind = "changed" if buffer.expected is None else "not what the model says"
                yield f"{buffer.name}: block {block} byte {byte} is {kind} ({len(wrong)} bytes in all)"

    def _wrong_registers(self) -> Iterator[str]:
        gpr = self.machine.state.gpr
        for number in SAVED:
            if gpr[number] != self._gpr[number]:
                yield f"{GPR_NAMES[number]} is not what it was at entry, as the ABI asks"
        if gpr[4] != STACK_TOP - FRAME:
            yield "rsp is not what it was at entry"
        above = STACK_SIZE - FRAME + self._arguments_end
        if (self.machine.stack.data[above:] != self._stack[above:]).any():
            yield "the caller's part of the stack was written"
