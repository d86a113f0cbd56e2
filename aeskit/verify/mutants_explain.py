"""Why a mutant that every proof passes makes no difference: what both codes, side by side, have shown.

Over GF(2) that holds for all inputs of the calls that were made. Code that no proof can follow is run in
numbers: that tells where a difference begins and ends in those runs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from aeskit.contracts import Contract
from aeskit.machine.errors import MachineError
from aeskit.machine.loader import Image
from aeskit.machine.run import Machine
from aeskit.verify.mutants_beside import Seen
from aeskit.verify.mutants_levels import Verdict
from aeskit.verify.mutants_make import Mutant, patched
from aeskit.verify.mutants_reach import STEPS, Reach, call

RUNS = 12
"""Runs compared: the shortest lengths of classes that reach the instruction, spread over them."""

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


def reason(mutant: Mutant, seen: Iterable[Seen]) -> Reason:
    """The reason that covers all pairs of runs that were compared as long as anything differed."""
    told = [one for one in seen if one.whole or one.parted]
    return _reason(mutant, told) if told else Reason(UNKNOWN, "no run was compared to its end")


def _kind(seen: Seen) -> str:
    """The reason that one pair of runs alone would give."""
    if not seen.visits:
        return UNKNOWN
    if seen.parted:
        return PATH
    if not seen.differed:
        return SAME
    if seen.readers:
        return ABSORBED
    return FLAGS if set(seen.differed) == {"flags"} else UNREAD


def explain(image: Image, mutant: Mutant, function: str, promises: list[Contract], reach: Reach) -> Reason:
    """The reason that runs in numbers show: for code that no proof can follow.

    UNKNOWN, with what was seen, where none covers every run.
    """
    every = reach.of(mutant.address)
    if not every:
        return Reason(UNREACHED, REASONS[UNREACHED])
    changed, seen = patched(image, mutant), []
    for number in range(0, len(every), -(-len(every) // RUNS)):
        lengths, kinds = every[number]
        kind = kinds[number % len(kinds)]
        prepared = call(image, function, promises[kind.target], lengths[0], kind.key_size)
        other = call(changed, function, promises[kind.target], lengths[0], kind.key_size)
        try:
            seen.append(compare(prepared.machine(), other.machine(), function, mutant.address))
        except MachineError as error:
            return Reason(UNKNOWN, str(error))
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
    """Run two codes side by side from the same state until they part or return; MachineError if one stops."""
    seen = Seen()
    one.start(function)
    other.start(function)
    one.resume(STEPS, until=lambda rip: rip == address)
    other.resume(STEPS, until=lambda rip: rip == address)
    _side_by_side(one, other, address, seen)
    one.resume(STEPS)
    other.resume(STEPS)
    seen.steps = one.steps, other.steps
    return seen


def _side_by_side(one: Machine, other: Machine, address: int, seen: Seen) -> None:
    while not one.finished:
        if not seen.step(one, other, address):
            return
    seen.whole = True


def _reason(mutant: Mutant, seen: list[Seen]) -> Reason:
    kinds = Counter(_kind(run) for run in seen)
    if UNKNOWN in kinds:
        return Reason(UNKNOWN, "a run did not come to the instruction")
    order = (PATH, ABSORBED, UNREAD, FLAGS, SAME)
    kind = next(name for name in order if name in kinds)
    return Reason(kind, _TEXTS[kind](mutant, [run for run in seen if _kind(run) == kind]))


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
