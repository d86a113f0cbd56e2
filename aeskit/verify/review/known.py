"""All that was found out about a function, before it is put into lines."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from aeskit.contracts import Contract
from aeskit.verify.proving.every_length import Closed
from aeskit.verify.proving.proof import Proof
from aeskit.verify.review.code import Code
from aeskit.verify.review.counterexample import Counterexample
from aeskit.verify.review.hardware import Hardware
from aeskit.verify.review.model import Cell
from aeskit.verify.review.runs import Runs

MOST = 6
"""Details of a line."""


@dataclass
class Known:
    """All that was found out about a function."""

    code: Code
    promises: Sequence[Contract]
    matrix: list[Cell] = field(default_factory=list)
    runs: Runs = field(default_factory=Runs)
    loops: list[Closed] | None = None
    """Main loops that were to be closed; None where nobody asked."""
    below: Sequence[Proof] = ()
    """Proofs of the lengths below them."""
    stand_ins: Sequence[str] = ()
    """Functions of others that were called and not defined."""
    hardware: Hardware = field(default_factory=Hardware)
    counterexample: Counterexample | None = None
    no_counterexample: str = ""
    """Why there is none of a wrong result."""
    declared: tuple[str, ...] | None = None
    declared_by: str = ""
    narrow: bool = False
    """Whether a contract has 32-bit arguments."""
    file: str = ""

    @property
    def has_length(self) -> bool:
        """Whether the contracts have data, of some length."""
        return any(contract.has_length for contract in self.promises)


def some(texts: Sequence[str], most: int = MOST) -> tuple[str, ...]:
    """The first texts, and how many more there are."""
    more = (f"and {len(texts) - most} more",) if len(texts) > most else ()
    return (*texts[:most], *more)


def grouped(texts: Sequence[str], most: int = MOST) -> tuple[str, ...]:
    """The first of each kind, ``CALL: WORDS``, with how many there are that differ in numbers alone."""
    kinds: dict[str, list[str]] = {}
    for text in texts:
        said = text.partition(": ")[2] or text
        plain = re.sub(r"source|destination|data|0x[0-9a-f]+|\b[0-9a-f]{2}\b|[0-9]+", "", said)
        kinds.setdefault(plain, []).append(text)
    rest = {n: "" if n == 1 else f"; and {n - 1:,} more like it" for n in map(len, kinds.values())}
    return some([f"{group[0]}{rest[len(group)]}" for group in kinds.values()], most)
