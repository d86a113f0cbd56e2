"""A format is one file: it joins the registry, the reading and the commands by being there."""

import pytest
from click.testing import CliRunner

from aeskit.cli import main
from aeskit.vectors import TestVector, formats, read, write
from aeskit.vectors.registry import formats as registered

MODULE = """
from aeskit.vectors.fields import hexadecimal, vector
from aeskit.vectors.registry import Format


def read(source):
    for line, text in source.lines():
        if line > 1:
            words = [hexadecimal(source, line, "word", word) for word in text.split()]
            fields = dict(zip(("key", "plaintext", "ciphertext"), words))
            yield vector(source, line, name=str(line), mode="ecb", **fields)


def write(vectors, head):
    yield "three words"
    for item in vectors:
        yield "\\n" + " ".join(data.hex() for data in (item.key, item.plaintext, item.ciphertext))


def recognises(head):
    return head.startswith("three words")


FORMATS = [Format("words", "Three words a line", read, write, recognises=recognises)]
"""


@pytest.fixture
def joined(tmp_path, monkeypatch):
    (tmp_path / "words.py").write_text(MODULE)
    monkeypatch.setattr(formats, "__path__", [*formats.__path__, str(tmp_path)])
    registered.cache_clear()
    yield
    registered.cache_clear()


def test_a_new_file_joins_by_itself(joined, tmp_path):
    vectors = [TestVector("2", "ecb", bytes(16), plaintext=bytes(16), ciphertext=b"\xff" * 16)]
    path = tmp_path / "vectors.words"
    write(path, vectors, "words")
    found = read(path)
    assert (found.format, list(found)) == ("words", vectors)
    done = CliRunner().invoke(main, ["vectors", "formats"])
    assert "Three words a line" in done.output
    done = CliRunner().invoke(main, ["vectors", "check", str(path), "--implementation", "model"])
    assert done.exit_code == 1
    assert "vectors.words:2: 2, model: encrypt: block 0 byte 0 is 66, must be ff" in done.output


def test_it_is_gone_again():
    assert "words" not in registered()
    assert {
        "acvp",
        "aeskit",
        "c",
        "cavp",
        "evptest",
        "kernel",
        "python",
        "rust",
        "wycheproof",
    } <= registered().keys()
