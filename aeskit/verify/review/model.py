"""What a review says: a line a question, with its verdict, its evidence and its caveat."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from aeskit.verify.review.counterexample import Counterexample

VERSION = 1
"""Of the JSON."""

HOLDS, FAILS, TOLD, OPEN = "holds", "fails", "told", "not checked"
"""Verdicts: what was asked is so; is not so; for information; nothing is known, and the line says why."""
EVERY_LENGTH = "every length"
"""The topic that is there only where it was asked for: without an answer the review is not good."""


@dataclass(frozen=True)
class Line:
    """One thing that is known."""

    topic: str
    verdict: str
    text: str
    evidence: str
    """What was done to know it."""
    caveat: str = ""
    """What it does not say."""
    details: tuple[str, ...] = ()
    """Findings and figures, one a line."""


@dataclass(frozen=True)
class Cell:
    """One proof of the matrix."""

    contract: str
    key_bits: int
    in_place: bool
    length: int
    findings: tuple[str, ...] = ()
    """Empty where it is proved."""

    @property
    def proved(self) -> bool:
        """Whether nothing was found."""
        return not self.findings


@dataclass(frozen=True)
class Promise:
    """A contract that the function was held against."""

    name: str
    title: str
    arguments: str = ""
    """In their order."""


@dataclass
class FunctionReview:
    """One function."""

    name: str
    promises: tuple[Promise, ...] = ()
    chosen: str = ""
    """Where the contracts come from: the caller, our own registry, or a guess and what it rests on."""
    guessed: bool = False
    lines: list[Line] = field(default_factory=list)
    matrix: list[Cell] = field(default_factory=list)
    counterexample: Counterexample | None = None
    """A call whose result is wrong, if a proof failed and one was found."""
    fits: bool = True
    """False where the contract was guessed and a few calls have shown that it is not kept."""
    place: str = ""
    """Where it begins: ``.text+0x40``, or the address that a linked file gives."""

    @property
    def failed(self) -> list[Line]:
        """The lines that say that something is wrong."""
        return [line for line in self.lines if line.verdict == FAILS]

    @property
    def unknown(self) -> list[Line]:
        """The lines that say that something was not checked."""
        return [line for line in self.lines if line.verdict == OPEN]

    @property
    def good(self) -> bool:
        """Whether nothing is wrong, and every length is proved where that was asked."""
        return not self.failed and all(line.topic != EVERY_LENGTH for line in self.unknown)

    @property
    def verdict(self) -> str:
        """The function in one sentence."""
        if not self.promises:
            return "not held against anything: no contract fits; name one with --contract"
        wrong, open_ = [line.topic for line in self.failed], [line.topic for line in self.unknown]
        told = f"{count(len(wrong), 'thing')} wrong: {', '.join(wrong)}" if wrong else "nothing wrong"
        told = told if self.fits else f"by the nearest contract, which may not be its own: {told}"
        return told + (f"; not checked: {', '.join(open_)}" if open_ else "")

    def to_json(self) -> dict[str, Any]:
        """Plain values for `json.dumps`."""
        cells = [asdict(cell) | {"proved": cell.proved} for cell in self.matrix]
        told = {"good": self.good, "verdict": self.verdict}
        return asdict(self) | told | {"matrix": cells}

    def line(self, topic: str) -> Line:
        """The line on a topic; KeyError without one."""
        for line in self.lines:
            if line.topic == topic:
                return line
        raise KeyError(topic)


@dataclass
class Review:
    """One file."""

    file: str
    """Its name, without folders: a report is sent to others."""
    sha256: str
    code: str
    """SHA-256 of the machine code and its constants as they were loaded."""
    version: str
    """Of aeskit."""
    cpu: str
    functions: list[FunctionReview] = field(default_factory=list)
    skipped: tuple[str, ...] = ()
    """Functions of the file that were not reviewed, and why."""
    options: tuple[str, ...] = ()
    """Macros and lengths that were chosen."""

    @property
    def good(self) -> bool:
        """Whether there was something to hold against a contract, and nothing is wrong."""
        return bool(self.functions) and all(f.promises and f.good for f in self.functions)

    def to_json(self) -> dict[str, Any]:
        """Plain values for `json.dumps`."""
        functions = [function.to_json() for function in self.functions]
        return {"aeskit_review": VERSION, "good": self.good} | asdict(self) | {"functions": functions}


def spans(numbers: Sequence[int]) -> str:
    """``16–160, 256``; ``0–160 by 16`` where at least four are equally far apart."""
    ordered, told, at = sorted(set(numbers)), [], 0
    while at < len(ordered):
        end = _equal_steps(ordered, at)
        step = ordered[at + 1] - ordered[at] if end > at else 0
        if step > 1 and end - at < 3:
            end = at
        by = f" by {step}" if step > 1 and end > at else ""
        told.append(f"{ordered[at]}–{ordered[end]}{by}" if end > at else f"{ordered[at]}")
        at = end + 1
    return ", ".join(told)


def _equal_steps(ordered: Sequence[int], at: int) -> int:
    """The last index up to which the numbers from `at` on are as far apart as the first two."""
    end = min(at + 1, len(ordered) - 1)
    while end + 1 < len(ordered) and ordered[end + 1] - ordered[end] == ordered[at + 1] - ordered[at]:
        end += 1
    return end


def count(number: int, what: str) -> str:
    """``1 proof``, ``2 proofs``."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"
