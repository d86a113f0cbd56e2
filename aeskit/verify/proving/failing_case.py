"""The case in which a proof fails: what its counter must be for the wrong way to be gone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from aeskit.contracts import Contract
from aeskit.machine.errors import MachineError
from aeskit.machine.splits import Choose, Impossible, Split
from aeskit.verify.proving.assumption import Assumption, Choices
from aeskit.verify.proving.proof import Proof, Prover

MOST = 512
"""Cases that are looked at."""

Bytes = dict[str, dict[int, tuple[int, int]]]
"""Input to the place of a byte to (bits that are known, what they are)."""


def failing_case(prover: Prover, proof: Proof, contract: Contract) -> Assumption | None:
    """What the first case assumes that is not as it must be; None where none was found."""
    choices = prover.choices.setdefault((proof.function, contract.name), Choices())
    todo = choices.cases(Assumption())
    for _ in range(MOST):
        if not todo:
            return None
        assumption = todo.pop()
        try:
            call = prover.call(contract, proof.length, proof.key_size, proof.in_place, assumption)
            if prover._case(proof.function, call, None):
                return assumption
        except Split as split:
            todo += assumption.halves(split)
        except Choose as choice:
            choices.hear(choice)
            todo = choices.cases(Assumption())
        except Impossible:
            continue
        except MachineError:
            return None
    return None


def hints(
    prover: Prover, assumption: Assumption | None, drawn: dict[str, bytes]
) -> Iterator[dict[str, bytes]]:
    """The least and the greatest counters of a case, what it leaves open being as `drawn`.

    They are hints and no more: counters that overlap may ask for different values of one byte.
    """
    if assumption is None or assumption == Assumption():
        return
    for end in (0, 1):
        wanted: Bytes = {}
        for word, interval in assumption.intervals:
            if word and isinstance(word[0], int):
                _put(prover, word, interval[end], wanted)
        for name, index, mask, value in assumption.bits:
            _note(wanted, name, index, mask, value)
        for (name, index, mask), numbers in assumption.indices:
            _note(wanted, name, index, mask, _spread(numbers[end], mask))
        yield {name: _with(drawn[name], places) for name, places in wanted.items() if name in drawn}


def _put(prover: Prover, word: Any, value: int, wanted: Bytes) -> None:
    """`value` into the inputs whose bytes a word is made of."""
    expressions = prover.domain.expressions
    for byte, part in zip(word, value.to_bytes(len(word), "little"), strict=True):
        terms = expressions.terms[byte >> 8]
        if len(terms) == 1:
            what = expressions.atoms[terms[0][0]]
            if what[0] == "input":
                _note(wanted, what[1], what[2], expressions.varying(byte), part)


def _note(wanted: Bytes, name: str, index: int, mask: int, value: int) -> None:
    known, before = wanted.setdefault(name, {}).get(index, (0, 0))
    wanted[name][index] = (known | mask, before & ~mask | value & mask)


def _spread(number: int, mask: int) -> int:
    """The bits of a number at the places of a mask."""
    places = [bit for bit in range(8) if mask >> bit & 1]
    return sum((number >> n & 1) << bit for n, bit in enumerate(places))


def _with(data: bytes, places: dict[int, tuple[int, int]]) -> bytes:
    out = bytearray(data)
    for index, (mask, value) in places.items():
        out[index] = out[index] & ~mask | value
    return bytes(out)
