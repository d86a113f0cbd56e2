"""Files of vectors: read with the format told by their beginning, written whole or not at all."""

from __future__ import annotations

import os
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from aeskit.vectors import registry
from aeskit.vectors.registry import Format, Head
from aeskit.vectors.source import Openable, Source, VectorError
from aeskit.vectors.test_vector import DECREMENTS, TestVector


@dataclass(frozen=True)
class VectorSet:
    """The vectors of one file, in order."""

    name: str
    format: str
    vectors: tuple[TestVector, ...]
    flags: dict[str, str] = field(default_factory=dict)
    """Flag to its meaning, where the file says it."""
    notes: tuple[str, ...] = ()
    """What the reader left out or took in a way that should be known."""

    def __iter__(self) -> Iterator[TestVector]:
        """Iterate over the vectors."""
        return iter(self.vectors)

    def __len__(self) -> int:
        """Their number."""
        return len(self.vectors)

    def __getitem__(self, number: int) -> TestVector:
        """The vector of that number, from 0."""
        return self.vectors[number]


class Refused(dict[str, list[str]]):
    """Reason to names of the vectors that a format cannot hold; `dropped` are fields of those it holds."""

    def __init__(self) -> None:
        """Begin empty."""
        super().__init__()
        self.dropped: Counter[str] = Counter()
        """Field to the number of vectors that were written without it."""


def read(path: str | Openable, *answers: str | Openable, form: str | None = None) -> VectorSet:
    """Read a file; `answers` are files that hold the answers to its questions (ACVP).

    `form` names the format where it shall not be told by the beginning. VectorError with file and line for
    anything that the format does not allow.
    """
    source = Source(_path(path))
    source.companions = [Source(_path(other)) for other in answers]
    entry = registry.named(form) if form else registry.recognise(source)
    return _set(entry, source)


def read_text(text: str, name: str = "text", form: str | None = None) -> VectorSet:
    """Read a text as `read` reads a file."""
    source = Source(text=text, name=name)
    return _set(registry.named(form) if form else registry.recognise(source), source)


def stream(entry: Format, source: Source) -> Iterator[TestVector]:
    """The vectors one by one, one at least, names unique; answers alone and what is not read are refused."""
    if entry.read is None:
        raise VectorError(f"{source.name}: {entry.title} is written, not read")
    if entry.answers:
        raise VectorError(f"{source.name}: has answers alone; give the file of their questions as well")
    names: set[str] = set()
    for vector in entry.read(source):
        if vector.name in names:
            raise source.error(vector.line, f'two vectors are named "{vector.name}"')
        names.add(vector.name)
        yield vector
    if not names:
        left = f": {'; '.join(source.notes[:3])}" if source.notes else ""
        raise VectorError(f"{source.name}: has no vectors{left}")


def group(paths: Iterable[str | Path]) -> list[tuple[Format, Source]]:
    """The files to read, each with the files of its answers among `paths` as companions."""
    found = [(registry.recognise(source), source) for source in (Source(Path(path)) for path in paths)]
    answers = [source for entry, source in found if entry.answers]
    questions = [(entry, source) for entry, source in found if not entry.answers]
    asking = [source for entry, source in questions if entry.name == "acvp"]
    for source in asking:
        source.companions = answers
    return questions if asking else found


def labels(paths: Sequence[str]) -> list[str]:
    """The files' names, each with as many folders before it as tell it from the others."""
    parts = [path.replace("\\", "/").split("/") for path in paths]
    depths = [1] * len(parts)
    while True:
        found = ["/".join(part[-depth:]) for part, depth in zip(parts, depths, strict=True)]
        deeper = [
            depth + (found.count(name) > 1 and depth < len(part))
            for name, part, depth in zip(found, parts, depths, strict=True)
        ]
        if deeper == depths:
            times = [found[:at].count(name) + 1 for at, name in enumerate(found)]
            return [
                name if time == 1 else f"{name} ({time})" for name, time in zip(found, times, strict=True)
            ]
        depths = deeper


def write(
    path: str | Path,
    vectors: Iterable[TestVector],
    form: str,
    *,
    title: str = "",
    flags: dict[str, str] | None = None,
) -> Refused:
    """Write vectors in the format `form`; reason to names of those that it cannot hold, and fields left out.

    The file is there whole or not at all; ValueError if none of the vectors can be held.
    """
    pieces, refused = text_pieces(vectors, form, title=title or Path(path).stem, flags=flags)
    put(path, pieces)
    return refused


def put(path: str | Path, pieces: Iterable[str]) -> None:
    """Write text: a file whole or not at all, at a link's end where there is one; a device as it comes.

    ValueError for a folder, OSError where the system refuses.
    """
    # What is renamed would take a link's place, /dev/stdout's too.
    target = Path(os.path.realpath(path))
    if target.is_dir() or target.is_symlink():
        raise ValueError(f"{path} must be a file to write to")
    given = Path(path)
    if os.path.abspath(path).startswith(("/dev/", "/proc/")) or (given.exists() and not given.is_file()):
        with open(path, "w", encoding="utf-8", newline="\n") as file:
            file.writelines(pieces)
        return
    handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=target.name)
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
            file.writelines(pieces)
        os.chmod(temporary, 0o666 & ~_umask())
        os.replace(temporary, target)
    except BaseException:
        os.unlink(temporary)
        raise


def text_pieces(
    vectors: Iterable[TestVector], form: str, *, title: str, flags: dict[str, str] | None = None
) -> tuple[Iterator[str], Refused]:
    """The text that `write` writes, in pieces, and what the format cannot hold."""
    entry = registry.named(form)
    if entry.write is None:
        raise ValueError(f"{entry.title} is read, not written")
    kept: list[TestVector] = []
    refused = Refused()
    for vector in vectors:
        reason = entry.refuses(vector)
        if not reason and DECREMENTS in vector.flags and not entry.counts_down:
            reason = "a counter that goes down has no place"
        if not reason and kept and entry.same(vector) != entry.same(kept[0]):
            reason = f"a file has one of {entry.same(kept[0])}, {entry.same(vector)}"
        if reason:
            refused.setdefault(reason, []).append(vector.name)
        else:
            kept.append(vector)
    if refused and not kept:
        raise ValueError(f"{entry.title} can hold none of these vectors: {'; '.join(refused)}")
    head = Head(title, flags or {})
    refused.dropped.update(entry.drops(kept, head))
    return entry.write(kept, head), refused


def _set(entry: Format, source: Source) -> VectorSet:
    vectors = tuple(stream(entry, source))
    return VectorSet(source.name, entry.name, vectors, source.flags, tuple(source.notes))


def _path(path: str | Openable) -> Openable:
    return Path(path) if isinstance(path, str) else path


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
