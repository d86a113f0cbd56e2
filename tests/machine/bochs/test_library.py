"""What is said where the emulator cannot be had: one line with what to install."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError
from types import SimpleNamespace

import pytest

from aeskit.machine.bochs import EmulatorMissing, library
from aeskit.verify import command


def absent(name: str) -> object:
    raise PackageNotFoundError(name)


def wheel(version: str, folder: str = "nowhere"):
    return lambda name: SimpleNamespace(version=version, locate_file=lambda path: folder)


@pytest.mark.parametrize(
    ("distribution", "told"),
    [
        (absent, "the emulator is not installed: pip install 'aeskit[emulators]'"),
        (wheel("0.5.0"), "bochscpu-python must be 0.4.0, not 0.5.0: pip install 'aeskit[emulators]'"),
        (wheel("0.4.0"), "bochscpu-python is installed without its shared library: install it again"),
    ],
)
def test_the_wheel(monkeypatch, distribution, told: str) -> None:
    monkeypatch.setattr(library, "distribution", distribution)
    with pytest.raises(EmulatorMissing) as caught:
        library._path()
    assert str(caught.value) == told


def test_another_system(monkeypatch) -> None:
    monkeypatch.setattr(library.platform, "machine", lambda: "aarch64")
    with pytest.raises(EmulatorMissing, match="the emulator runs on Linux on x86-64, not on Linux aarch64"):
        library._path()


def test_an_old_libc_without_a_compiler(monkeypatch) -> None:
    monkeypatch.setattr(library.shutil, "which", lambda name: None)
    monkeypatch.setattr(library.ctypes, "CDLL", lambda path: SimpleNamespace())
    with pytest.raises(EmulatorMissing, match=r"needs glibc 2\.38 or a C compiler"):
        library._provide_c23_names()


def test_a_compiler_that_cannot_link(monkeypatch, tmp_path) -> None:
    broken = tmp_path / "cc"
    broken.write_text("#!/bin/sh\necho no linker here >&2\nexit 1\n")
    broken.chmod(0o755)
    monkeypatch.setattr(library.ctypes, "CDLL", lambda path: SimpleNamespace())
    monkeypatch.setattr(library.shutil, "which", lambda name: str(broken))
    with pytest.raises(EmulatorMissing, match="does not link what the emulator needs: no linker here"):
        library._provide_c23_names()


def test_the_command_says_it_in_one_line(monkeypatch, capsys) -> None:
    def missing() -> None:
        raise EmulatorMissing("the emulator is not installed: pip install 'aeskit[emulators]'")

    monkeypatch.setattr("aeskit.verify.emulated.EmulatedRunner", missing)
    assert command.verify(["ecb"], [], None, 0, [], None, "emulator") == 2
    error = "aeskit verify: the emulator is not installed: pip install 'aeskit[emulators]'\n"
    assert capsys.readouterr().err == error
