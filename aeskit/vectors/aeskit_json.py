"""The project's own vector format: JSON, versioned, with the provenance of every vector.

``{"aeskit_vectors": 1, "source": …, "vectors": [{"name": …, "clause": …, "mode": …, "key": hex, …}]}``;
a vector may name a source of its own. Whatever the reader does not know, it refuses.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from typing import Any

from aeskit.vectors.test_vector import TestVector

VERSION = 1
"""Of the format; a reader refuses any other."""

MAX_CHARACTERS = 64 << 20
MAX_VECTORS = 1_000_000

_BYTES = ("key", "iv", "plaintext", "ciphertext", "iv_after", "schedule")
_TEXTS = ("name", "mode", "stealing", "source", "clause")
_REQUIRED = ("name", "mode", "key", "clause")


class VectorError(ValueError):
    """A vector file that is not what this format allows; says where."""


def read(text: str) -> tuple[TestVector, ...]:
    """Every vector of a file's text, in order; VectorError with the place for anything else."""
    if len(text) > MAX_CHARACTERS:
        raise VectorError(f"a vector file must have at most {MAX_CHARACTERS} characters, not {len(text)}")
    try:
        raw = json.loads(text, object_pairs_hook=_unique)
    except VectorError:
        raise
    except (ValueError, RecursionError) as error:
        raise VectorError(f"a vector file must be JSON: {error}") from None
    if not isinstance(raw, dict) or type(raw.get("aeskit_vectors")) is not int:
        raise VectorError('a vector file must be an object with "aeskit_vectors"')
    if raw["aeskit_vectors"] != VERSION:
        raise VectorError(f'"aeskit_vectors" must be {VERSION}, not {raw["aeskit_vectors"]}')
    _refuse_unknown(raw, {"aeskit_vectors", "source", "vectors"}, "file")
    source, items = raw.get("source"), raw.get("vectors")
    if not isinstance(source, str) or not source:
        raise VectorError('file: "source" must be a string and not empty')
    if not isinstance(items, list) or len(items) > MAX_VECTORS:
        raise VectorError(f'file: "vectors" must be a list of at most {MAX_VECTORS}')
    vectors = tuple(_vector(item, source, f"vector {number}") for number, item in enumerate(items))
    twice = [name for name, count in Counter(vector.name for vector in vectors).items() if count > 1]
    if twice:
        raise VectorError(f'file: two vectors are named "{twice[0]}"')
    return vectors


def write(vectors: Iterable[TestVector], source: str) -> str:
    """The file's text, one vector after another; `read` gives equal vectors back."""
    items = [_item(vector, source) for vector in vectors]
    file = {"aeskit_vectors": VERSION, "source": source, "vectors": items}
    return json.dumps(file, indent=1, ensure_ascii=False) + "\n"


def _item(vector: TestVector, source: str) -> dict[str, Any]:
    texts = {name: getattr(vector, name) for name in _TEXTS if getattr(vector, name) or name in _REQUIRED}
    if texts.get("source") == source:
        del texts["source"]
    data = {name: getattr(vector, name).hex() for name in _BYTES if getattr(vector, name)}
    return texts | data | ({} if vector.valid else {"valid": False})


def _vector(raw: Any, source: str, where: str) -> TestVector:
    if not isinstance(raw, dict):
        raise VectorError(f"{where} must be an object, not {type(raw).__name__}")
    _refuse_unknown(raw, {*_BYTES, *_TEXTS, "valid"}, where)
    for name in _REQUIRED:
        if name not in raw:
            raise VectorError(f'{where}: "{name}" is missing')
    for name in raw.keys() - {"valid"}:
        if not isinstance(raw[name], str):
            raise VectorError(f'{where}: "{name}" must be a string, not {type(raw[name]).__name__}')
    valid = raw.get("valid", True)
    if not isinstance(valid, bool):
        raise VectorError(f'{where}: "valid" must be true or false')
    fields: dict[str, Any] = {name: raw[name] for name in _TEXTS if name in raw}
    fields |= {name: _hex(raw[name], f'{where}: "{name}"') for name in _BYTES if name in raw}
    try:
        return TestVector(**{"source": source} | fields, valid=valid)
    except ValueError as error:
        raise VectorError(f"{where}: {error}") from None


def _hex(text: str, where: str) -> bytes:
    """Strict: pairs of hexadecimal digits and nothing between them, which bytes.fromhex would allow."""
    try:
        data = bytes.fromhex(text)
    except ValueError:
        data = b""
    if data.hex() != text.lower():
        raise VectorError(f"{where} must be an even number of hexadecimal digits")
    return data


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    names = dict(pairs)
    if len(names) != len(pairs):
        twice = next(name for name, count in Counter(name for name, _ in pairs).items() if count > 1)
        raise VectorError(f'"{twice}" stands twice in one object')
    return names


def _refuse_unknown(raw: dict[str, Any], known: set[str], where: str) -> None:
    unknown = sorted(raw.keys() - known)
    if unknown:
        raise VectorError(f'{where}: "{unknown[0]}" is not a field of version {VERSION}')
