"""Check vectors against engines: for each of both passed, failed or unsupported, with the reason."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from enum import Enum

from aeskit.answers import monte_carlo
from aeskit.answers.engine import Call, Engine, Unsupported, call_of, units
from aeskit.vectors import TestVector
from aeskit.vectors.test_vector import DIRECTIONS

SHOWN = 40
"""Failures that a row keeps with their text; all are counted."""

_REFUSALS = (ValueError, TypeError, BufferError)
_NUMBER = re.compile(r"(.*?)(\d+)$", re.DOTALL)


class Status(Enum):
    """What came of a vector."""

    PASSED = "passed"
    FAILED = "failed"
    UNSUPPORTED = "unsupported"


@dataclass(frozen=True)
class Outcome:
    """One vector by one engine."""

    vector: TestVector
    status: Status
    text: str = ""
    """What differs, or what is missing."""


@dataclass
class Row:
    """One engine over one file."""

    file: str
    engine: str
    counts: Counter[Status] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)
    """Why vectors were unsupported, and how many each."""
    failures: list[Outcome] = field(default_factory=list)

    def add(self, outcome: Outcome) -> None:
        """Count it."""
        self.counts[outcome.status] += 1
        if outcome.status is Status.UNSUPPORTED:
            self.reasons[outcome.text] += 1
        if outcome.status is Status.FAILED and len(self.failures) < SHOWN:
            self.failures.append(outcome)


class Checker:
    """One engine, vector after vector: it remembers what a Monte Carlo test says must come next."""

    def __init__(self, engine: Engine, directions: tuple[str, ...] = DIRECTIONS) -> None:
        """Begin with nothing remembered; `directions` are those in which a vector is run."""
        self.engine, self._directions = engine, directions
        self._next: tuple[str, TestVector] | None = None

    def check(self, vector: TestVector) -> Outcome:
        """What the engine makes of a vector, in every direction and layout that it has."""
        try:
            wrong = self._wrong(vector)
        except Unsupported as reason:
            return Outcome(vector, Status.UNSUPPORTED, str(reason))
        return Outcome(vector, Status.FAILED if wrong else Status.PASSED, wrong)

    def _wrong(self, vector: TestVector) -> str:
        if vector.asks:
            raise Unsupported(f"the file asks for the {vector.asks}: nothing to compare with")
        if vector.mode == "keys":
            return difference(self.engine.schedule(vector.key), vector.schedule)
        if not vector.valid:
            return self._refused(vector)
        if vector.iterations > 1:
            return self._monte_carlo(vector)
        for direction in sorted(self._directions, key=lambda one: one != vector.direction):
            if wrong := _compared(self.engine, vector, direction):
                return f"{direction}{wrong}"
        return ""

    def _refused(self, vector: TestVector) -> str:
        """A vector that is not valid: refused, by the error's name, or else answered otherwise."""
        directions = [vector.direction] if vector.direction else DIRECTIONS
        texts = {"encrypt": vector.plaintext, "decrypt": vector.ciphertext}
        for direction in directions:
            if vector.length and not texts[direction]:
                continue  # the file has nothing to send through
            wanted = vector.ciphertext if direction == "encrypt" else vector.plaintext
            try:
                found = self.engine.crypt(call_of(vector, direction))
            except _REFUSALS:
                continue
            expected = f" ({vector.expects})" if vector.expects else ""
            if not wanted or (vector.expects and "MISMATCH" not in vector.expects):
                return f"{direction}: was answered, must be refused{expected}"
            if found == wanted:
                return f"{direction}: gives the text of a vector that is not valid{expected}"
        return ""

    def _monte_carlo(self, vector: TestVector) -> str:
        direction = vector.direction or "encrypt"
        wanted = vector.ciphertext if direction == "encrypt" else vector.plaintext
        match = _NUMBER.match(vector.name)
        series, number = (match[1], int(match[2])) if match else (vector.name, 0)
        expected, self._next = self._next, None
        if expected and expected[0] == f"{series}{number}" and (broken := _chain(expected[1], vector)):
            return f"{direction}: {broken}"
        try:
            found, following = monte_carlo.run(self.engine, vector, direction)
        except _REFUSALS as error:
            return f"{direction}: refused: {error}"
        self._next = f"{series}{number + 1}", following
        wrong = difference(found, wanted)
        return f"{direction}, after {vector.iterations} iterations: {wrong}" if wrong else ""


def run(vectors: Iterable[TestVector], engines: list[Engine], rows: list[Row]) -> Iterator[int]:
    """Check vector by vector into the rows, one an engine; the number of vectors done is yielded."""
    checkers = [Checker(engine) for engine in engines]
    for number, vector in enumerate(vectors, 1):
        for row, checker in zip(rows, checkers, strict=True):
            row.add(checker.check(vector))
        yield number


def check(vectors: Iterable[TestVector], engines: list[Engine], file: str = "") -> list[Row]:
    """Check all vectors: a row an engine."""
    rows = [Row(file, engine.name) for engine in engines]
    for _ in run(vectors, engines, rows):
        pass
    return rows


def difference(found: bytes, wanted: bytes) -> str:
    """Where two results differ, in the words of `aeskit verify`; empty where they do not."""
    if len(found) != len(wanted):
        return f"is {len(found)} bytes, must be {len(wanted)}"
    for at, (is_, must) in enumerate(zip(found, wanted, strict=True)):
        if is_ != must:
            return f"block {at // 16} byte {at % 16} is {is_:02x}, must be {must:02x}"
    return ""


def _compared(engine: Engine, vector: TestVector, direction: str) -> str:
    wanted = vector.ciphertext if direction == "encrypt" else vector.plaintext
    call = call_of(vector, direction)
    try:
        calls = units(vector, call)
        found = b"".join(engine.crypt(unit) for unit in calls)
        if wrong := difference(found, wanted):
            return f": {wrong}"
        if len(calls) == 1:
            others = engine.layouts(call, vector.pieces)
        else:
            others = engine.batch(call, len(calls[0].data))
        for layout, result in others:
            if wrong := difference(result, wanted):
                return f", {layout}: {wrong}"
        return _after(engine, vector, call)
    except _REFUSALS as error:
        return f": refused: {error}"


def _after(engine: Engine, vector: TestVector, call: Call) -> str:
    if vector.iv_after is None:
        return ""
    wrong = difference(engine.after(call), vector.iv_after)
    return f", what continues: {wrong}" if wrong else ""


def _chain(wanted: TestVector, found: TestVector) -> str:
    given = "plaintext" if found.direction != "decrypt" else "ciphertext"
    for name in ("key", "iv", given):
        if wrong := difference(getattr(found, name), getattr(wanted, name)):
            return f"{name} does not follow from the answer before: {wrong}"
    return ""
