"""Source: the text that a format reads, in bounded pieces, with its name and line for every error."""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import IO, Protocol

CHUNK = 1 << 16
MAX_LINE = 40 << 20
"""Characters: the longest data unit (IEEE 1619-2018, 5.1: 2^20 blocks) in hexadecimal, and room to spare."""

_ENCODINGS = {codecs.BOM_UTF32_LE: "UTF-32", codecs.BOM_UTF32_BE: "UTF-32"}
_ENCODINGS |= {codecs.BOM_UTF16_LE: "UTF-16", codecs.BOM_UTF16_BE: "UTF-16"}
"""Marks to encodings, the longer ones first, as one begins with another."""


class VectorError(ValueError):
    """A vector file that is not what its format allows; says where."""


class Openable(Protocol):
    """A path, or a resource of the package."""

    @property
    def name(self) -> str:
        """Its last part."""
        ...

    def is_file(self) -> bool:
        """Whether there is something to read."""
        ...


class Source:
    """One file, or a text in memory. Formats leave what they noticed in `notes` and `flags`."""

    def __init__(self, path: Openable | None = None, *, text: str = "", name: str = "text") -> None:
        """Read `path`, or `text` under a name; VectorError if the path is no plain file."""
        self.path, self._text = path, text
        self.name = name if path is None else str(path) if isinstance(path, Path) else path.name
        self.notes: list[str] = []
        """What was left out or taken in a way that a reader should know."""
        self.flags: dict[str, str] = {}
        """Flag to what it means, where the file says it."""
        self.companions: list[Source] = []
        """Other files that belong to this one: the answers to its questions."""
        if path is not None and not path.is_file():
            raise VectorError(f"{self.name}: must be a file that can be read")

    @property
    def stem(self) -> str:
        """The file's name without its folder, for formats that tell the mode by it."""
        return self.name.replace("\\", "/").rsplit("/", 1)[-1]

    def error(self, line: int, text: str) -> VectorError:
        """The error to raise for what stands in that line."""
        return VectorError(f"{self.name}:{line}: {text}")

    def note(self, text: str) -> None:
        """Remember a note once."""
        if text not in self.notes:
            self.notes.append(text)

    def head(self, characters: int = CHUNK) -> str:
        """The first characters; to recognise a format by. VectorError for UTF-16 and UTF-32."""
        with self.open() as file:
            data = file.read(characters)
        self._refuse_encoding(data)
        return data.decode("utf-8", "replace").removeprefix("\ufeff")

    @contextmanager
    def open(self) -> Iterator[IO[bytes]]:
        """The bytes; VectorError if the operating system refuses."""
        if self.path is None:
            yield BytesIO(self._text.encode("utf-8", "surrogatepass"))
            return
        try:
            with self.path.open("rb") as file:  # type: ignore[attr-defined]
                yield file
        except OSError as error:
            raise VectorError(f"{self.name}: cannot be read: {error.strerror}") from None

    def chunks(self) -> Iterator[str]:
        """The text in pieces of about `CHUNK` characters; UTF-8, a byte order mark is skipped."""
        decoder, line = codecs.getincrementaldecoder("utf-8")(), 1
        with self.open() as file:
            while data := file.read(CHUNK):
                if line == 1:
                    self._refuse_encoding(data)
                try:
                    text = decoder.decode(data)
                except UnicodeDecodeError as error:
                    at = line + data[: error.start].count(b"\n")
                    raise self.error(
                        at, f"must be UTF-8, not the byte {error.object[error.start]:02x}"
                    ) from None
                yield text.removeprefix("\ufeff") if line == 1 else text
                line += text.count("\n")
            if decoder.getstate()[0]:
                raise self.error(line, "ends within a character")

    def lines(self) -> Iterator[tuple[int, str]]:
        """Every line with its number, without the line end (LF or CR LF); no more than `MAX_LINE` at once."""
        parts: list[str] = []
        size, number = 0, 1
        for chunk in self.chunks():
            *ended, rest = chunk.split("\n")
            for text in ended:
                yield number, ("".join(parts) + text).removesuffix("\r")
                parts, size, number = [], 0, number + 1
            parts.append(rest)
            size += len(rest)
            if size > MAX_LINE:
                raise self.error(number, f"a line must have at most {MAX_LINE} characters")
        if size:
            yield number, "".join(parts).removesuffix("\r")

    def _refuse_encoding(self, data: bytes) -> None:
        for mark, encoding in _ENCODINGS.items():
            if data.startswith(mark):
                raise self.error(1, f"must be UTF-8, not {encoding}")
