"""The formats: every module of `aeskit.vectors.formats` says in `FORMATS` what it reads and writes."""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module

from aeskit.vectors import formats as package
from aeskit.vectors.source import Source, VectorError
from aeskit.vectors.test_vector import TestVector


@dataclass(frozen=True)
class Head:
    """What a written file says of all its vectors."""

    title: str
    """Where they come from, for vectors that do not say it themselves."""
    flags: Mapping[str, str] = field(default_factory=dict)
    """Flag to its meaning."""


Read = Callable[[Source], Iterator[TestVector]]
Write = Callable[[Iterable[TestVector], Head], Iterator[str]]
Drops = Callable[[Sequence[TestVector], Head], Iterator[str]]


def _takes_all(vector: TestVector) -> str:
    return ""


def _anything(vector: TestVector) -> object:
    return None


FIELDS = ("name", "source", "clause", "direction", "pieces", "iv_after", "flags", "comment", "expects")
"""Of a vector, what not every format has a place for."""


def _never_numbered(vectors: Sequence[TestVector]) -> bool:
    return False


def holds(
    *names: str,
    flags: Iterable[str] = (),
    titled: bool = True,
    numbered: Callable[[Sequence[TestVector]], bool] = _never_numbered,
) -> Drops:
    """A format's `drops`, by the `FIELDS` that it has a place for, and the `flags` if not all.

    A file that is `titled` tells of the source that all its vectors have; vectors that are `numbered` as the
    format numbers them keep their names and clauses.
    """
    known = set(flags)

    def lost(vector: TestVector, held: set[str], title: str) -> Iterator[str]:
        for name in FIELDS:
            said = getattr(vector, name)
            place = name in held or (name == "source" and titled and said == title)
            place = place or (name == "clause" and "name" in held and said == vector.name)
            place = place or (name == "flags" and known >= set(vector.flags))
            if said not in (None, "", ()) and not place:
                yield name

    def drops(vectors: Sequence[TestVector], head: Head) -> Iterator[str]:
        held = {*names, *(("name", "clause") if numbered(vectors) else ())}
        for vector in vectors:
            yield from lost(vector, held, head.title)

    return drops


def _leaves_nothing(vectors: Sequence[TestVector], head: Head) -> Iterator[str]:
    return iter(())


def _never(head: str) -> bool:
    return False


@dataclass(frozen=True)
class Format:
    """One format."""

    name: str
    title: str
    read: Read | None = None
    write: Write | None = None
    """Give the file's text in pieces; vectors that `refuses` speaks against are not given to it."""
    recognises: Callable[[str], bool] = _never
    """Whether a file's first 64 K characters are of this format."""
    refuses: Callable[[TestVector], str] = _takes_all
    """Why a vector cannot be written; empty if it can."""
    drops: Drops = _leaves_nothing
    """The fields that are left out of the vectors that are written: a name as often as it is."""
    same: Callable[[TestVector], object] = _anything
    """What must be equal for all vectors of one file: its mode, where a file has one."""
    counts_down: bool = False
    """Whether it can say that a counter goes down: without that the vector would be a wrong one."""
    answers: bool = False
    """Whether a file of it has answers alone, and is read with the file of its questions."""


@cache
def formats() -> dict[str, Format]:
    """Every format by its name."""
    modules = sorted(module.name for module in pkgutil.iter_modules(package.__path__))
    found = [entry for name in modules for entry in import_module(f"{package.__name__}.{name}").FORMATS]
    return {entry.name: entry for entry in found}


def named(name: str) -> Format:
    """The format of a name; ValueError with those known."""
    try:
        return formats()[name]
    except KeyError:
        raise ValueError(f'format must be one of {", ".join(formats())}, not "{name}"') from None


def recognise(source: Source) -> Format:
    """The format of a file by its beginning; VectorError if none is sure."""
    head = source.head()
    for entry in formats().values():
        if entry.read and entry.recognises(head):
            return entry
    readable = ", ".join(entry.name for entry in formats().values() if entry.read)
    raise VectorError(f"{source.name}: must be of a known format ({readable}); --from names it")
