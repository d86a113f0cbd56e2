"""Outcomes of proofs on disk, by the code's bytes, the contract and the source of all that proves."""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import asdict
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import aeskit
from aeskit.machine.loader import Image
from aeskit.verify.proving.every_length import Closed
from aeskit.verify.proving.heads import Head
from aeskit.verify.proving.proof import Proof

PROVERS = ("contracts", "bits.py", "models", "machine", "trace.py", "verify")
"""Sources that a proof may rest on: whole rooms, so that none is forgotten."""
LIBRARIES = ("iced-x86", "pyelftools", "numpy")


@cache
def tool() -> str:
    """A digest of versions, the tool's and its libraries', and of the sources that a proof rests on."""
    root, digest = Path(aeskit.__file__).parent, hashlib.sha256(aeskit.__version__.encode())
    for library in LIBRARIES:
        digest.update(f" {library} {version(library)}".encode())
    for name in PROVERS:
        path = root / name
        for file in sorted(path.rglob("*.py")) if path.is_dir() else [path]:
            digest.update(file.read_bytes())
    return digest.hexdigest()


def code(image: Image) -> str:
    """A digest of an image as it lies in memory, of where its symbols are, and of the tool."""
    digest = hashlib.sha256(tool().encode())
    for section in image.sections:
        digest.update(
            json.dumps([section.name, section.address, section.permissions, len(section.data)]).encode()
        )
        digest.update(section.data)
    names = [sorted(names.items()) for names in (image.symbols, image.labels, image.functions)]
    more = [sorted(image.externals.items()), image.linked, sorted(image.addresses)]
    digest.update(json.dumps([*names, *more]).encode())
    return digest.hexdigest()


def folder() -> Path:
    """``$XDG_CACHE_HOME/aeskit``, by default ``~/.cache/aeskit``."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "aeskit"


class Cache:
    """A table of proofs; what cannot be read or written is not remembered, and proofs go on without."""

    def __init__(self, path: Path | None = None) -> None:
        """Open or make `path`, by default ``proofs.sqlite`` in `folder()`."""
        self.path: Path | None = None
        with suppress(OSError, RuntimeError):  # a user may have no home
            self.path = path or folder() / "proofs.sqlite"
            self.path.parent.mkdir(parents=True, exist_ok=True)
        for name, column in (("proofs", "proof"), ("loops", "loop")):
            self._do(f"create table if not exists {name} (key text primary key, {column} text)")

    def _do(self, statement: str, rows: Sequence[tuple[str, ...]] = ((),)) -> list[tuple[str, ...]]:
        """A statement for each of `rows`, and what the last one gives; a table that refuses is given up."""
        if self.path is None:
            return []
        try:
            with closing(sqlite3.connect(self.path, timeout=30)) as table, table:
                found: list[tuple[str, ...]] = []
                for row in rows:
                    found = table.execute(statement, row).fetchall()
                return found
        except sqlite3.Error:
            self.path = None
            return []

    def known(self, code: str) -> dict[str, Proof]:
        """What was proved of this code, by `key`."""
        rows = self._do("select key, proof from proofs where key like ?", [(f"{code}%",)])
        return {key: read(text) for key, text in rows}

    def loops(self, code: str) -> list[Closed]:
        """The main loops of this code that were closed."""
        rows = self._do("select loop from loops where key like ?", [(f"{code}%",)])
        return [_loop(json.loads(text)) for (text,) in rows]

    def store_loops(self, code: str, loops: Iterable[Closed]) -> None:
        """Keep loops that were closed; those that were not are tried again."""
        rows = [
            (f"{code} {c.function} {c.contract} {c.key_size} {c.in_place}", json.dumps(raw_loop(c)))
            for c in loops
            if not c.findings
        ]
        self._do("insert or replace into loops values (?, ?)", rows)

    def store(self, proofs: Mapping[str, Proof]) -> None:
        """Keep proofs by `key`; findings are kept as well, for the same code has them again."""
        rows = [(name, json.dumps(proof.__dict__)) for name, proof in proofs.items()]
        self._do("insert or replace into proofs values (?, ?)", rows)


def key(code: str, proof: Proof, loop: Closed | None = None) -> str:
    """What names one proof; `loop` is the one whose head it is from."""
    layout = "in" if proof.in_place else "out"
    if proof.from_head and loop:
        head = loop.head
        layout += f" from {head.address:#x} without {sorted(head.dead)} by {loop.stride}"
        layout += f" sliding {list(head.slides)}" if head.slides else ""
    return f"{code} {proof.function} {proof.contract} {proof.length} {proof.key_size} {layout}"


def read(text: str) -> Proof:
    """A stored proof."""
    raw = json.loads(text)
    return Proof(**{**raw, **{name: tuple(raw[name]) for name in ("findings", "stand_ins")}})


def raw_loop(loop: Closed) -> dict[str, Any]:
    """A closed loop for JSON."""
    head = loop.head
    return asdict(loop) | {"head": head.address, "dead": sorted(head.dead), "slides": dict(head.slides)}


def _loop(raw: dict[str, Any]) -> Closed:
    slides = tuple(sorted(raw.pop("slides", {}).items()))
    head = Head(raw.pop("head"), frozenset(raw.pop("dead")), slides)
    return Closed(**raw | {"head": head, "carried": tuple(raw["carried"]), "findings": ()})
