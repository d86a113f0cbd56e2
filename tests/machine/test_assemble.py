"""Source that asks for too much, says what a terminal would obey, or has a name like an option."""

import contextlib
import os
from pathlib import Path

import pytest

from aeskit.machine import assemble
from aeskit.machine.errors import LoadError
from aeskit.machine.loader import load


@pytest.fixture
def written(tmp_path):
    def write(text, name="unit.S"):
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write


@pytest.mark.parametrize(
    ("source", "told"),
    [
        (".rept 1000000000\nnop\n.endr\n", "out of memory"),
        (".fill 1000000000000, 1, 0\n", "File size limit exceeded|can't fill|out of memory"),
        (".p2align 63\nnop\n", "out of memory|alignment"),
        (".macro m\nm\n.endm\nm\n", "nested too deeply"),
        ('#include "unit.S"\n', "In file included from"),
    ],
)
def test_what_asks_for_too_much_is_told(written, source, told):
    with pytest.raises(LoadError, match=rf"(?s)unit\.S does not assemble:\n.*({told})"):
        load(written(source))


def test_what_the_compiler_says_is_no_command_to_the_terminal(written):
    with pytest.raises(LoadError) as refused:
        load(written(b'f: \x1b[31m\xff\xfe "\n.error "\x1b[2J\xff"\n'))
    lines = str(refused.value).split("\n")
    assert len(lines) > 2
    assert all(line.isprintable() for line in lines)


@pytest.mark.parametrize("name", ["-shared.S", "@unit.S"])
def test_a_file_s_name_is_no_option(written, monkeypatch, name):
    path = written("f: ret\n", name)
    monkeypatch.chdir(path.parent)
    assert "f" in load(name).symbols


def test_no_process_is_left_after_the_time(written, monkeypatch):
    """What the compiler has started is ended as well; a source that never comes would keep it for ever."""
    monkeypatch.setattr(assemble, "SECONDS", 1)
    path = written('.include "fifo"\n')
    os.mkfifo(path.parent / "fifo")
    with pytest.raises(LoadError, match=r"unit\.S took more than 1 s"):
        load(path)
    looks = (_running(str(path.parent).encode()) for _ in range(1000))
    assert not all(looks)


def _running(word):
    """Processes with a word in their arguments; one that is killed may still be ending."""
    found = []
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            found += [file] * (word in file.read_bytes())
    return found
