"""The tokens of C initialisers, a line at a time: strings decoded, comments and directives passed over."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from aeskit.vectors.source import Source

_TOKEN = re.compile(
    r"""(?P<space>\s+|//.*)|(?P<open>/\*)|"(?P<string>[^"\\]*(?:\\.[^"\\]*)*)"|'(?:[^'\\]|\\.)+'"""
    r"""|(?P<word>\w+)|(?P<mark>[^\w\s"'])"""
)
_ESCAPE = re.compile(r"\\(x[0-9A-Fa-f]+|[0-7]{1,3}|.)")
_LETTERS = {"n": 10, "t": 9, "r": 13, "a": 7, "b": 8, "f": 12, "v": 11, "\\": 92, '"': 34, "'": 39, "?": 63}


@dataclass(frozen=True, slots=True)
class Token:
    """A word, a mark, or a string with its bytes."""

    line: int
    text: str
    data: bytes | None = None


def tokens(source: Source) -> Iterator[Token]:
    """Every token of the file."""
    comment, directive = 0, False
    for line, text in source.lines():
        at = 0
        if "\0" in text:
            raise source.error(line, "must be text, without a NUL")
        if directive or (not comment and text.lstrip().startswith("#")):
            directive = text.endswith("\\")
            continue
        while at < len(text):
            if comment:
                end = text.find("*/", at)
                at, comment = (len(text), comment) if end < 0 else (end + 2, 0)
                continue
            match = _TOKEN.match(text, at)
            if not match:
                raise source.error(line, f"a string must end on its line: {text[at : at + 40]!r}")
            at = match.end()
            if match.lastgroup == "open":
                comment = line
            elif match.lastgroup == "string":
                yield Token(line, "string", _bytes(source, line, match["string"]))
            elif match.lastgroup in ("word", "mark"):
                yield Token(line, match[0])
    if comment:
        raise source.error(comment, "a comment that begins here must end")


def _bytes(source: Source, line: int, text: str) -> bytes:
    """The bytes of a string literal (C11, 6.4.4.4): an escape in hexadecimal takes every digit it can."""
    found, at = bytearray(), 0
    for match in _ESCAPE.finditer(text):
        found += text[at : match.start()].encode("utf-8")
        escape, at = match[1], match.end()
        value = _LETTERS.get(escape)
        if value is None:
            digits, base = (escape[1:], 16) if escape[0] == "x" else (escape, 8)
            if (
                not digits
                or not re.fullmatch(r"[0-9A-Fa-f]{1,8}", digits)
                or (base == 8 and not digits.isdigit())
            ):
                raise source.error(line, f"\\{escape[:8]} is no escape of a string")
            value = int(digits, base)
        if value > 255:
            raise source.error(line, f"the escape \\{escape[:8]} must be one byte")
        found.append(value)
    return bytes(found + text[at:].encode("utf-8"))
