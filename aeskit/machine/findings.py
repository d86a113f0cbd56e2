"""What a run in numbers tells besides its result: memory, callee-saved registers, the stack, vzeroupper.

A finding of one run says that something is wrong; that there is none says nothing of other inputs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from aeskit.bits import from_le
from aeskit.machine import decode as d
from aeskit.machine.events import Event, Events
from aeskit.machine.memory import Region
from aeskit.machine.naming import LANE
from aeskit.machine.run import RED_ZONE
from aeskit.trace import Finding

SAVED = (3, 5, 12, 13, 14, 15)
"""rbx rbp r12 to r15: what a function must keep (System V AMD64 ABI, 3.2.1)."""

RSP = 4
_MOVES = re.compile(r"mov|kmov[wdq]|v?mov(dq[au](8|16|32|64)?|[au]p[sd])")
_KEPT_NAMES = {d.GPR_NAMES[number] for number in SAVED}
_IDIOMS = {"vpxor", "vpxord", "vpxorq", "vxorps", "vxorpd", "pxor", "xorps", "xorpd", "vpcmpeqd", "pcmpeqd"}
_IDIOMS |= {"vpcmpeqb", "pcmpeqb", "vpsubb", "vpsubq", "vpternlogd", "vpternlogq", "xor", "sub", "kxnorq"}
_IDIOMS |= {"kxorq", "kxnord", "kxord", "kxnorw", "kxorw", "kxnorb", "kxorb"}
"""With one register as every source these read nothing of it."""
_INSERTS = {"pinsrb": 1, "pinsrw": 2, "pinsrd": 4, "pinsrq": 8}
_INSERTS |= dict.fromkeys(("movhps", "movhpd", "movlps", "movlpd"), 8)
"""Legacy forms that set so many bytes of an xmm register and leave the others."""


def all_findings(
    run: Events,
    regions: Sequence[Region],
    stack: Region,
    stack_arguments: int = 0,
    old: Sequence[str] = (),
    arguments: Sequence[str] = (),
) -> list[Finding]:
    """Everything below, in the order of the steps.

    `regions` may be accessed besides `stack`, on which the caller left `stack_arguments` 8-byte words;
    `old` names regions whose bytes mean nothing before the function writes them; `arguments` names
    registers that hold some.
    """
    found = [
        *outside(run, regions, stack, stack_arguments),
        *unwritten(run, stack, [region for region in regions if region.name in old]),
        *unset(run, arguments),
        *kept(run),
        *upper_halves(run),
    ]
    last = len(run.events)
    return sorted(found, key=lambda finding: last if finding.step is None else finding.step)


def outside(run: Events, regions: Sequence[Region], stack: Region, stack_arguments: int) -> Iterator[Finding]:
    """Accesses by even one byte outside what the function was given, and the problem that ended the run."""
    caller = run.start.gpr[RSP] + 8 + 8 * stack_arguments
    after = run.start.gpr[RSP]
    for number, event in enumerate(run.events):
        before, after = after, from_le(event.values["rsp"]) if "rsp" in event.values else after
        lowest = min(before, after) - RED_ZONE
        for kind, address, data in event.accesses:
            size = len(data)
            verb = {"r": "read", "w": "write"}[kind]
            if stack.address <= address < stack.end:
                if address + size > caller or (kind == "w" and address + size > run.start.gpr[RSP]):
                    yield Finding(f"a {verb} of {size} bytes in the caller's part of the stack", number)
                elif address < lowest:
                    told = f"{lowest - address} bytes below the red zone"
                    yield Finding(f"a {verb} of {size} bytes of the stack, {told}", number)
                continue
            place = next((r for r in regions if r.address <= address < r.end), None)
            if place is None or address + size > place.end:
                yield Finding(f"a {verb} of {size} bytes {_where(address, size, regions)}", number)
            elif kind == "w" and "w" not in place.permissions:
                yield Finding(f"a write of {size} bytes to {place.name}, which is to be read only", number)
            elif kind == "r" and "r" not in place.permissions:
                told = f"a read of {size} bytes of {place.name}, which other calls may have written"
                yield Finding(told, number)
    if run.problem:
        yield Finding(run.problem, len(run.events) - 1 if run.events else None)


def _where(address: int, size: int, regions: Sequence[Region]) -> str:
    """In words, from the nearest region."""
    near = min(regions, key=lambda r: max(r.address - address, address + size - r.end), default=None)
    if near is None or not -4096 < address - near.address < len(near.data) + 4096:
        return f"at {address:#x}, in no buffer"
    before, past = near.address - address, address + size - near.end
    told = [f"{before} before its start"] if before > 0 else []
    told += [f"{past} past its end"] if past > 0 else []
    return f"at {near.name}{address - near.address:+}, {' and '.join(told)}"


def unwritten(run: Events, stack: Region, old: Sequence[Region]) -> Iterator[Finding]:
    """Bytes of the frame or of an output that were read before the function wrote them; once a region."""
    frame = Region("the stack", stack.address, stack.data[: run.start.gpr[RSP] - stack.address])
    for region in (frame, *old):
        written = np.zeros(len(region.data), bool)
        for number, event in enumerate(run.events):
            first = _first_unwritten(event, region, written)
            if first is not None:
                yield Finding(f"byte {first} of {region.name} is read before it is written", number)
                break


def _first_unwritten(event: Event, region: Region, written: np.ndarray) -> int | None:
    for kind, address, data in event.accesses:
        low, high = max(address, region.address), min(address + len(data), region.end)
        if low >= high:
            continue
        part = written[low - region.address : high - region.address]
        if kind == "w":
            part[:] = True
        elif not part.all():
            return int(low - region.address + np.flatnonzero(~part)[0])
    return None


def unset(run: Events, arguments: Sequence[str]) -> Iterator[Finding]:
    """Registers that were read before anything was in them; storing one to keep it is no reading.

    Nor is a copy in another register, which then has nothing in it either.
    """
    known, filled = {"rsp", "rip", *arguments}, dict[str, int]()
    for number, event in enumerate(run.events):
        instruction = event.instruction
        if instruction.mnemonic in ("vzeroupper", "vzeroall") or _is_idiom(instruction):
            known.update(instruction.reads)
        if _copies(instruction) and not known.issuperset(instruction.reads):
            known.difference_update(instruction.writes)
            continue
        part, target = _inserted(instruction)
        if part and target not in known:
            filled[target] = filled.get(target, 0) | part
        partly = {target} if part and target not in known and filled[target] != 0xFFFF else set()
        kept = instruction.mnemonic == "push" or _stores(instruction)
        for name in instruction.reads:
            own = bool(part) and name == target  # what an insertion leaves of it is not used by it
            if name not in known and _counts(name) and not own and not (kept and name in _KEPT_NAMES):
                known.add(name)
                yield Finding(f"{shown(name, instruction)} is read, which nothing has set", number)
        known.update({*event.values, *instruction.writes} - partly)


def _copies(instruction: d.Instruction) -> bool:
    """Whether it moves one whole register to another."""
    kinds = {type(operand) for operand in instruction.operands}
    sizes = {getattr(operand, "size", 8) for operand in instruction.operands}
    one = len(instruction.operands) == 2 and kinds in ({d.Vector}, {d.Gpr}, {d.Mask})
    whole = len(sizes) == 1 and min(sizes) >= 4 and not instruction.mask
    return one and whole and _MOVES.fullmatch(instruction.mnemonic) is not None


def _inserted(instruction: d.Instruction) -> tuple[int, str]:
    """The bytes of a register that are set one by one, a bit each, and its full name; 0 for no such thing."""
    size, operands = _INSERTS.get(instruction.mnemonic, 0), instruction.operands
    if not size or not isinstance(operands[0], d.Vector):
        return 0, ""
    last = operands[-1]
    number = last.value if isinstance(last, d.Immediate) else int(instruction.mnemonic[3] == "h")
    return (1 << size) - 1 << number % (LANE // size) * size, f"zmm{operands[0].number}"


def _stores(instruction: d.Instruction) -> bool:
    return instruction.mnemonic == "mov" and isinstance(instruction.operands[0], d.Memory)


def _counts(name: str) -> bool:
    return name in d.GPR_NAMES or name[1:3] == "mm" or (name[0] == "k" and name[1:].isdigit())


def _is_idiom(instruction: d.Instruction) -> bool:
    registers = [o for o in instruction.operands if isinstance(o, d.Vector | d.Gpr | d.Mask)]
    sources = registers if len(registers) == 2 else registers[1:]
    mnemonic = instruction.mnemonic
    return mnemonic in _IDIOMS and len(registers) > 1 and len({repr(source) for source in sources}) == 1


def shown(name: str, instruction: d.Instruction) -> str:
    """A register's name at the width at which an instruction uses vector registers."""
    sizes = [o.size for o in instruction.operands if isinstance(o, d.Vector)]
    if name[1:3] == "mm" and sizes:
        return {16: "x", 32: "y", 64: "z"}.get(max(sizes), "z") + name[1:]
    return name


def kept(run: Events) -> Iterator[Finding]:
    """Callee-saved registers and the stack pointer, at the return."""
    if run.problem:
        return
    for number in SAVED:
        if run.end.gpr[number] != run.start.gpr[number]:
            yield Finding(f"{d.GPR_NAMES[number]} must be kept and is changed at the return")
    if run.end.gpr[RSP] != run.start.gpr[RSP] + 8:
        off = run.end.gpr[RSP] - run.start.gpr[RSP] - 8
        yield Finding(f"rsp is {off:+} bytes off at the return")


def upper_halves(run: Events) -> Iterator[Finding]:
    """Registers 0 to 15 left with dirty upper halves: SSE code after it waits for them (SDM vol. 1, 14.3)."""
    dirty: dict[int, int] = {}
    for number, event in enumerate(run.events):
        instruction = event.instruction
        if instruction.mnemonic in ("vzeroupper", "vzeroall"):
            dirty.clear()
        elif instruction.encoding in ("VEX", "EVEX"):
            target = instruction.operands[0] if instruction.operands else None
            if isinstance(target, d.Vector) and target.number < 16 and target.size > LANE:
                dirty.setdefault(target.number, number)
    if dirty and not run.problem:
        first = min(dirty.values())
        what = run.events[first].instruction
        names = ", ".join(f"{shown(f'zmm{number}', what)}" for number in sorted(dirty)[:4])
        more = f" and {len(dirty) - 4} more" if len(dirty) > 4 else ""
        yield Finding(f"no vzeroupper before the return: the upper halves of {names}{more} stay dirty")


def wrong_bytes(
    wanted: Mapping[str, bytes | None], before: Mapping[str, bytes], after: Mapping[str, bytes]
) -> Iterator[Finding]:
    """Buffers that do not hold what they must; None in `wanted` for one that must be unchanged."""
    for name, data in after.items():
        expected = wanted.get(name)
        must = before[name] if expected is None else expected
        wrong = [i for i, (a, b) in enumerate(zip(data, must, strict=True)) if a != b]
        if wrong:
            at, more = wrong[0], f" ({len(wrong)} bytes are wrong)" if len(wrong) > 1 else ""
            block = f"block {at // LANE} byte {at % LANE}"
            yield Finding(f"{name}: {block} is {data[at]:02x}, must be {must[at]:02x}{more}")
