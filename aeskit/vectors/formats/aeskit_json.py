"""The project's own format: JSON, versioned, with the provenance of every vector.

``{"aeskit_vectors": 1, "source": …, "vectors": [{"name": …, "clause": …, "mode": …, "key": hex, …}]}``;
a vector may name a source of its own, ``"flags"`` of the file say what each flag means. Whatever the reader
does not know, it refuses.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from aeskit.vectors.fields import Reader, vector
from aeskit.vectors.json_stream import Fields, JsonStream
from aeskit.vectors.registry import Format, Head
from aeskit.vectors.source import Source
from aeskit.vectors.test_vector import MONTE_CARLO, TestVector

VERSION = 1
"""Of the format; a reader refuses any other."""

_BYTES = ("key", "iv", "plaintext", "ciphertext", "iv_after", "schedule")
_TEXTS = ("name", "mode", "stealing", "source", "clause", "direction", "asks", "comment", "expects")
_NUMBERS = {"bits": 1 << 31, "unit_bits": 1 << 31, "iterations": 10 * MONTE_CARLO}
"""To the greatest that is taken: what is claimed must be run in a time that the file justifies."""
_REQUIRED = ("name", "mode", "key", "clause")


def read(source: Source) -> Iterator[TestVector]:
    """Every vector in order; its source is the file's where it names none."""
    # The head may stand after the vectors, so it is read in a pass of its own.
    head = _head(source)
    stream = JsonStream(source)
    for name in stream.members():
        if name != "vectors":
            stream.skip()
            continue
        for number in stream.items():
            line, value = stream.line, stream.value()
            yield _vector(source, Reader(source, value, f"vector {number}", line), head)
    stream.end()


def write(vectors: Iterable[TestVector], head: Head) -> Iterator[str]:
    """The file's text, a member a line; `read` gives equal vectors back."""
    yield f'{{\n "aeskit_vectors": {VERSION},\n "source": {_json(head.title)},\n'
    if head.flags:
        yield f' "flags": {_indented(dict(head.flags), 1)},\n'
    yield ' "vectors": ['
    separator = ""
    for item in vectors:
        yield f"{separator}\n  {_indented(_item(item, head.title), 2)}"
        separator = ","
    yield "\n ]\n}\n" if separator else "]\n}\n"


def _head(source: Source) -> str:
    stream, fields = JsonStream(source), Fields(1)
    if not stream.starts_with("{"):
        raise stream.error('a vector file must be an object with "aeskit_vectors"')
    for name in stream.members():
        fields.lines[name] = stream.line
        if name == "vectors":
            stream.skip()
            fields[name] = True
        else:
            fields[name] = stream.value()
    stream.end()
    reader = Reader(source, fields, "file", 1)
    if reader.number("aeskit_vectors") != VERSION:
        raise reader.error("aeskit_vectors", f"must be {VERSION}, not {fields['aeskit_vectors']}")
    title = reader.text("source")
    if not title:
        raise reader.error("source", "must not be empty")
    reader.flag("vectors")
    if "flags" in fields:
        meanings = Reader(source, fields["flags"], "flags", reader.at("flags"))
        reader.ignore("flags")
        source.flags.update({name: meanings.text(name) for name in meanings.fields})
    reader.done()
    return title


def _vector(source: Source, reader: Reader, title: str) -> TestVector:
    for name in _REQUIRED:
        reader.text(name)
    fields: dict[str, Any] = {"source": title, "valid": reader.flag("valid", True)}
    fields |= {name: reader.text(name) for name in _TEXTS if name in reader.fields}
    fields |= {name: reader.hex(name) for name in _BYTES if name in reader.fields}
    fields |= {name: reader.number(name, 1, _NUMBERS[name]) for name in _NUMBERS if name in reader.fields}
    if "flags" in reader.fields:
        fields["flags"] = reader.texts("flags")
    if "pieces" in reader.fields:
        fields["pieces"] = tuple(reader.list("pieces"))
        if not all(type(size) is int for size in fields["pieces"]):
            raise reader.error("pieces", "must be a list of integers")
    reader.done()
    return vector(source, reader.line, **fields)


def _item(item: TestVector, title: str) -> dict[str, Any]:
    texts = {name: getattr(item, name) for name in _TEXTS if getattr(item, name) or name in _REQUIRED}
    if texts.get("source") == title:
        del texts["source"]
    found = texts | {name: getattr(item, name).hex() for name in _BYTES if getattr(item, name)}
    defaults = {"bits": None, "unit_bits": None, "iterations": 1}
    found |= {name: getattr(item, name) for name in _NUMBERS if getattr(item, name) != defaults[name]}
    found |= {name: list(getattr(item, name)) for name in ("flags", "pieces") if getattr(item, name)}
    return found | ({} if item.valid else {"valid": False})


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _indented(value: dict[str, Any], depth: int) -> str:
    """An object with a member a line, its lists on one line."""
    space = " " * (depth + 1)
    members = ",".join(f"\n{space}{_json(name)}: {_json(member)}" for name, member in value.items())
    return f"{{{members}\n{' ' * depth}}}"


FORMATS = [
    Format(
        "aeskit",
        "aeskit's own JSON",
        read,
        write,
        recognises=lambda head: '"aeskit_vectors"' in head,
        counts_down=True,
    )
]
