"""Assembling snippets, once a snippet and a run of the tests."""

import hashlib
from functools import cache
from pathlib import Path

import pytest

NATIVE = Path(__file__).parents[2] / "native"


@pytest.fixture(scope="session")
def assembled(tmp_path_factory):
    """A function f with a snippet as its body, as an image."""
    from aeskit.machine.loader import load

    folder = tmp_path_factory.mktemp("snippets")

    @cache
    def assemble(source):
        path = folder / f"{hashlib.sha256(source.encode()).hexdigest()[:16]}.S"
        lines = source.replace("; ", "\n")
        path.write_text(f".globl f\n.type f, @function\nf:\n{lines}\nret\n.size f, .-f\n")
        return load(path)

    return assemble


@pytest.fixture(scope="session")
def native():
    """An image of one of our own files: native("xts")."""
    from aeskit.machine.loader import load

    return cache(lambda name: load(NATIVE / f"{name}.S"))
