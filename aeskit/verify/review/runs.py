"""The function run in numbers by the lane machine: findings, stack, alignment, what it leaves behind."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice

from aeskit.bits import BLOCK, from_le
from aeskit.contracts import ANY, Contract, UInt32
from aeskit.machine import decode as d
from aeskit.machine import events, findings
from aeskit.machine.errors import MachineError
from aeskit.machine.events import Events
from aeskit.machine.loader import Image
from aeskit.machine.naming import Names
from aeskit.machine.origins import secret_paths
from aeskit.machine.run import Machine
from aeskit.trace import Finding
from aeskit.verify.calls import ARGUMENTS, CARRIES, Given, Prepared, prepare
from aeskit.verify.review import code as static
from aeskit.verify.review.code import needs_alignment
from aeskit.verify.review.signature import inputs, shortest
from aeskit.verify.review.unwind import Unwind, follow, read

RSP = 4
LIMIT = 200_000
"""Instructions of one run: one that does not end must not fill the memory."""
ENDLESS = f"has not returned within {LIMIT:,} instructions"
FURTHER = (*range(112, 1041, 16), 129, 255, 257, 511, 513, 767, 1023, 2048)
"""Lengths that are tried for instructions which none of those asked for has reached."""
TRIED = 120
"""Calls that look for them."""
SALTS = 4
"""Other keys, and other data: a bit decides alike in one of two."""
COMPARED = 32
"""Runs of the first length beyond this that has a tail are compared."""
OLD = ("destination", "schedule")
"""Buffers whose bytes mean nothing before the function writes them."""
_SECRET = re.compile(r"d?K\d*\[\d+\]|key|w\[\d+\]")
"""Names of key material; tweaks and keystreams are told as well."""
_TOLD = re.compile(r"T_\d+|s|PP_\d+|P_\d+|P\*_\d+")


def tidy(finding: str) -> str:
    """A finding without addresses of buffers, which differ from run to run."""
    text = re.sub(r"; \w+ is 0x\w+ to 0x\w+", "", finding)
    return re.sub(r"( bytes) at 0x[0-9a-f]{9,}", r"\1", text)


@dataclass(frozen=True)
class Said:
    """A finding of one run."""

    kind: str
    """result, memory, secret, abi, upper, vzeroupper, unset; open where the run could not go on."""
    text: str
    call: str
    """Which call it was."""
    where: str = ""
    """The instruction."""

    def __str__(self) -> str:
        """All in one line."""
        place = f"; {self.where}" if self.where and self.where not in self.text else ""
        return f"{self.call}: {tidy(self.text)}{place}"


@dataclass
class Runs:
    """What many runs told."""

    count: int = 0
    lengths: set[int] = field(default_factory=set)
    steps: int = 0
    said: list[Said] = field(default_factory=list)
    ran: set[int] = field(default_factory=set)
    """Addresses of the instructions that ran."""
    stack: int = 0
    """The most bytes of stack below the return address."""
    red_zone: int = 0
    """The most bytes that were used below the stack pointer."""
    aligned: dict[int, set[str]] = field(default_factory=dict)
    """Address of an instruction that needs alignment to the memory that it touched."""
    blocks: dict[int, int] = field(default_factory=dict)
    """Length to instructions of the run."""
    left: Counter[str] = field(default_factory=Counter)
    """``xmm1 = K1[14]`` to the number of runs that left it."""
    left_runs: int = 0
    compared: int = 0
    """Runs that were made with other keys and data, to see whether these decide the path."""
    unwind: Unwind = field(default_factory=Unwind)
    """The function's unwind table beside the runs."""
    cleaned: set[str] = field(default_factory=set)
    """Calls with a wrong result that is right with clean upper halves of 32-bit arguments."""
    wide_arguments: int = 0
    """Runs that were made again with clean upper halves of 32-bit arguments."""
    endless: bool = False
    """Whether one did not return; others are then not made."""

    def of(self, *kinds: str) -> list[Said]:
        """Findings of some kinds, each text once."""
        seen: dict[str, Said] = {}
        for said in self.said:
            if said.kind in kinds:
                seen.setdefault(_plain_text(said), said)
        return list(seen.values())


def _plain_text(said: Said) -> str:
    """What is the same in two findings of one fault."""
    text = re.sub(r"; \w+ is 0x\w+ to 0x\w+", "", said.text)
    text = re.sub(r"\bdata\b|source|destination", "", text)
    return f"{said.kind} {re.sub(r'0x[0-9a-f]+|[0-9]+', '', text)} {said.where}"


def runs(
    image: Image,
    symbol: str,
    promises: Sequence[Contract],
    lengths: Callable[[Contract], Sequence[int]],
    told: Callable[[], None] = lambda: None,
) -> Runs:
    """Each contract at each length, key sizes and layouts taking turns."""
    out, machine = Runs(), Machine(image)
    out.unwind = read(image, image.address_of(symbol))
    for contract in promises:
        some = lengths(contract)
        compared = next((n for n in some if n > COMPARED and n % BLOCK), some[-1] if some else 0)
        for given in _given(contract, some):
            if not out.endless:
                _one(out, prepare(image, symbol, contract, given), machine, compared)
            told()
    for prepared in () if out.endless else _further(out, image, symbol, promises, machine):
        _one(out, prepared, machine, 0)
    return out


def calls(promises: Sequence[Contract], lengths: Callable[[Contract], Sequence[int]]) -> int:
    """How many calls `runs` makes of those that are asked for."""
    return sum(1 for contract in promises for _ in _given(contract, lengths(contract)))


def _given(contract: Contract, lengths: Iterable[int]) -> Iterator[Given]:
    """Key sizes and layouts take turns; without a length each key size has its own."""
    if not contract.has_length:
        yield from (Given(0, size) for size in contract.key_sizes)
        return
    for number, length in enumerate(lengths):
        size = contract.key_sizes[-1 - number % len(contract.key_sizes)]
        yield Given(length, size, in_place=bool(number % 2) and contract.in_place)


def _further(
    out: Runs, image: Image, symbol: str, promises: Sequence[Contract], machine: Machine
) -> Iterator[Prepared]:
    """Calls that reach instructions which none before them has reached; TRIED calls look for them."""
    every, known = set(static.read(image, symbol).instructions), set(out.ran)
    for contract, given, vary, salt in islice(_others(promises), TRIED):
        if not every - known:
            return
        try:
            prepared = prepare(image, symbol, contract, given, vary, salt)
        except ValueError:  # a counter that the contract does not allow
            continue
        prepared.load(machine)
        seen: set[int] = set()
        with suppress(MachineError):
            machine.start(symbol)
            machine.resume(LIMIT, until=seen.add)  # type: ignore[arg-type]
        if seen - known:
            known |= seen
            yield prepared


def _others(promises: Sequence[Contract]) -> Iterator[tuple[Contract, Given, str, int]]:
    """Further lengths, each key size in turn; then counters that carry soon."""
    sized = [contract for contract in promises if contract.has_length]
    for turn in range(3):
        for contract in sized:
            lengths = [n for n in FURTHER if n in contract.lengths(n, n)]
            for given in _given(contract, lengths[turn:] + lengths[:turn]):
                yield contract, given, "", 0
        if not turn:
            for contract in (one for one in sized if "counter" in inputs(one)):
                length = next((n for n in (513, 512) if n in contract.lengths(n, n)), shortest(contract))
                for salt in range(CARRIES):
                    yield contract, Given(length, contract.key_sizes[-1]), "carry", salt


def title(contract: Contract, length: int, key_size: int, in_place: bool) -> str:
    """``xts_encrypt_first, AES-256, 33 bytes, in place``."""
    size = f", {length} bytes{', in place' * in_place}" if contract.has_length else ""
    return f"{contract.name}, AES-{8 * key_size}{size}"


def _one(out: Runs, prepared: Prepared, machine: Machine, compared: int) -> None:
    call = prepared.call
    prepared.load(machine)
    text = title(prepared.contract, call.length, call.key_size, call.in_place)
    run = events.lanes(machine, prepared.symbol, LIMIT)
    out.count, out.steps = out.count + 1, out.steps + len(run.events)
    out.lengths.add(int(call.length))
    out.ran.update(event.instruction.address for event in run.events)
    if not run.problem:
        out.blocks[int(call.length)] = len(run.events)
    follow(out.unwind, run)
    _stack(out, run, machine)
    _aligned(out, run, machine)
    if len(run.events) >= LIMIT:
        out.endless = True
        out.said.append(Said("result", f"it {ENDLESS}", text, run.events[-1].instruction.where()))
        return
    for kind, finding in observed(prepared, machine, run):
        where = "" if finding.step is None else run.events[finding.step].instruction.where()
        out.said.append(Said(kind, finding.text, text, where))
    if not run.problem:
        _left(out, prepared, machine, run)
        if call.length == compared:
            out.said += _secret(out, prepared, machine, run, text)
    if any(isinstance(value, UInt32) for value in call.registers):
        out.said += _upper(out, prepared, machine, run, text)


def observed(prepared: Prepared, machine: Machine, run: Events) -> Iterator[tuple[str, Finding]]:
    """What one run in the lane machine tells by itself: kinds as `Said` has them."""
    buffers = {region.name for region in prepared.regions}
    others = [r for r in machine.memory.regions if r is not machine.stack and r.name not in buffers]
    regions = [*prepared.regions, *others]
    count = len(prepared.call.registers)
    words = max(count - len(ARGUMENTS), 0)
    names = [d.GPR_NAMES[number] for number in ARGUMENTS[:count]]
    unwritten = [region for region in regions if region.name in OLD]
    for finding in findings.outside(run, regions, machine.stack, words):
        yield "open" if run.unanswered and finding.text == run.problem else "memory", finding
    for finding in (
        *findings.unwritten(run, machine.stack, unwritten),
        *findings.unset(run, names),
    ):
        yield "unset", finding
    for finding in findings.kept(run):
        yield "abi", finding
    for finding in findings.upper_halves(run):
        yield "vzeroupper", finding
    if not run.problem:
        for finding in findings.wrong_bytes(*_wanted(prepared), _after(prepared)):
            yield "result", finding


def _wanted(prepared: Prepared) -> tuple[dict[str, bytes | None], dict[str, bytes]]:
    """What the buffers must hold, None for what they held before; and that."""
    buffers = {b.name: b for b in prepared.call.buffers if len(b.data) and b.expected is not ANY}
    wanted = {n: None if b.expected is None else bytes(b.expected) for n, b in buffers.items()}
    return wanted, {name: bytes(b.data) for name, b in buffers.items()}


def _after(prepared: Prepared) -> dict[str, bytes]:
    names = {b.name for b in prepared.call.buffers if len(b.data) and b.expected is not ANY}
    return {r.name: r.data.tobytes() for r in prepared.regions if r.name in names}


def _upper(out: Runs, prepared: Prepared, machine: Machine, run: Events, text: str) -> Iterator[Said]:
    """The same call with clean upper halves must go the same way."""
    out.wide_arguments += 1
    before = _after(prepared)
    prepared.load(machine, poison=0)
    other = events.lanes(machine, prepared.symbol, LIMIT)
    if not other.problem and not list(findings.wrong_bytes(*_wanted(prepared), _after(prepared))):
        out.cleaned.add(text)
    path = [event.instruction for event in run.events]
    pairs = zip(path, (event.instruction for event in other.events), strict=False)
    for last, (ours, theirs) in zip([None, *path], pairs, strict=False):
        if ours.address != theirs.address:
            where = last.where() if last else ""
            yield Said("upper", "the run goes another way when the upper halves are clean", text, where)
            return
    if before != _after(prepared):
        yield Said("upper", "the result is another when the upper halves are clean", text)


def _secret(out: Runs, prepared: Prepared, machine: Machine, run: Events, text: str) -> Iterator[Said]:
    """The same call with other keys and data must go the same way."""
    others: dict[str, list[Events]] = {}
    for kind in ("key", "data"):
        for salt in range(SALTS):
            other = prepare(
                prepared.image, prepared.symbol, prepared.contract, prepared.inputs.given, kind, salt
            )
            other.load(machine)
            others.setdefault(kind, []).append(events.lanes(machine, prepared.symbol, LIMIT))
            out.compared += 1
    for finding in secret_paths(run, others):
        where = "" if finding.step is None else run.events[finding.step].instruction.where()
        yield Said("secret", finding.text, text, where)


def _stack(out: Runs, run: Events, machine: Machine) -> None:
    top, now = run.start.gpr[RSP], run.start.gpr[RSP]
    for event in run.events:
        before, now = now, from_le(event.values["rsp"]) if "rsp" in event.values else now
        lowest = min((at for _, at, _ in event.accesses if _in(machine, at)), default=now)
        out.stack = max(out.stack, top - min(now, lowest))
        out.red_zone = max(out.red_zone, min(before, now) - lowest)


def _in(machine: Machine, address: int) -> bool:
    return machine.stack.address <= address < machine.stack.end


def _aligned(out: Runs, run: Events, machine: Machine) -> None:
    for event in run.events:
        if event.accesses and needs_alignment(event.instruction):
            for _, at, data in event.accesses:
                place = next((r.name for r in machine.memory.regions if r.address <= at < r.end), "nothing")
                place = "the file's constants" if place.startswith("segment ") else place
                off = "" if at % len(data) == 0 else ", not aligned"
                out.aligned.setdefault(event.instruction.address, set()).add(place + off)


def _left(out: Runs, prepared: Prepared, machine: Machine, run: Events) -> None:
    """Key material, and what follows from it, in vector registers and in the frame after the return."""
    model = [(name, data) for step in prepared.model for name, data in step.values.items()]
    names = Names([item for item in model if _SECRET.fullmatch(item[0]) or _TOLD.fullmatch(item[0])])
    out.left_runs += 1
    for number in range(32):
        data = run.end.v[number].tobytes()
        for place, name in names.lanes(f"zmm{number}", data).items():
            out.left[f"{_plain(place)} = {name}"] += 1
    top = run.start.gpr[RSP] - machine.stack.address
    frame = machine.stack.data[:top].tobytes()
    for at in range(top % BLOCK, top, BLOCK):
        name = names.name(frame[at : at + BLOCK])
        if name:
            out.left[f"{top - at} bytes below the return address = {name}"] += 1


def _plain(place: str) -> str:
    """A register's lowest lane is its xmm."""
    return f"x{place[1:-3]}" if place.endswith("[0]") else place
