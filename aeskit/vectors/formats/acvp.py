"""ACVP JSON, reading: the questions of a vector set, and the answers to them out of the same or another file.

AES-ECB, -CBC, -CBC-CS1 to -CS3, -CTR (counter tests, lengths in bits, IVs made by the answerer), -XTS 1.0 and
2.0 (several data units); AFT and Monte Carlo tests. Writing is in `acvp_write`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from aeskit import bits
from aeskit.vectors.acvp_write import (
    ALGORITHMS,
    BY_ANSWERER,
    FLAGS,
    Kind,
    numbers,
    refuses,
    same,
    set_number,
    write,
)
from aeskit.vectors.fields import Reader, vector
from aeskit.vectors.json_stream import Fields, JsonStream
from aeskit.vectors.registry import Format, Head, holds
from aeskit.vectors.source import Source
from aeskit.vectors.test_vector import DECREMENTS, MONTE_CARLO, SECTOR_NUMBER, TestVector

_GROUP_FIELDS = ("testType", "direction", "keyLen", "payloadLen", "dataUnitLen", "tweakMode")
_GROUP_FLAGS = {"overflow": {True: "CounterOverflow"}, "incremental": {False: DECREMENTS}}


def read(source: Source) -> Iterator[TestVector]:
    """Every test; its answer from the test itself or the companion of its vector set, else it `asks`."""
    head = _Head(source)
    answers = _answers(source, head.identity)
    if source.companions and not answers:
        source.note(f"none of the answers are to vsId {head.identity}")
    for group in _groups(source):
        yield from _group(source, group, head, answers)
    if answers:
        tests = next(iter(answers))
        source.note(f"{len(answers)} answers to questions that were not asked, tcId {tests} among them")


class _Head:
    """What a vector set says of itself: `algorithm` (as ours, with the stealing), where it comes from."""

    def __init__(self, source: Source) -> None:
        fields = _outside_groups(source)
        reader = Reader(source, fields, "vector set", 1)
        name = reader.choice("algorithm", ALGORITHMS)
        self.mode, self.stealing = ALGORITHMS[name]
        revision = reader.text("revision", "1.0")
        self.identity = reader.number("vsId", default=0)
        self.title = f"{name} {revision}, vsId {self.identity}"
        ignored = ("isSample", "acvVersion", "time", "url", "vectorSetUrls", "mode", "status")
        reader.ignore(*ignored)
        reader.done(strict=False)


def _outside_groups(source: Source) -> Fields:
    """The members of the header and the vector set, but for the groups."""
    stream, fields = JsonStream(source), Fields(1)
    for _ in _objects(stream):
        for name in stream.members():
            fields.lines[name] = stream.line
            if name == "testGroups":
                stream.skip()
            else:
                fields[name] = stream.value()
    if "testGroups" not in fields.lines:
        raise stream.error('"testGroups" is missing')
    return fields


def _objects(stream: JsonStream) -> Iterator[None]:
    """The header and the set of a list of two, or the set alone; nothing after it."""
    if stream.starts_with("["):
        for _ in stream.items():
            yield
    else:
        yield
    stream.end()


def _groups(source: Source) -> Iterator[Reader]:
    stream = JsonStream(source)
    for _ in _objects(stream):
        for name in stream.members():
            if name != "testGroups":
                stream.skip()
                continue
            for number in stream.items():
                line = stream.line
                yield Reader(source, stream.value(), f"group {number}", line)


def _answers(source: Source, identity: int) -> dict[int, Reader]:
    """tcId to answer, of the companion that answers this vector set."""
    found: dict[int, Reader] = {}
    for other in source.companions:
        head = _outside_groups(other)
        theirs = head.get("vsId", 0)
        if theirs and identity and theirs != identity:
            continue
        for group in _groups(other):
            for number, value in enumerate(group.list("tests")):
                test = Reader(other, value, f"answer {number}", group.at("tests"))
                tcid = test.number("tcId")
                if tcid in found:
                    raise test.error("tcId", f"{tcid} is answered twice")
                found[tcid] = test
    return found


def _group(source: Source, group: Reader, head: _Head, answers: dict[int, Reader]) -> Iterator[TestVector]:
    kind = group.choice("testType", ("AFT", "MCT", "CTR"))
    group.choice("direction", ("encrypt", "decrypt"))
    group.number("keyLen", 128, 256)
    identity = group.number("tgId")
    flags = tuple(
        named[group.flag(name)]
        for name, named in _GROUP_FLAGS.items()
        if name in group.fields and group.flag(name) in named
    )
    if kind == "CTR":
        flags = ("CounterTest", *flags)
    tests = group.list("tests")
    group.ignore(*_GROUP_FIELDS, "ivGen", "ivGenMode", "dataUnitLenMatchesPayload")
    group.done(strict=False)
    for number, value in enumerate(tests):
        test = Reader(source, value, f"test {number}", group.at("tests"))
        tcid = test.number("tcId")
        test.what = f"tcId {tcid}"
        yield from _test(
            _Test(source, group, test, answers.pop(tcid, None), identity, tcid), head, kind, flags
        )


class _Test:
    """One test's fields, wherever they stand: itself, its answer, its group."""

    def __init__(
        self, source: Source, group: Reader, test: Reader, answer: Reader | None, tgid: int, tcid: int
    ) -> None:
        self.source, self.group, self.test, self.answer = source, group, test, answer
        self.name, self.clause = f"tcId {tcid}", f"tgId {tgid}, tcId {tcid}"

    def number(self, name: str, high: int) -> int | None:
        for reader in (self.test, self.group):
            if reader.has(name):
                return int(reader.number(name, 0, high))
        return None

    def hex(self, name: str) -> bytes | None:
        for reader in (self.test, self.answer):
            if reader is not None and reader.has(name):
                return reader.hex(name)
        return None

    def needed(self, name: str) -> bytes:
        found = self.hex(name)
        if found is None:
            raise self.source.error(self.test.line, f'{self.name}: "{name}" is missing')
        return found


def _test(test: _Test, head: _Head, kind: str, flags: tuple[str, ...]) -> Iterator[TestVector]:
    direction = test.group.text("direction")
    given, asked = ("pt", "ct") if direction == "encrypt" else ("ct", "pt")
    key = test.needed("key")
    wanted = test.group.number("keyLen") * (2 if head.mode == "xts" else 1)
    if 8 * len(key) != wanted:
        raise test.test.error("key", f"must be {wanted} bits as its group says, not {8 * len(key)}")
    iv, iv_flags = _iv(test, head.mode)
    common: dict[str, Any] = {"mode": head.mode, "stealing": head.stealing, "direction": direction}
    common |= {"source": head.title, "clause": test.clause, "flags": flags + iv_flags}
    results = _results(test)
    test.test.ignore(
        "payloadLen", "dataUnitLen", "tweakValue", "sequenceNumber", "iv", "resultsArray", "pt", "ct"
    )
    test.test.done(strict=False)
    if results:
        yield from _monte_carlo(test, results, key, iv, given, common)
        return
    common |= _lengths(test, head.mode, len(test.needed(given)))
    answer = test.hex(asked)
    names = {"pt": "plaintext", "ct": "ciphertext"}
    texts = {names[given]: test.needed(given), names[asked]: answer or b""}
    common |= {
        "asks": names[asked] if answer is None else "",
        "iterations": MONTE_CARLO if kind == "MCT" else 1,
    }
    yield vector(test.source, test.test.line, name=test.name, key=key, iv=iv, **texts, **common)


def _iv(test: _Test, mode: str) -> tuple[bytes, tuple[str, ...]]:
    """The IV or tweak; none where the answerer makes it and has not answered yet."""
    if mode == "ecb":
        return b"", ()
    if mode != "xts":
        if mode != "ctr" or test.test.has("iv"):
            return test.needed("iv"), ()
        return test.hex("iv") or b"", (BY_ANSWERER,)
    number = test.number("sequenceNumber", (1 << 64) - 1)
    if number is not None:
        return bits.to_le(number, 16), (SECTOR_NUMBER,)
    return test.needed("tweakValue"), ()


def _lengths(test: _Test, mode: str, size: int) -> dict[str, int]:
    """`bits` and `unit_bits` where they say more than the text's bytes."""
    length, unit = test.number("payloadLen", 1 << 40), test.number("dataUnitLen", 1 << 40)
    if length is None:
        length = 8 * size
    if (length + 7) // 8 != size:
        where = test.test if test.test.has("payloadLen") else test.group
        raise test.source.error(
            where.at("payloadLen"), f"{test.name}: payloadLen is {length}, the text has {size} bytes"
        )
    found = {"bits": length} if length % 8 else {}
    if mode == "xts" and unit is not None and unit != length:
        found["unit_bits"] = unit
    return found


def _results(test: _Test) -> list[Reader]:
    """The entries of a Monte Carlo answer."""
    for reader in (test.test, test.answer):
        if reader is not None and reader.has("resultsArray"):
            entries = reader.list("resultsArray")
            line = reader.at("resultsArray")
            return [
                Reader(reader.source, entry, f"{test.name}, result {number}", line)
                for number, entry in enumerate(entries)
            ]
    return []


def _monte_carlo(
    test: _Test, results: list[Reader], key: bytes, iv: bytes, given: str, common: dict[str, Any]
) -> Iterator[TestVector]:
    first = results[0]
    for name, wanted in (("key", key), ("iv", iv), (given, test.hex(given))):
        if wanted and first.hex(name, wanted) != wanted:
            raise first.error(name, "must be the question's in the first result")
    for number, entry in enumerate(results):
        yield vector(
            entry.source,
            entry.line,
            name=f"{test.name}, {number}",
            key=entry.hex("key"),
            iv=entry.hex("iv", b""),
            plaintext=entry.hex("pt"),
            ciphertext=entry.hex("ct"),
            iterations=MONTE_CARLO,
            **common,
        )


def _is_acvp(head: str) -> bool:
    """A list, or an object that says what it is; ``[ENCRYPT]`` begins another format."""
    return '"aeskit_' not in head and (
        bool(re.match(r"\s*\[(?![ \t]*(?:ENCRYPT|DECRYPT)\b)", head))
        or (head.lstrip().startswith("{") and ('"vsId"' in head or '"ACVP-AES' in head))
    )


def _is_answers(head: str) -> bool:
    return _is_acvp(head) and '"testGroups"' in head and not re.search(r'"(testType|direction|keyLen)"', head)


def _drops(vectors: Sequence[TestVector], head: Head) -> Iterator[str]:
    """The number of a vector set is what it says of a source."""
    names = ("direction", "source") if set_number(vectors) else ("direction",)
    return holds(*names, flags=FLAGS, titled=False, numbered=lambda items: all(map(numbers, items)))(
        vectors, head
    )


FORMATS = [
    Format(
        "acvp-expected",
        "ACVP expected answers",
        read,
        lambda vectors, head: write(vectors, head, Kind.EXPECTED),
        recognises=_is_answers,
        refuses=lambda item: "an answer is asked for, not there" if item.asks else refuses(item),
        drops=_drops,
        same=same,
        counts_down=True,
        answers=True,
    ),
    Format(
        "acvp-response",
        "ACVP response to a validation server",
        None,
        lambda vectors, head: write(vectors, head, Kind.RESPONSE),
        refuses=lambda item: "an answer is asked for, not there" if item.asks else refuses(item),
        drops=_drops,
        same=same,
        counts_down=True,
    ),
    Format(
        "acvp",
        "ACVP questions",
        read,
        lambda vectors, head: write(vectors, head, Kind.QUESTIONS),
        recognises=_is_acvp,
        refuses=refuses,
        drops=_drops,
        same=same,
        counts_down=True,
    ),
]
