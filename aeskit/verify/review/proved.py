"""The proof matrix of a function, and what the proofs say of each topic."""

from __future__ import annotations

import re
from collections.abc import Sequence

from aeskit.verify.proving.proof import Proof
from aeskit.verify.review.model import Cell, spans
from aeskit.verify.review.runs import tidy

# What a finding of a proof is about, by its words; the first that fits.
_KINDS = (
    ("upper", r"the upper half of argument"),
    ("unset", r"(which|that) was never set"),
    ("memory", r"(read|write|execute) of \d+ bytes at"),
    ("abi", r"as the ABI asks|rsp is not|the caller's part of the stack"),
    ("result", r"is not what the model says|is changed \("),
)
_DEPENDS = re.compile(r" depends on (?:whether a value of )?([^:]+?)(?: is zero)?(?=: |$)")
_UNSET = re.compile(
    r".* at entry|the stack that rsp has left|old destination|free bytes .*|.* leaves undefined"
)
"""Of what decides a branch or an address, what has no meaning rather than a secret one."""
_OPEN = re.compile(
    r"bits of an address|the address .*|nothing|the (carry|parity|overflow|flags|difference|bits shifted) .*"
)
"""What says no more than that the domain cannot tell: it may hang on a secret, a counter or an address."""
TOPICS = {"upper": "32-bit arguments", "secret": "secrets", "memory": "memory", "unset": "uninitialised"}
"""Kinds that end a proof before the return, and the lines of a review that tell of them."""
AT_RETURN = ("result", "abi")
"""Kinds that are found after the return."""


def kind(finding: str) -> str:
    """upper, secret, unset, memory, abi, result, or open: the run left what can be proved."""
    found = next((name for name, words in _KINDS if re.search(words, finding)), "")
    decided = _DEPENDS.search(finding)
    if found or not decided:
        return found or ("secret" if "depends on" in finding else "open")
    others = [name for name in decided[1].split(", ") if not _OPEN.fullmatch(name)]
    if not others:
        return "open"
    return "unset" if all(map(_UNSET.fullmatch, others)) else "secret"


def cells(found: Sequence[Proof]) -> list[Cell]:
    """The matrix."""
    return [Cell(p.contract, 8 * p.key_size, p.in_place, p.length, p.findings) for p in found]


def of(matrix: Sequence[Cell], *kinds: str) -> list[Cell]:
    """The cells whose finding is of one of these kinds."""
    return [cell for cell in matrix if any(kind(finding) in kinds for finding in cell.findings)]


def complete(cell: Cell) -> bool:
    """Whether every case of it ran to the return."""
    return all(kind(finding) in AT_RETURN for finding in cell.findings)


def topics(cell: Cell) -> list[str]:
    """The lines that tell why a proof ended before the return."""
    return [TOPICS[name] for finding in cell.findings if (name := kind(finding)) in TOPICS]


def details(bad: Sequence[Cell], *kinds: str, most: int = 6) -> tuple[str, ...]:
    """Each finding once, with the lengths, key sizes and contracts at which it shows."""
    groups: dict[str, list[tuple[Cell, str]]] = {}
    for cell in bad:
        for finding in cell.findings:
            if kind(finding) in kinds:
                groups.setdefault(_plain(finding), []).append((cell, finding))
    told = [f"{_where([c for c, _ in group])}: {tidy(group[0][1])}" for group in groups.values()]
    more = [f"and {len(told) - most} findings more"] if len(told) > most else []
    return (*told[:most], *more)


def _plain(finding: str) -> str:
    """A finding without the numbers that differ from length to length."""
    plain = re.sub(r"at 0x[0-9a-f]{9,}|[\w ]+ is 0x\w+ to 0x\w+|\(\d+ bytes in all\)", "", finding)
    plain = re.sub(r"\b\d+ bytes (past|before)", r"bytes \1", plain)
    return re.sub(r"^(source|destination|data)\b|of (source|data)\b|block \d+ byte \d+", "", plain)


def _where(group: Sequence[Cell]) -> str:
    contracts = list(dict.fromkeys(cell.contract for cell in group))
    names = contracts[0] if len(contracts) == 1 else f"{len(contracts)} contracts"
    bits = ", ".join(str(n) for n in sorted({cell.key_bits for cell in group}))
    lengths = spans([cell.length for cell in group])
    return f"{names}, {bits} bits, {lengths} bytes"
