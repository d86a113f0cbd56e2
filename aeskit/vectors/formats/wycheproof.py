"""Wycheproof JSON of unauthenticated ciphers: `ind_cpa_test_schema_v1`, flags with notes, groups by sizes.

An IV shorter than 16 bytes is padded with zeros on the right, as these files mean it: a data unit's number,
little-endian, in as many bytes as it was drawn with.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from aeskit.vectors.fields import Reader, vector
from aeskit.vectors.json_stream import Fields, JsonStream
from aeskit.vectors.registry import Format, Head, holds
from aeskit.vectors.source import Source
from aeskit.vectors.test_vector import TestVector

SCHEMA = "ind_cpa_test_schema_v1.json"
ALGORITHMS = {"AES-XTS": "xts"}
"""That these files name, with our modes."""

_NUMBERED = re.compile(r"tcId \d{1,9}")
_VERSIONED = re.compile(r"(\S+) (\d[\w.]*)")


def read(source: Source) -> Iterator[TestVector]:
    """Every test of every group; counts and sizes that the file claims must be those it has."""
    mode, claimed = _head(source)
    stream, found = JsonStream(source), 0
    for name in stream.members():
        if name != "testGroups":
            stream.skip()
            continue
        for number in stream.items():
            line = stream.line
            group = Reader(source, stream.value(), f"group {number}", line)
            for test in _group(source, group, mode):
                found += 1
                yield test
    stream.end()
    if claimed is not None and claimed != found:
        raise stream.error(f'"numberOfTests" is {claimed}, the groups have {found}')


def _head(source: Source) -> tuple[str, int | None]:
    """The mode and the number of tests, in a pass over everything but the groups."""
    stream = JsonStream(source)
    fields, groups = _all_but_groups(stream)
    reader = Reader(source, fields, "file", 1)
    if not groups:
        raise stream.error('"testGroups" is missing')
    reader.choice("schema", [SCHEMA])
    algorithm = reader.choice("algorithm", ALGORITHMS)
    claimed = reader.number("numberOfTests", default=None)
    reader.texts("header", ())
    if "notes" in fields:
        reader.ignore("notes")
        notes = Reader(source, fields["notes"], "notes", reader.at("notes"))
        for flag in notes.fields:
            note = Reader(source, notes.fields[flag], f'note "{flag}"', notes.at(flag))
            source.flags[flag] = note.text("description", note.text("bugType"))
    reader.ignore("generatorVersion", "source")
    reader.done()
    return ALGORITHMS[algorithm], claimed


def _all_but_groups(stream: JsonStream) -> tuple[Fields, bool]:
    fields, groups = Fields(1), False
    for name in stream.members():
        fields.lines[name] = stream.line
        if name == "testGroups":
            stream.skip()
            groups = True
        else:
            fields[name] = stream.value()
    stream.end()
    return fields, groups


def _group(source: Source, group: Reader, mode: str) -> Iterator[TestVector]:
    group.choice("type", ["IndCpaTest"])
    key_bits, iv_bits = group.number("keySize"), group.number("ivSize")
    origin = ""
    if group.has("source"):
        made_by = Reader(source, group.fields["source"], "source", group.at("source"))
        origin = f"{made_by.text('name')} {made_by.text('version')}"
    group.ignore("source")
    tests = group.list("tests")
    group.done()
    for number, value in enumerate(tests):
        test = Reader(source, value, f"test {number}", group.at("tests"))
        yield _test(source, test, mode, key_bits, iv_bits, origin)


def _test(source: Source, test: Reader, mode: str, key_bits: int, iv_bits: int, origin: str) -> TestVector:
    identity = test.number("tcId")
    key, iv = test.hex("key"), test.hex("iv")
    result = test.choice("result", ("valid", "invalid", "acceptable"))
    for name, data, bits in (("key", key, key_bits), ("iv", iv, iv_bits)):
        if 8 * len(data) != bits:
            raise test.error(name, f"must be {bits} bits as its group says, not {8 * len(data)}")
    if len(iv) > 16:
        raise test.error("iv", f"must have at most 16 bytes, not {len(iv)}")
    if len(iv) < 16:
        source.note("IVs shorter than 16 bytes are padded with zeros on the right")
    fields = {
        "plaintext": test.hex("msg"),
        "ciphertext": test.hex("ct"),
        "comment": test.text("comment"),
        "flags": test.texts("flags"),
        "valid": result != "invalid",
    }
    test.done()
    return vector(
        source,
        test.line,
        name=f"tcId {identity}",
        mode=mode,
        key=key,
        iv=iv.ljust(16, b"\0"),
        source=origin,
        clause=f"tcId {identity}",
        **fields,
    )


def write(vectors: Iterable[TestVector], head: Head) -> Iterator[str]:
    """One group a key size and source, IVs of 16 bytes; every flag has its note, the tests their numbers."""
    groups: dict[tuple[int, str], list[TestVector]] = {}
    for item in vectors:
        groups.setdefault((8 * len(item.key), item.source or head.title), []).append(item)
    everything = [item for items in groups.values() for item in items]
    used = sorted({flag for item in everything for flag in item.flags})
    notes = {flag: {"bugType": "EDGE_CASE", "description": head.flags.get(flag, flag)} for flag in used}
    start = {
        "algorithm": "AES-XTS",
        "schema": SCHEMA,
        "numberOfTests": len(everything),
        "header": [head.title],
        "notes": notes,
        "testGroups": [],
    }
    yield json.dumps(start, indent=2, ensure_ascii=False).removesuffix("[]\n}") + "["
    numbered = _numbered(everything)
    number, separator = 0, ""
    for (size, origin), items in groups.items():
        numbers = [int(item.name[5:]) if numbered else number + at for at, item in enumerate(items, 1)]
        number += len(items)
        versioned = _VERSIONED.fullmatch(origin)
        name, version = versioned.groups() if versioned else (origin, "1")
        group = {
            "type": "IndCpaTest",
            "source": {"name": name, "version": version},
            "keySize": size,
            "ivSize": 128,
            "tests": [_item(at, item, numbered) for at, item in zip(numbers, items, strict=True)],
        }
        yield separator + "\n" + json.dumps(group, indent=2, ensure_ascii=False)
        separator = ","
    yield "\n]}\n"


def _numbered(items: Sequence[TestVector]) -> bool:
    return all(_NUMBERED.fullmatch(item.name) for item in items)


def _item(number: int, item: TestVector, numbered: bool) -> dict[str, Any]:
    named = item.name if numbered or not item.comment else f"{item.name}: {item.comment}"
    return {
        "tcId": number,
        "comment": item.comment if numbered and item.comment else named,
        "flags": list(item.flags),
        "key": item.key.hex(),
        "iv": item.iv.hex(),
        "msg": item.plaintext.hex(),
        "ct": item.ciphertext.hex(),
        "result": "valid" if item.valid else "invalid",
    }


def _refuses(item: TestVector) -> str:
    if item.mode != "xts":
        return f"the schema's files name no algorithm for {item.mode}"
    if item.bits is not None:
        return "lengths are whole bytes"
    if item.unit_bits is not None:
        return "a test is one data unit"
    return "a question without its answer is no test" if item.asks else ""


FORMATS = [
    Format(
        "wycheproof",
        "Wycheproof JSON",
        read,
        write,
        recognises=lambda head: (
            head.lstrip().startswith("{")
            and '"testGroups"' in head
            and ('"schema"' in head or '"numberOfTests"' in head)
        ),
        refuses=_refuses,
        drops=holds("name", "source", "flags", "comment", numbered=_numbered),
    )
]
