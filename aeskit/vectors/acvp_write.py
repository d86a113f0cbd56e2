"""ACVP JSON, writing: the questions, the expected answers, or the response that a validation server takes.

Numbers that the vectors were read with (vsId, tgId, tcId) are kept, so that a response fits its questions.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from enum import Enum
from itertools import groupby
from typing import Any

from aeskit import bits
from aeskit.vectors.registry import Head
from aeskit.vectors.test_vector import DECREMENTS, SECTOR_NUMBER, STEALING, TestVector

ALGORITHMS = {"ACVP-AES-ECB": ("ecb", ""), "ACVP-AES-CBC": ("cbc", ""), "ACVP-AES-CTR": ("ctr", "")}
ALGORITHMS |= {f"ACVP-AES-CBC-{form}": ("cts", form) for form in STEALING}
ALGORITHMS |= {"ACVP-AES-XTS": ("xts", "")}
"""Their names, as ours: mode and stealing."""

BY_ANSWERER = "IvByAnswerer"
"""Flag: the IV stands in the answer, for whoever answers makes it."""

FLAGS = {"CounterTest", "CounterOverflow", DECREMENTS, BY_ANSWERER, SECTOR_NUMBER}
"""Flags that fields of the format say."""

_SET = re.compile(r"ACVP-AES-[\w-]+ ([\d.]+), vsId (\d+)")
_CLAUSE = re.compile(r"tgId (\d+), tcId (\d+)")
_Tests = tuple[int, list[TestVector]]
"""tcId, and its vector: for a Monte Carlo test those of all results."""


class Kind(Enum):
    """What is written of a vector set."""

    QUESTIONS = "questions"
    EXPECTED = "expected"
    RESPONSE = "response"


def refuses(item: TestVector) -> str:
    """Why a vector cannot be a test."""
    if (item.mode, item.stealing) not in ALGORITHMS.values():
        return f"there is no algorithm for {item.mode}"
    if not item.valid:
        return "a test that must fail has no place"
    if item.bits is not None and item.mode in ("ecb", "cbc"):
        return "lengths are whole blocks"
    return "" if item.length else "a test has a text"


def same(item: TestVector) -> str:
    """What one file has one of."""
    return next(name for name, mode in ALGORITHMS.items() if mode == (item.mode, item.stealing))


def set_number(vectors: Sequence[TestVector]) -> tuple[str, str] | None:
    """Revision and vsId that all vectors were read with."""
    sources = {item.source for item in vectors}
    found = _SET.fullmatch(sources.pop()) if len(sources) == 1 else None
    return (found[1], found[2]) if found else None


def numbers(item: TestVector) -> tuple[int, int] | None:
    """tgId and tcId that a vector was read with."""
    found = _CLAUSE.fullmatch(item.clause)
    return (int(found[1]), int(found[2])) if found else None


def write(vectors: Iterable[TestVector], head: Head, kind: Kind) -> Iterator[str]:
    """The header and the vector set, a group at a time."""
    everything = _with_directions(vectors)
    algorithm = same(everything[0]) if everything else "ACVP-AES-ECB"
    several = any(item.unit_bits for item in everything)
    revision, identity = set_number(everything) or ("2.0" if several else "1.0", "1")
    fields: dict[str, Any] = {"vsId": int(identity)}
    if kind is not Kind.RESPONSE:
        fields |= {"algorithm": algorithm, "revision": revision, "isSample": True}
    yield f'[\n{{"acvVersion": "1.0"}},\n{json.dumps(fields)[:-1]}, "testGroups": ['
    separator = ""
    for number, tests in _groups(everything):
        yield f"{separator}\n{json.dumps(_group(number, tests, kind), indent=1)}"
        separator = ","
    yield "\n]}\n]\n"


def _with_directions(vectors: Iterable[TestVector]) -> list[TestVector]:
    return [
        replace(item, direction=direction)
        for item in vectors
        for direction in ([item.direction] if item.direction else ["encrypt", "decrypt"])
    ]


def _groups(vectors: list[TestVector]) -> Iterator[tuple[int, list[_Tests]]]:
    numbered = [numbers(item) for item in vectors]
    if all(numbered):
        both = [found for found in numbered if found]
    else:
        traits = [_traits(item) for item in vectors]
        order = {trait: number for number, trait in enumerate(dict.fromkeys(traits), 1)}
        tests = {name: number for number, name in enumerate(dict.fromkeys(map(_test_name, vectors)), 1)}
        both = [(order[trait], tests[_test_name(item)]) for trait, item in zip(traits, vectors, strict=True)]
    pairs = sorted(zip(both, vectors, strict=True), key=lambda pair: pair[0])
    for tgid, members in groupby(pairs, key=lambda pair: pair[0][0]):
        parted = groupby(members, key=lambda pair: pair[0][1])
        yield tgid, [(tcid, [item for _, item in items]) for tcid, items in parted]


def _test_name(item: TestVector) -> tuple[str, str]:
    """One for all results of a Monte Carlo test, which are numbered at their names' ends."""
    name = re.sub(r", \d+$", "", item.name) if item.iterations > 1 else item.name
    return name, item.direction


def _traits(item: TestVector) -> tuple[Any, ...]:
    """What the vectors of one group have in common."""
    length = item.length_bits if item.mode == "xts" else 0
    return (_shared(item), length, item.unit_bits)


def _shared(item: TestVector) -> tuple[Any, ...]:
    return item.direction, item.key_bits, item.iterations, tuple(sorted(FLAGS & set(item.flags)))


def _group(number: int, tests: list[_Tests], kind: Kind) -> dict[str, Any]:
    first = tests[0][1][0]
    group: dict[str, Any] = {"tgId": number}
    if kind is Kind.QUESTIONS:
        counter = "CounterTest" in first.flags
        group["testType"] = "MCT" if first.iterations > 1 else "CTR" if counter else "AFT"
        group |= {"direction": first.direction, "keyLen": first.key_bits}
        if counter:
            group["overflow"] = "CounterOverflow" in first.flags
            group["incremental"] = DECREMENTS not in first.flags
        if first.mode == "xts":
            group["payloadLen"] = first.length_bits
            group["tweakMode"] = "number" if SECTOR_NUMBER in first.flags else "hex"
            if first.unit_bits is not None:
                group["dataUnitLen"] = first.unit_bits
    group["tests"] = [_test(tcid, items, kind) for tcid, items in tests]
    return group


def _test(tcid: int, items: list[TestVector], kind: Kind) -> dict[str, Any]:
    first = items[0]
    given, asked = _texts(first)
    test: dict[str, Any] = {"tcId": tcid}
    if kind is Kind.QUESTIONS:
        return test | {"key": first.key.hex()} | _start(first) | given
    if first.iterations > 1:
        results = [
            {"key": item.key.hex()} | _start(item) | _texts(item)[0] | _texts(item)[1] for item in items
        ]
        return test | {"resultsArray": results}
    if first.mode == "ctr" and BY_ANSWERER in first.flags:
        test["iv"] = first.iv.hex()
    return test | asked


def _start(item: TestVector) -> dict[str, Any]:
    if not item.iv or BY_ANSWERER in item.flags:
        return {"payloadLen": item.length_bits} if item.mode == "ctr" else {}
    if item.mode != "xts":
        return {"iv": item.iv.hex()} | (
            {"payloadLen": item.length_bits} if item.mode in ("ctr", "cts") else {}
        )
    if SECTOR_NUMBER in item.flags:
        return {"sequenceNumber": bits.from_le(item.iv)}
    return {"tweakValue": item.iv.hex()}


def _texts(item: TestVector) -> tuple[dict[str, str], dict[str, str]]:
    """What is given and what is asked."""
    plain, cipher = {"pt": item.plaintext.hex()}, {"ct": item.ciphertext.hex()}
    return (plain, cipher) if item.direction == "encrypt" else (cipher, plain)
