"""Vectors made for the edges (being built)."""

from __future__ import annotations

from typing import Any

from aeskit.vectors import VectorSet


def make(mode: str, **options: Any) -> VectorSet:
    """A small set that hits the edges of a mode."""
    raise NotImplementedError
