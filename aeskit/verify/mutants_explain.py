"""Why a mutant that every proof passes makes no difference: both codes run side by side, step by step.

The runs are in numbers and only tell where a difference begins and ends; that it never matters is what the
proofs of the same lengths say, for all inputs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from aeskit.contracts import Contract
from aeskit.machine import decode as d
from aeskit.machine.errors import MachineError
from aeskit.machine.loader import Image
from aeskit.machine.run import Machine
from aeskit.verify.mutants_levels import Verdict
from aeskit.verify.mutants_make import Mutant, patched
from aeskit.verify.mutants_reach import STEPS, Reach, call

RUNS = 12
"""Runs compared: the shortest lengths of classes that reach the instruction, spread over them."""

CLEARS = ("vzeroupper", "vzeroall")
"""They read registers only to shorten them."""

UNREACHED = "not reached"
SAME = "same result"
FLAGS = "flags unused"
UNREAD = "overwritten or left unread"
ABSORBED = "difference discarded"
PATH = "another path"
OUTSIDE = "outside the proof"
UNKNOWN = "not known"
REASONS = {
    UNREACHED: "no run of these lengths comes to the instruction",
    SAME: "whenever it runs, registers, flags and memory are the same after it",
    FLAGS: "only flags differ, and no instruction reads them before they are set again",
    UNREAD: "what differs is overwritten before it is read, or left where no caller may rely on it",
    ABSORBED: "what differs is read, but by instructions that discard the bits that differ",
    PATH: "a branch goes the other way, and both ways compute the same",
    OUTSIDE: "the results are right; the verification kills it for what the proof does not look at",
    UNKNOWN: "no reason was found",
}


@dataclass(frozen=True, slots=True)
class Reason:
    """One of REASONS, and what was seen."""

    kind: str
    text: str

    @property
    def known(self) -> bool:
        """Whether it is an explanation."""
        return self.kind != UNKNOWN


@dataclass
class Seen:
    """What one pair of runs showed."""

    visits: int = 0
    differed: dict[str, None] = field(default_factory=dict)
    readers: dict[str, None] = field(default_factory=dict)
    left: tuple[str, ...] = ()
    parted: str = ""
    steps: tuple[int, int] = (0, 0)
    stopped: str = ""

    @property
    def kind(self) -> str:
        """The reason that this pair of runs alone would give."""
        if self.stopped or not self.visits:
            return UNKNOWN
        if self.parted:
            return PATH
        if not self.differed:
            return SAME
        if self.readers:
            return ABSORBED
        return FLAGS if set(self.differed) == {"flags"} else UNREAD


def explain(image: Image, mutant: Mutant, function: str, promises: list[Contract], reach: Reach) -> Reason:
    """The reason that covers every run; UNKNOWN, with what was seen, where none does."""
    every = reach.of(mutant.address)
    if not every:
        return Reason(UNREACHED, REASONS[UNREACHED])
    changed, seen = patched(image, mutant), []
    for number in range(0, len(every), -(-len(every) // RUNS)):
        lengths, kinds = every[number]
        kind = kinds[number % len(kinds)]
        prepared = call(image, function, promises[kind.target], lengths[0], kind.key_size)
        other = call(changed, function, promises[kind.target], lengths[0], kind.key_size)
        seen.append(compare(prepared.machine(), other.machine(), function, mutant.address))
    return _reason(mutant, seen)


def followed(reason: Reason, proof: Verdict) -> Reason:
    """The reason, or UNKNOWN where it needs a proof and none could follow the code.

    Without one it is enough that nothing reads what differs: where a run goes depends on no secret.
    """
    if not proof.refused:
        return reason
    why = proof.finding.partition(": ")[2]
    if reason.kind in (UNREACHED, SAME, FLAGS, UNREAD):
        return Reason(reason.kind, f"{reason.text}; the proof stops at it: {why}")
    return Reason(UNKNOWN, f"no proof can follow it ({why}), and nothing kills it; seen: {reason.text}")


def compare(one: Machine, other: Machine, function: str, address: int) -> Seen:
    """Run two codes side by side from the same state until they part or return."""
    seen = Seen()
    try:
        one.start(function)
        other.start(function)
        one.resume(STEPS, until=lambda rip: rip == address)
        other.resume(STEPS, until=lambda rip: rip == address)
        _side_by_side(one, other, address, seen)
        one.resume(STEPS)
        other.resume(STEPS)
        seen.steps = one.steps, other.steps
    except MachineError as error:
        seen.stopped = str(error)
    return seen


def _side_by_side(one: Machine, other: Machine, address: int, seen: Seen) -> None:
    before: dict[str, None] = {}
    while not one.finished:
        at, end = one.state.rip, one.instruction(one.state.rip).following
        seen.visits += at == address
        instruction = one.step()
        other.step()
        while at == address and at < other.state.rip < end:
            other.step()  # the nops that fill a shorter mutant up
        if one.state.rip != other.state.rip:
            seen.parted = instruction.text
            return
        after = dict.fromkeys(_differences(one, other))
        if (
            at != address
            and instruction.mnemonic not in CLEARS
            and (read := [name for name in before if name in instruction.reads])
        ):
            seen.readers[f"{instruction.text} ({', '.join(read)})"] = None
        seen.differed |= after
        before = after
    seen.left = tuple(before)


def _differences(one: Machine, other: Machine) -> Iterator[str]:
    a, b = one.state, other.state
    yield from (f"zmm{n}" for n in np.flatnonzero((a.v != b.v).any(axis=1)).tolist())
    yield from (name for n, name in enumerate(d.GPR_NAMES) if a.gpr[n] != b.gpr[n])
    yield from (f"k{n}" for n in range(8) if a.k[n] != b.k[n])
    if (a.cf, a.pf, a.zf, a.sf, a.of) != (b.cf, b.pf, b.zf, b.sf, b.of):
        yield "flags"
    for mine, its in zip(one.memory.regions, other.memory.regions, strict=True):
        if "w" in mine.permissions and "x" not in mine.permissions and (mine.data != its.data).any():
            yield f"memory: {mine.name}"


def _reason(mutant: Mutant, seen: list[Seen]) -> Reason:
    kinds = Counter(run.kind for run in seen)
    if UNKNOWN in kinds:
        why = next((run.stopped for run in seen if run.stopped), "a run did not come to the instruction")
        return Reason(UNKNOWN, why)
    order = (PATH, ABSORBED, UNREAD, FLAGS, SAME)
    kind = next(name for name in order if name in kinds)
    return Reason(kind, _TEXTS[kind](mutant, [run for run in seen if run.kind == kind]))


_SAME = {
    "opcode": "both opcodes give the same on what they meet here",
    "register": "both registers hold the same value there",
    "immediate": "the bit does not count for what it meets here",
    "displacement": "both addresses hold the same bytes",
    "dropped": "what it would write is there already",
    "condition": "the condition comes out the same",
}


def _same(mutant: Mutant, seen: list[Seen]) -> str:
    if mutant.kind == "opcode" and "mov" in mutant.before and "dq" in mutant.before:
        return "another name of the same move; here the address is aligned, or the operand a register"
    if mutant.kind == "dropped" and mutant.before.startswith("j"):
        return "a jump that is never taken, or goes to the instruction behind it"
    if mutant.after.split()[0] in ("adc", "sbb") or mutant.before.split()[0] in ("adc", "sbb"):
        return "the carry is clear, or makes no difference, whenever it runs"
    return _SAME[mutant.kind]


def _flags(mutant: Mutant, seen: list[Seen]) -> str:
    return "the flags are set again, or the function returns, before anything reads them"


def _unread(mutant: Mutant, seen: list[Seen]) -> str:
    differed, left = _union(run.differed for run in seen), _union(run.left for run in seen)
    overwritten = [name for name in differed if name not in left]
    said = [f"{', '.join(overwritten)} overwritten before being read"] * bool(overwritten)
    said += [f"{', '.join(left)} left behind, where no contract looks"] * bool(left)
    return "; ".join(said)


def _absorbed(mutant: Mutant, seen: list[Seen]) -> str:
    readers = list(_union(run.readers for run in seen))
    more = f" and {len(readers) - 3} more" if len(readers) > 3 else ""
    return f"the difference is read by {'; '.join(readers[:3])}{more}, and goes no further into the result"


def _path(mutant: Mutant, seen: list[Seen]) -> str:
    parted = ", ".join(_union([run.parted] for run in seen))
    counts = sorted({run.steps for run in seen})
    shown = ", ".join(f"{b} instructions instead of {a}" for a, b in counts[:3])
    return f"{parted} goes the other way: {shown}; the results are the same"


def _union(names: object) -> dict[str, None]:
    return {name: None for group in names for name in group}  # type: ignore[attr-defined]


_TEXTS = {PATH: _path, ABSORBED: _absorbed, UNREAD: _unread, FLAGS: _flags, SAME: _same}
