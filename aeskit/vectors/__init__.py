"""Test vectors: `TestVector`, `read`, `write`, `make`; a file a format in `formats`."""

from __future__ import annotations

from typing import Any

from aeskit.vectors.files import VectorSet, read, read_text, write
from aeskit.vectors.source import VectorError
from aeskit.vectors.test_vector import TestVector

__all__ = ["TestVector", "VectorError", "VectorSet", "make", "read", "read_text", "write"]


def make(mode: str, **options: Any) -> VectorSet:
    """A small set that hits the edges of a mode: `aeskit.answers.make.make`."""
    from aeskit.answers import make as maker  # above this room: it asks the models

    return maker.make(mode, **options)
