"""One call that shows a fault, made simple: what goes in, what must come out, what does, the command."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from aeskit.bits import BLOCK
from aeskit.verify.simplest import described

ROWS = 8
"""Blocks of a value that are told; the command and the JSON have all of them."""


@dataclass(frozen=True)
class Value:
    """An input, as hexadecimal."""

    name: str
    data: str
    told: str = ""
    """Its shape in words: all zeros, one bit."""


@dataclass(frozen=True)
class Counterexample:
    """A call whose outcome is not what the contract asks for. Bytes are hexadecimal."""

    function: str
    call: str
    """Contract, key size, length and layout."""
    text: str
    """What is wrong."""
    engine: str
    """What ran it."""
    command: str
    """That runs it again, instruction by instruction."""
    inputs: tuple[Value, ...] = ()
    buffer: str = ""
    """The first that does not hold what it must; empty where the call did not come to its end."""
    expected: str = ""
    got: str = ""
    block: int = 0
    """The first block of the buffer that differs."""
    step: str = ""
    """The first step at which a lane or a register is not what the model says; empty where none was found."""
    calls: int = 0
    """Calls that were made to find it and to make it small."""

    def headline(self) -> str:
        """In one line."""
        return f"counterexample: {self.call}: {self.text}; {self.engine}"

    def again(self) -> str:
        """The command, as a line of a report."""
        return f"again: {self.command}"

    def lines(self) -> list[str]:
        """For a report: a line a block, the first that differs between arrows."""
        first = [f"first wrong step: {self.step}"] if self.step else []
        return [self.headline(), *first, *self.table(), self.again()]

    def table(self) -> list[str]:
        """Inputs and outcome in bytes."""
        return [text for _, text in self.rows()]

    def rows(self) -> Iterator[tuple[bool, str]]:
        """(whether it is the block that differs first, the line)."""
        for value in self.inputs:
            yield from _blocks(value.name, value.data, value.told)
        if self.buffer:
            yield from _blocks("must be", self.expected, self.buffer, self.block)
            yield from _blocks("is", self.got, self.buffer, self.block)


def _blocks(name: str, data: str, told: str, mark: int = -1) -> Iterator[tuple[bool, str]]:
    """A line a block; of many, those about the marked one; zeros alone are counted."""
    if len(data) > 2 * BLOCK and set(data) == {"0"} and mark < 0:
        yield False, f"  {name:9} {len(data) // 2} bytes, {told}"
        return
    blocks = [data[at : at + 2 * BLOCK] for at in range(0, len(data), 2 * BLOCK)] or [""]
    first = max(0, min(mark - 1, len(blocks) - ROWS)) if len(blocks) > ROWS else 0
    if first:
        yield False, f"  {name:9} (blocks 0 to {first - 1} left out)"
    for number, block in list(enumerate(blocks))[first : first + ROWS]:
        label = name if number == first and not first else ""
        place = f"block {number}" if len(blocks) > 1 else ""
        arrow = "→" if number == mark else " "
        words = f"  {told}" if told and number == first else ""
        yield number == mark, f"{arrow} {label:9} {place:8} {_spaced(block)}{words}".rstrip()
    left = len(blocks) - first - ROWS
    if left > 0:
        yield False, f"  {'':9} (and {left} blocks more)"


def _spaced(block: str) -> str:
    """Four groups of four bytes."""
    return " ".join(block[at : at + 8] for at in range(0, len(block), 8))


def value(name: str, data: bytes) -> Value:
    """An input with its shape in words."""
    return Value(name, data.hex(), described(data))
