"""Why a mutant that every proof passes makes no difference: what both codes, side by side, have shown.

Over GF(2) that holds for all inputs of the calls that were made.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from aeskit.verify.mutants.make import Mutant
from aeskit.verify.mutants.states import Seen

UNREACHED = "not reached"
SAME = "same result"
FLAGS = "flags unused"
UNREAD = "overwritten or left unread"
ABSORBED = "difference discarded"
PATH = "another path"
ANYTHING = "any result would do"
OUTSIDE = "outside the proof"
UNKNOWN = "not known"
REASONS = {
    UNREACHED: "no run of these lengths comes to the instruction",
    SAME: "whenever it runs, registers, flags and memory are the same after it",
    FLAGS: "only flags differ, and no instruction reads them before they are set again",
    UNREAD: "what differs is overwritten before it is read, or left where no caller may rely on it",
    ABSORBED: "what differs is read, but by instructions that discard the bits that differ",
    PATH: "a branch goes the other way, and both ways compute the same",
    ANYTHING: "the proof cannot follow it, but with any value where it cannot everything comes out right",
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
    told = [one for one in seen if one.whole or one.parted or one.unfollowed]
    if not told:
        return Reason(UNKNOWN, "no run was compared to its end")
    kinds = Counter(_kind(run) for run in told)
    if UNKNOWN in kinds:
        return Reason(UNKNOWN, "a run did not come to the instruction")
    order = (ANYTHING, PATH, ABSORBED, UNREAD, FLAGS, SAME)
    kind = next(name for name in order if name in kinds)
    return Reason(kind, _TEXTS[kind](mutant, [run for run in told if _kind(run) == kind]))


def refused(finding: str) -> Reason:
    """Of a mutant that no proof can follow and nothing kills."""
    return Reason(UNKNOWN, f"no proof can follow it ({finding.partition(': ')[2]}), and nothing kills it")


def _kind(seen: Seen) -> str:
    """The reason that one pair of runs alone would give."""
    if not seen.visits:
        return UNKNOWN
    if seen.unfollowed:
        return ANYTHING
    if seen.parted:
        return PATH
    if not seen.differed:
        return SAME
    if seen.readers:
        return ABSORBED
    return FLAGS if set(seen.differed) == {"flags"} else UNREAD


_SAME = {
    "opcode": "both opcodes give the same on what they meet here",
    "register": "both registers hold the same there, or the same lies at both",
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


def _anything(mutant: Mutant, seen: list[Seen]) -> str:
    unfollowed = _union(run.unfollowed for run in seen)
    what = ["its result" if text == mutant.after else f"that of {text}" for text in unfollowed]
    text = f"any value will do in place of {' and '.join(what)}"
    rests = " and ".join(_union(run.rests for run in seen))
    return f"{text}; this rests on: {rests}" if rests else text


def _union(groups: Iterable[Iterable[str]]) -> dict[str, None]:
    return {name: None for group in groups for name in group}


_TEXTS = {
    ANYTHING: _anything,
    PATH: _path,
    ABSORBED: _absorbed,
    UNREAD: _unread,
    FLAGS: _flags,
    SAME: _same,
}
