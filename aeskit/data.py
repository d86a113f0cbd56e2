"""Where the package's data lies: beside it when installed, in the source tree for an editable install."""

from __future__ import annotations

from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path


def folder(name: str) -> Traversable:
    """The folder ``vectors`` or ``figures``; FileNotFoundError if the installation lacks it."""
    installed = files("aeskit") / "data" / name
    source = Path(__file__).resolve().parent.parent / "data" / name
    for found in (installed, source):
        if found.is_dir():
            return found
    raise FileNotFoundError(f'the package\'s data folder "{name}" must be at {installed} or at {source}')


def text(name: str, file: str) -> str:
    """The text of one file of a folder."""
    return (folder(name) / file).read_text(encoding="utf-8")
