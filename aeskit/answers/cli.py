"""The group `aeskit vectors`: argument parsing, nothing else; each command imports what it needs when run."""

from __future__ import annotations

import click

_FILE = click.Path(exists=True, dir_okay=False)


@click.group()
def vectors() -> None:
    """Check, convert, show and make test vectors, in everyone's formats."""


@vectors.command()
@click.argument("files", nargs=-1, required=True, type=_FILE)
@click.option(
    "--implementation",
    "names",
    multiple=True,
    help="all (default), model, cryptography, an instruction set or a full name; repeatable.",
)
@click.option("--from", "form", help="The files' format, where their beginning shall not tell it.")
@click.option("--json", "report", type=click.Path(dir_okay=False), help="Write the report there too.")
def check(files: tuple[str, ...], names: tuple[str, ...], form: str | None, report: str | None) -> None:
    """Read FILES of any format and hold them against every implementation.

    The answers to ACVP questions are given as further files. The exit status is 0 where everything that ran
    passed, 1 for a failure, 2 for a broken file, a wrong name or where nothing could run.
    """
    from aeskit.answers import command

    raise SystemExit(command.check(files, names, form, report))


@vectors.command()
@click.argument("file", type=_FILE)
@click.argument("out", type=click.Path(dir_okay=False))
@click.option("--to", required=True, help="The format to write.")
@click.option("--from", "form", help="The format to read, where the file's beginning shall not tell it.")
@click.option("--answers", multiple=True, type=_FILE, help="Answers to the questions in FILE (ACVP).")
def convert(file: str, out: str, to: str, form: str | None, answers: tuple[str, ...]) -> None:
    """Read FILE and write OUT in another format; what that format cannot hold is told."""
    from aeskit.answers import command

    raise SystemExit(command.convert(file, out, to, form, answers))
