"""OpenSSL's evptest text: stanzas of ``Keyword = value``; those whose ``Cipher`` is of an AES mode are read.

``CTSMode`` is the stealing (CS1 where it is not said), ``NextIV`` what continues the message, ``Result`` an
expected failure, ``Operation`` the one direction to run. Values are hexadecimal, or text in quotes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from aeskit.vectors.fields import hexadecimal, vector
from aeskit.vectors.registry import Format, Head, holds
from aeskit.vectors.source import Source
from aeskit.vectors.test_vector import KEY_BYTES, STEALING, TestVector

_LINE = re.compile(r"([A-Za-z][\w-]*)\s*=\s*(.*)")
_CIPHER = re.compile(r"(?:id-)?aes-?(128|192|256)-?(ecb|cbc-cts|cbc|ctr|xts)", re.IGNORECASE)
_BYTES = {
    "key": "key",
    "iv": "iv",
    "plaintext": "plaintext",
    "ciphertext": "ciphertext",
    "nextiv": "iv_after",
}
_KNOWN = {*_BYTES, "cipher", "operation", "ctsmode", "result", "title"}
_MODES = {"ecb": "ECB", "cbc": "CBC", "cts": "CBC-CTS", "ctr": "CTR", "xts": "XTS"}
_GOOD = ("", "PASS", "OK")


@dataclass
class _Stanza:
    """One stanza: keyword in lower case to line and value, and the comments before it."""

    line: int = 0
    comments: list[str] = field(default_factory=list)
    values: dict[str, tuple[int, str]] = field(default_factory=dict)


def read(source: Source) -> Iterator[TestVector]:
    """Every stanza with a cipher of ours; others are noted."""
    number, title = 0, ""
    for stanza in _stanzas(source):
        title = stanza.values.get("title", (0, title))[1]
        if "cipher" not in stanza.values:
            if other := next((name for name in stanza.values if name != "title"), ""):
                source.note(f'stanzas that begin with "{other}" have no cipher and were not read')
            continue
        if found := _vector(source, stanza, number, title):
            number += 1
            yield found


def _stanzas(source: Source) -> Iterator[_Stanza]:
    stanza = _Stanza()
    for line, text in source.lines():
        text = text.strip()
        if text.startswith("#"):
            stanza.comments = [*stanza.comments[-15:], text.lstrip("# ")[:400]]
        elif text and (found := _LINE.fullmatch(text)):
            name = found[1].lower()
            stanza.line = stanza.line or line
            if name in stanza.values and name in _KNOWN:
                raise source.error(line, f'"{found[1]}" stands twice in one stanza')
            stanza.values[name] = line, found[2]
        elif text:
            raise source.error(line, f"must be a comment or Keyword = value, not {text[:40]!r}")
        elif stanza.values:
            yield stanza
            stanza = _Stanza()
        else:
            stanza.comments = []
    if stanza.values:
        yield stanza


def _vector(source: Source, stanza: _Stanza, number: int, title: str) -> TestVector | None:
    _, cipher = stanza.values["cipher"]
    match = _CIPHER.fullmatch(cipher)
    if not match:
        source.note(f"{cipher}: no mode of ours, not read")
        return None
    fields: dict[str, Any] = {}
    for name, ours in _BYTES.items():
        if name in stanza.values:
            fields[ours] = _value(source, *stanza.values[name], name)
    for name in ("key", "plaintext", "ciphertext"):
        if name not in fields and not ("result" in stanza.values and name != "key"):
            raise source.error(stanza.line, f'"{name.capitalize()}" is missing in the stanza of {cipher}')
    mode = match[2].lower()
    if mode == "cbc-cts":
        mode, fields["stealing"] = "cts", _one_of(source, stanza, "ctsmode", STEALING, "CS1")
    if mode == "xts":
        fields.pop("iv_after", None)  # the library leaves the IV as it was
    result = stanza.values.get("result", (0, ""))[1]
    operation = _one_of(source, stanza, "operation", ("ENCRYPT", "DECRYPT"), "")
    for name in stanza.values.keys() - _KNOWN:
        source.note(f'"{name}" says nothing that a vector holds, not read')
    bits = 8 * len(fields["key"]) // (2 if mode == "xts" else 1)
    if bits != int(match[1]) and result in _GOOD:
        raise source.error(
            stanza.values["key"][0], f'"Key" must have {match[1]} bits for {cipher}, not {bits}'
        )
    return vector(
        source,
        stanza.line,
        name=f"stanza {number}",
        mode=mode,
        direction=operation.lower(),
        valid=result in _GOOD,
        expects="" if result in _GOOD else result,
        comment=" ".join(stanza.comments),
        source=title or source.stem,
        clause=f"line {stanza.line}",
        **fields,
    )


def _value(source: Source, line: int, text: str, name: str) -> bytes:
    if len(text) >= 2 and text.startswith('"') and text.endswith('"'):
        try:
            return text[1:-1].encode("latin-1").decode("unicode_escape").encode("latin-1")
        except (UnicodeError, ValueError):
            raise source.error(line, f'"{name}" must hold escapes that are whole') from None
    return hexadecimal(source, line, name, text)


def _one_of(source: Source, stanza: _Stanza, name: str, known: tuple[str, ...], default: str) -> str:
    if name not in stanza.values:
        return default
    line, found = stanza.values[name]
    if found.upper() not in known:
        raise source.error(line, f'"{name}" must be {" or ".join(known)}, not {found[:40]!r}')
    return found.upper()


def write(vectors: Iterable[TestVector], head: Head) -> Iterator[str]:
    """A stanza a vector, its name and sentence as the comment above it."""
    yield f"# {_one_line(head.title)}\n"
    for item in vectors:
        yield "\n" + "".join(f"# {_one_line(text)}\n" for text in _comments(item))
        yield "".join(f"{name} = {value}\n" for name, value in _values(item))


def _comments(item: TestVector) -> Iterator[str]:
    yield f"{item.name}: {item.comment}" if item.comment else item.name
    if item.flags:
        yield f"flags: {', '.join(item.flags)}"
    if item.mode == "xts" and item.iv_after:
        yield f"the encrypted tweak that continues: {item.iv_after.hex()}"


def _values(item: TestVector) -> Iterator[tuple[str, str]]:
    yield "Cipher", f"AES-{item.key_bits}-{_MODES[item.mode]}"
    if item.direction:
        yield "Operation", item.direction.upper()
    if item.stealing:
        yield "CTSMode", item.stealing
    yield "Key", item.key.hex()
    if item.iv:
        yield "IV", item.iv.hex()
    yield "Plaintext", item.plaintext.hex()
    yield "Ciphertext", item.ciphertext.hex()
    if item.iv_after is not None and item.mode != "xts":
        yield "NextIV", item.iv_after.hex()
    if not item.valid:
        yield "Result", item.expects or "CIPHERINIT_ERROR"


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _refuses(item: TestVector) -> str:
    if item.mode not in _MODES:
        return f"the library has no cipher for {item.mode}"
    if item.mode == "xts" and item.key_bits == 8 * KEY_BYTES[1]:
        return "the library has no AES-192-XTS"
    if item.mode == "xts" and item.valid and item.key[: len(item.key) // 2] * 2 == item.key:
        return "the library refuses two equal keys"
    if item.bits is not None or item.unit_bits is not None or item.iterations > 1:
        return "a stanza is one message of whole bytes, sent through once"
    return "a question without its answer is no test" if item.asks else ""


FORMATS = [
    Format(
        "evptest",
        "OpenSSL evptest text",
        read,
        write,
        recognises=lambda head: bool(re.search(r"(?m)^Cipher[ \t]*+=", head)),
        refuses=_refuses,
        drops=holds("name", "direction", "iv_after", "flags", "comment", "expects"),
    )
]
