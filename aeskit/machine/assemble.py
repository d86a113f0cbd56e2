"""Assembler source to an object file, with the system's C compiler."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from aeskit.machine.errors import LoadError

INCLUDES = Path(__file__).parent / "include"
"""Our own small stand-ins for the include files of kernel assembly."""

SECONDS = 60
LINES = 12


def assemble(source: Path, *, include: Sequence[str | Path] = (), define: Sequence[str] = ()) -> bytes:
    """The object file of a `.S` or `.s` file, with debug lines.

    `include` are further directories (before the stand-ins), `define` are ``NAME`` or ``NAME=VALUE``.
    LoadError without a compiler, after `SECONDS`, or with the first lines of what the compiler said.
    """
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        raise LoadError(f"assembling {source} needs a C compiler (cc, gcc or clang): none was found")
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out.o"
        command = [
            compiler,
            "-m64",
            "-c",
            "-g",
            "-Wa,-L",  # local labels stay: phases of a run are named by them
            "-x",
            "assembler-with-cpp",
            "-D__ASSEMBLY__",
            "-D__ASSEMBLER__",
            *_gnu(compiler),
        ]
        command += ["-DCONFIG_X86_64", *(f"-D{word}" for word in define)]
        command += [f"-I{path}" for path in (source.parent, *include, INCLUDES)]
        try:
            done = subprocess.run(
                [*command, str(source), "-o", str(out)], capture_output=True, text=True, timeout=SECONDS
            )
        except subprocess.TimeoutExpired:
            raise LoadError(f"assembling {source} took more than {SECONDS} s") from None
        if done.returncode:
            said = "\n".join(done.stderr.splitlines()[:LINES])
            raise LoadError(f"{source} does not assemble:\n{said}")
        return out.read_bytes()


@cache
def _gnu(compiler: str) -> list[str]:
    """What makes the compiler use the GNU assembler: clang's own lacks some macros and Intel syntax."""
    said = subprocess.run([compiler, "--version"], capture_output=True, text=True, timeout=SECONDS).stdout
    return ["-fno-integrated-as"] if "clang" in said else []
