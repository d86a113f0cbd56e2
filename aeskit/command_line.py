"""What every command shares: a file to write is tried before the run; what is missing or full is one line."""

from __future__ import annotations

import contextlib
import os
import sys
from pathlib import Path
from typing import Any

import click

MISUSED = 2
"""Exit status."""

EXTRAS = {
    "iced_x86": "disasm,emulators",
    "elftools": "disasm,emulators",
    "unicorn": "disasm,emulators",
    "matplotlib": "bench",
    "distributed": "campaign",
    "dask": "campaign",
}
"""Modules of the optional packages to the extras of pyproject.toml that install them."""


class Stopped(click.ClickException):
    """A command cannot go on; the message is the one line to show."""

    exit_code = MISUSED


class Commands(click.Group):
    """The group of all commands."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command; Stopped where a package is missing, or a file or the terminal cannot be written."""
        try:
            try:
                return super().invoke(ctx)
            finally:
                sys.stdout.flush()
        except ModuleNotFoundError as error:
            raise missing(error) from None
        except BrokenPipeError:
            raise  # click's own: the reader has gone
        except OSError as error:
            _give_up_output()
            where = f"{error.filename}: " if error.filename else ""
            raise Stopped(f"{where}{error.strerror or error}") from None


def missing(error: ModuleNotFoundError) -> Exception:
    """What says which extra to install; the error itself where no extra holds the module."""
    module = (error.name or "").partition(".")[0]
    if module not in EXTRAS:
        return error
    return Stopped(f"this command needs {module}: pip install 'aeskit[{EXTRAS[module]}]'")


def _give_up_output() -> None:
    """Keep the interpreter from trying again at its end, if nothing can be written."""
    try:
        sys.stdout.flush()
    except OSError:
        with contextlib.suppress(OSError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


class Output(click.Path):
    """A file to write: opened once before the command begins, so that no run is lost for it."""

    def __init__(self) -> None:
        """Take any path but a folder's."""
        super().__init__(dir_okay=False)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The path, as it was given; an error of usage where it cannot be written."""
        found = os.fsdecode(super().convert(value, param, ctx))
        try:
            _try(Path(found).resolve())
        except OSError as error:
            self.fail(f"{found} cannot be written: {error.strerror}", param, ctx)
        return found


OUTPUT = Output()


def _try(path: Path) -> None:
    new = not path.exists()
    if new or path.is_file():  # a device or a pipe may wait for a reader
        path.open("ab").close()
    if new:
        path.unlink()
