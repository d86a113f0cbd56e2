"""The identity of a check: one line from which exactly that check is made again.

``FUNCTION:KEY_BITS:LENGTH:LAYOUT:START:SEED`` with ``:CS1`` to ``:CS3`` behind it for stealing, or
``FUNCTION:known:FILE:VECTOR:LAYOUT``. Parsing is strict: what `identity` does not write is refused.
"""

from __future__ import annotations

from aeskit import implementations
from aeskit.verify import cases, known, layouts
from aeskit.verify.cases import Case
from aeskit.verify.known import Known
from aeskit.verify.layouts import Layout

Problem = Case | Known
"""What is computed, wherever it comes from."""

_MAX_LENGTH = 1 << 20


def identity(function: str, problem: Problem, layout: Layout) -> str:
    """The line."""
    if isinstance(problem, Known):
        return f"{function}:known:{problem.file}:{problem.vector.name}:{layout.name}"
    size = f"{problem.key_bits}:{problem.length}"
    stealing = f":{problem.stealing}" if problem.stealing else ""
    return f"{function}:{size}:{layout.name}:{problem.start}:{problem.seed}{stealing}"


def parse(text: str) -> tuple[str, Problem, Layout]:
    """Function, problem and layout of a line; ValueError with what must be there otherwise."""
    function, *fields = text.split(":")
    row = implementations.named(function)
    problem: Problem
    if fields[:1] == ["known"]:
        problem, layout = _known(row.mode, row.direction, fields[1:])
    else:
        problem, layout = _case(row.mode, row.direction, fields)
    if identity(function, problem, layout) != text:
        raise ValueError(f'"{text}" must be written {identity(function, problem, layout)}')
    return function, problem, layout


def _known(mode: str, direction: str, fields: list[str]) -> tuple[Known, Layout]:
    if len(fields) != 3:
        raise ValueError("a known answer must be FUNCTION:known:FILE:VECTOR:LAYOUT")
    file, name, layout = fields
    for found in known.every(mode, direction):
        if (found.file, found.vector.name) == (file, name):
            return found, layouts.named(layout, mode, found.length)
    raise ValueError(f'there is no vector "{name}" of {mode} in a file "{file}"')


def _case(mode: str, direction: str, fields: list[str]) -> tuple[Case, Layout]:
    if len(fields) != (6 if mode == "cts" else 5):
        shape = "FUNCTION:KEY_BITS:LENGTH:LAYOUT:START:SEED" + (":STEALING" if mode == "cts" else "")
        raise ValueError(f"a case of {mode} must be {shape}, not {len(fields) + 1} fields")
    bits, length, layout, start, seed, *stealing = fields
    case = Case(
        mode,
        direction,
        _number(bits, "key size", 256),
        _number(length, "length", _MAX_LENGTH),
        start,
        _number(seed, "seed", 1 << 32),
        *stealing,
    )
    cases.check(case)
    return case, layouts.named(layout, mode, case.length)


def _number(text: str, what: str, limit: int) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= 10 and int(text) <= limit):
        raise ValueError(f'{what} must be a number up to {limit}, not "{text}"')
    return int(text)
