"""What every command shares: a file to write is tried before the run; what is missing or full is one line."""

from __future__ import annotations

import contextlib
import os
import sys
from pathlib import Path
from typing import Any

import click

from aeskit.printed import printable

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
    """A command cannot go on; the message is the one line to show, whatever names a file has in it."""

    exit_code = MISUSED

    def __init__(self, message: str) -> None:
        """Nothing in the message is a command to the terminal."""
        super().__init__("\n".join(map(printable, message.split("\n"))))


class Command(click.Command):
    """A command that writes no file which it reads, and none twice."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run it; an error of usage where one file has two parts in it."""
        given = [(parameter, path) for parameter in self.params for path in _paths(ctx, parameter)]
        for parameter, path in given:
            if not isinstance(parameter.type, Output):
                continue
            for other, second in given:
                if other is not parameter and _same_file(path, second):
                    both = f"{other.human_readable_name} and {parameter.human_readable_name}"
                    raise click.UsageError(f"{path} must be another file than {second}: {both} are one", ctx)
        return super().invoke(ctx)


class Group(click.Group):
    """A group of such commands."""

    command_class = Command


class Commands(Group):
    """The group of all commands."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command; Stopped where a package is missing, or a file or the terminal cannot be written."""
        if not os.environ.get("COLUMNS", "1").strip("0"):  # no columns at all would show nothing
            del os.environ["COLUMNS"]
        try:
            try:
                return super().invoke(ctx)
            finally:
                sys.stdout.flush()
        except ModuleNotFoundError as error:
            raise missing(error) from None
        except KeyboardInterrupt:
            raise Stopped("stopped before its end: there is no result") from None
        except BrokenPipeError:
            raise  # click's own: the reader has gone
        except OSError as error:
            _give_up_output()
            raise Stopped(said(error)) from None


def said(error: Exception) -> str:
    """What an error says; of the system's the file and the reason, without its number."""
    if not isinstance(error, OSError):
        return str(error)
    where = f"{error.filename}: " if error.filename else ""
    return f"{where}{error.strerror or error}"


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


def _paths(ctx: click.Context, parameter: click.Parameter) -> list[str]:
    """What a parameter holds of paths; of FILE:SYMBOL the file."""
    value = ctx.params.get(parameter.name or "")
    values = value if isinstance(value, (tuple, list)) else (value,)
    texts = [text for text in values if isinstance(text, str) and text]
    return [text if os.path.exists(text) else text.rpartition(":")[0] or text for text in texts]


def _same_file(one: str, other: str) -> bool:
    """Whether both name one regular file, there or still to be made."""
    first, second = Path(one).resolve(), Path(other).resolve()
    if first.exists() and second.exists():
        return first.is_file() and first.samefile(second)
    return first == second


def _try(path: Path) -> None:
    new = not path.exists()
    if new or path.is_file():  # a device or a pipe may wait for a reader
        path.open("ab").close()
    if new:
        path.unlink()
