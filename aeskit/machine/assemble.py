"""Assembler source to an object file, with the system's C compiler."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from aeskit.machine.elf import MAX_FILE
from aeskit.machine.errors import LoadError
from aeskit.printed import printable

INCLUDES = Path(__file__).parent / "include"
"""Our own small stand-ins for the include files of kernel assembly."""

SECONDS, CPU_SECONDS = 60, 20
MEMORY = 4 << 20
"""Kilobytes. For each process, as CPU_SECONDS: a repetition can ask for anything."""
LINES, LETTERS = 12, 4000
"""Of what the compiler said."""


def assemble(source: Path, *, include: Sequence[str | Path] = (), define: Sequence[str] = ()) -> bytes:
    """The object file of a `.S` or `.s` file, with debug lines.

    `include` are further directories (before the stand-ins), `define` are ``NAME`` or ``NAME=VALUE``.
    LoadError without a compiler, after `SECONDS`, or with the first lines of what the compiler said.
    """
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        raise LoadError(f"assembling {source} needs a C compiler (cc, gcc or clang): none was found")
    with tempfile.TemporaryDirectory() as folder:
        out, said = Path(folder) / "out.o", Path(folder) / "said"
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
        name = f"./{source}" if str(source)[0] in "-@" else str(source)  # no option, no file of options
        status = _run([*command, name, "-o", str(out)], said)
        if status is None:
            raise LoadError(f"assembling {source} took more than {SECONDS} s")
        if status or not out.is_file():
            with said.open("rb") as file:
                text = file.read(LETTERS).decode(errors="replace")
            lines = "\n".join(printable(line) for line in text.splitlines()[:LINES])
            raise LoadError(f"{source} does not assemble:\n{lines}")
        return out.read_bytes()


def _run(command: list[str], said: Path) -> int | None:
    """The exit status, what was said on stderr in a file; None after SECONDS, with no process left."""
    limits = f'ulimit -t {CPU_SECONDS}; ulimit -v {MEMORY}; ulimit -f {MAX_FILE >> 9}; exec "$@"'
    with said.open("wb") as file:
        process = subprocess.Popen(
            ["/bin/sh", "-c", limits, "sh", *command],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=file,
            start_new_session=True,
        )
        try:
            return process.wait(SECONDS)
        except subprocess.TimeoutExpired:
            return None
        finally:
            if process.poll() is None:  # the compiler's own processes too
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()


@cache
def _gnu(compiler: str) -> list[str]:
    """What makes the compiler use the GNU assembler: clang's own lacks some macros and Intel syntax."""
    said = subprocess.run([compiler, "--version"], capture_output=True, text=True, timeout=SECONDS).stdout
    return ["-fno-integrated-as"] if "clang" in said else []
