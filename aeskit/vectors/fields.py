"""What formats ask of a field: one error a kind, with the line and the field's name."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, TypeVar

from aeskit.vectors.json_stream import Fields
from aeskit.vectors.source import Source
from aeskit.vectors.test_vector import TestVector

T = TypeVar("T")
_HEX = re.compile(r"(?:[0-9A-Fa-f]{2})*")
_REQUIRED: Any = object()


def hexadecimal(source: Source, line: int, name: str, text: str) -> bytes:
    """The bytes of pairs of hexadecimal digits and nothing between them."""
    if not _HEX.fullmatch(text):
        stray = re.search(r"[^0-9A-Fa-f]", text)
        what = f"not {stray[0]!r} at digit {stray.start() + 1}" if stray else f"not {len(text)}"
        raise source.error(line, f'"{name}" must be an even number of hexadecimal digits, {what}')
    return bytes.fromhex(text)


def decimal(source: Source, line: int, name: str, text: str, high: int) -> int:
    """A number from 0 to `high`."""
    if not re.fullmatch(r"\d{1,40}", text, re.ASCII) or int(text) > high:
        raise source.error(line, f'"{name}" must be a number from 0 to {high}, not {_short(text)}')
    return int(text)


def vector(source: Source, line: int, /, **fields: Any) -> TestVector:
    """A TestVector of that line; what contradicts itself is an error of the line."""
    try:
        return TestVector(**fields, line=line)
    except ValueError as error:
        raise source.error(line, str(error)) from None


class Reader:
    """The members of one JSON object, taken with their types; ends with `done`."""

    def __init__(self, source: Source, fields: Any, what: str, line: int) -> None:
        """Read `fields`, which must be an object; `what` names it in errors."""
        if not isinstance(fields, Fields):
            raise source.error(line, f"{what} must be an object, not {_kind(fields)}")
        self.source, self.fields, self.what = source, fields, what
        self.line = fields.line
        self._left = dict.fromkeys(fields)

    def has(self, name: str) -> bool:
        """Whether the member is there and not null."""
        return self.fields.get(name) is not None

    def text(self, name: str, default: str = _REQUIRED) -> str:
        """A string."""
        return self._get(name, str, "a string", default)

    def hex(self, name: str, default: bytes = _REQUIRED) -> bytes:
        """Bytes as hexadecimal."""
        if default is not _REQUIRED and name not in self.fields:
            return default
        return hexadecimal(self.source, self.at(name), name, self.text(name))

    def number(self, name: str, low: int = 0, high: int = 1 << 64, default: Any = _REQUIRED) -> Any:
        """An integer of a range."""
        if default is not _REQUIRED and name not in self.fields:
            return default
        found = self._get(name, int, f"an integer from {low} to {high}", _REQUIRED)
        if not low <= found <= high:
            raise self.error(name, f"must be from {low} to {high}, not {found}")
        return found

    def flag(self, name: str, default: bool = _REQUIRED) -> bool:
        """True or false."""
        return self._get(name, bool, "true or false", default)

    def choice(self, name: str, known: Iterable[str], default: str = _REQUIRED) -> str:
        """A string out of those known."""
        found = self.text(name, default)
        known = list(known)
        if found not in known and found != default:
            raise self.error(name, f"must be one of {', '.join(known)}, not {_short(found)}")
        return found

    def texts(self, name: str, default: tuple[str, ...] = _REQUIRED) -> tuple[str, ...]:
        """A list of strings."""
        found = self._get(
            name, list, "a list of strings", list(default) if default is not _REQUIRED else default
        )
        if not all(isinstance(item, str) for item in found):
            raise self.error(name, "must be a list of strings")
        return tuple(found)

    def list(self, name: str) -> list[Any]:
        """A list of anything."""
        return self._get(name, list, "a list", _REQUIRED)

    def ignore(self, *names: str) -> None:
        """Members that say nothing here."""
        for name in names:
            self._left.pop(name, None)

    def done(self, strict: bool = True) -> None:
        """Refuse the members that nobody took, or note them."""
        for name in self._left:
            if strict:
                raise self.source.error(self.at(name), f'{self.what}: "{name}" is not a field of this format')
            self.source.note(f'{self.what}: "{name}" is not known and was not read')

    def at(self, name: str) -> int:
        """The line of a member, or of its object."""
        return self.fields.lines.get(name, self.line)

    def error(self, name: str, text: str) -> Exception:
        """The error of one member."""
        return self.source.error(self.at(name), f'{self.what}: "{name}" {text}')

    def _get(self, name: str, kind: type[T], wanted: str, default: T) -> T:
        self._left.pop(name, None)
        if name not in self.fields:
            if default is _REQUIRED:
                raise self.source.error(self.line, f'{self.what}: "{name}" is missing')
            return default
        found = self.fields[name]
        if not isinstance(found, kind) or (kind is int and isinstance(found, bool)):
            raise self.error(name, f"must be {wanted}, not {_kind(found)}")
        return found


def _kind(value: Any) -> str:
    names = {dict: "an object", list: "a list", str: "a string", bool: "true or false", int: "an integer"}
    return next((name for kind, name in names.items() if isinstance(value, kind)), "null")


def _short(text: str) -> str:
    return f'"{text}"' if len(text) <= 40 else f'"{text[:40]}…"'
