"""JSON read piece by piece: what is wanted is built, every value knows its line, nothing is unbounded.

`members` and `items` walk an object or a list of any length; `value` builds one that must fit in memory,
`skip` passes over it. Numbers are integers; what JSON allows besides is refused, as no vector needs it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from aeskit.vectors.source import MAX_LINE, Source, VectorError

MAX_DEPTH = 16
_SPACE = re.compile(r"[ \t\r\n]*")
_STRING = re.compile(r'"[^"\\\x00-\x1f]*+(?:\\.[^"\\\x00-\x1f]*+)*+"')
_WORD = re.compile(r"[-+.\w]{1,40}")
_NUMBER = re.compile(r"-?(?:0|[1-9]\d{0,19})")
_CONSTANTS = {"true": True, "false": False, "null": None}


class Fields(dict[str, Any]):
    """An object of the file, with its line and that of each member."""

    def __init__(self, line: int) -> None:
        """Begin empty."""
        super().__init__()
        self.line = line
        self.lines: dict[str, int] = {}


class JsonStream:
    """One pass over a source's JSON."""

    def __init__(self, source: Source) -> None:
        """Stand before the first value."""
        self._source, self._chunks = source, source.chunks()
        self._text, self._at, self._depth = "", 0, 0
        self.line = 1

    def members(self) -> Iterator[str]:
        """Walk an object: each name, after which its value must be taken or skipped."""
        self._open("{")
        seen: set[str] = set()
        first = True
        while self._more("}", first):
            first = False
            if self._peek() != '"':
                raise self.error("a member of an object must begin with a string")
            name = self._string()
            if name in seen:
                raise self.error(f'"{name}" stands twice in one object')
            seen.add(name)
            self._take(":", f'":" must follow "{name}"')
            yield name

    def items(self) -> Iterator[int]:
        """Walk a list: each number from 0, after which its value must be taken or skipped."""
        self._open("[")
        number = 0
        while self._more("]", number == 0):
            yield number
            number += 1

    def value(self) -> Any:
        """The next value whole: `Fields` for an object, list, str, int, bool or None."""
        start = self._peek()
        line = self.line
        if start == "{":
            fields = Fields(line)
            for name in self.members():
                self._peek()
                fields.lines[name] = self.line
                fields[name] = self.value()
            return fields
        if start == "[":
            return [self.value() for _ in self.items()]
        return self._string() if start == '"' else self._word()

    def skip(self) -> None:
        """Pass over the next value."""
        start = self._peek()
        walk = {"{": self.members, "[": self.items}.get(start)
        if walk is None:
            self.value()
            return
        for _ in walk():
            self.skip()

    def starts_with(self, mark: str) -> bool:
        """Whether the next value begins with ``{``, ``[`` or a quote."""
        return self._peek() == mark

    def end(self) -> None:
        """Nothing may follow but space."""
        if self._peek():
            raise self.error("nothing may follow the end of the JSON value")

    def error(self, text: str) -> VectorError:
        """An error at the line that was reached."""
        return self._source.error(self.line, text)

    def _open(self, mark: str) -> None:
        kind = "an object" if mark == "{" else "a list"
        self._take(mark, f"must be {kind} here")
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise self.error(f"must not be nested deeper than {MAX_DEPTH}")

    def _more(self, end: str, first: bool) -> bool:
        found = self._peek()
        if found == end:
            self._at += 1
            self._depth -= 1
            return False
        if not first:
            self._take(",", f'"," or "{end}" must stand here')
            if self._peek() == end:
                raise self.error(f'"," must not stand before "{end}"')
        return True

    def _take(self, mark: str, text: str) -> None:
        found = self._peek()
        if found != mark:
            raise self.error(f"{text}, not {found!r}" if found else f"{text}: the file ends")
        self._at += 1

    def _peek(self) -> str:
        """The next character that is no space; empty at the end."""
        while True:
            match = _SPACE.match(self._text, self._at)
            assert match
            self.line += self._text.count("\n", self._at, match.end())
            self._at = match.end()
            if self._at < len(self._text):
                return self._text[self._at]
            if not self._load(1):
                return ""

    def _load(self, chunks: int) -> bool:
        """Drop what was read, add so many chunks; False at the end."""
        added = [text for _, text in zip(range(chunks), self._chunks, strict=False)]
        self._text, self._at = self._text[self._at :] + "".join(added), 0
        return bool(added)

    def _string(self) -> str:
        chunks = 1
        while not (match := _STRING.match(self._text, self._at)):
            if len(self._text) - self._at > MAX_LINE:
                raise self.error(f"a string must have at most {MAX_LINE} characters")
            if not self._load(chunks):
                raise self.error("a string must end, and hold no control characters")
            chunks *= 2
        self._at = match.end()
        try:
            found: str = json.loads(match[0]) if "\\" in match[0] else match[0][1:-1]
            found.encode("utf-8")
        except ValueError:
            raise self.error("a string must be valid JSON: one of its escapes is not") from None
        return found

    def _word(self) -> int | bool | None:
        if len(self._text) - self._at < 64:
            self._load(1)
        match = _WORD.match(self._text, self._at)
        word = match[0] if match else self._text[self._at : self._at + 1]
        self._at += len(word)
        if word in _CONSTANTS:
            return _CONSTANTS[word]
        if _NUMBER.fullmatch(word):
            return int(word)
        raise self.error(
            f"must be a string, an integer of at most 20 digits, true, false or null, not {word!r}"
            if word
            else "must be a value here: the file ends"
        )
