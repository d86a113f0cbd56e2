"""The group `aeskit vectors`: argument parsing, nothing else; each command imports what it needs when run."""

from __future__ import annotations

import click

from aeskit.command_line import OUTPUT, Group

_FILE = click.Path(exists=True, dir_okay=False)


@click.group(cls=Group)
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
@click.option("--json", "report", type=OUTPUT, help="Write the report there too.")
@click.option(
    "--engine",
    type=click.Choice(["native", "emulator"]),
    default="native",
    show_default=True,
    help="What runs the native code; the emulator has AVX-512 on any machine.",
)
def check(
    files: tuple[str, ...], names: tuple[str, ...], form: str | None, report: str | None, engine: str
) -> None:
    """Read FILES of any format and hold them against every implementation.

    The answers to ACVP questions are given as further files. The exit status is 0 where everything that ran
    passed, 1 for a failure, 2 for a broken file, a wrong name or where nothing could run.
    """
    from aeskit.answers import command

    raise SystemExit(command.check(files, names, form, report, engine))


@vectors.command()
@click.argument("file", type=_FILE)
@click.argument("out", type=OUTPUT)
@click.option("--to", required=True, help="The format to write: `aeskit vectors formats` lists them.")
@click.option("--from", "form", help="The format to read, where the file's beginning shall not tell it.")
@click.option("--answers", multiple=True, type=_FILE, help="Answers to the questions in FILE (ACVP).")
def convert(file: str, out: str, to: str, form: str | None, answers: tuple[str, ...]) -> None:
    """Read FILE and write OUT in another format; what that format cannot hold is told."""
    from aeskit.answers import command

    raise SystemExit(command.convert(file, out, to, form, answers))


@vectors.command()
def formats() -> None:
    """List the formats, and which are read and which are written."""
    from aeskit.answers import command

    raise SystemExit(command.formats())


@vectors.command()
@click.argument("file", type=_FILE)
@click.argument("number", metavar="N")
@click.option("--decrypt", is_flag=True, help="Decryption; else the vector's own direction.")
@click.option("--rounds", is_flag=True, help="The steps within AES too.")
@click.option("--json", "trace", type=OUTPUT, help="Write the trace there too.")
@click.option("--html", type=OUTPUT, help="Write one page to step through.")
@click.option("--answers", multiple=True, type=_FILE, help="Answers to the questions in FILE (ACVP).")
def show(
    file: str,
    number: str,
    decrypt: bool,
    rounds: bool,
    trace: str | None,
    html: str | None,
    answers: tuple[str, ...],
) -> None:
    """Show vector N of FILE, by its number from 0 or its name, and the model's steps."""
    from aeskit.answers import command
    from aeskit.views.page import page

    reports = [(path, made) for path, made in ((trace, command.as_json), (html, page)) if path]
    raise SystemExit(command.show(file, number, "decrypt" if decrypt else "", rounds, reports, answers))


@vectors.command()
@click.argument("file", type=_FILE)
@click.argument("out", type=OUTPUT)
@click.option("--to", default="acvp-response", show_default=True, help="The format to write.")
@click.option("--implementation", "name", default="model", show_default=True, help="Who answers.")
def answer(file: str, out: str, to: str, name: str) -> None:
    """Answer the questions in FILE (ACVP, CAVP requests) and write OUT."""
    from aeskit.answers import command

    raise SystemExit(command.answer(file, out, to, name))


@vectors.command()
@click.argument("mode")
@click.option("--edges", default="", help="Names of edges, with commas; all by default.")
@click.option("--key-bits", default="128,192,256", show_default=True, help="Sizes of the AES key.")
@click.option("--stealing", default="CS1,CS2,CS3", show_default=True, help="Forms, for the mode cts.")
@click.option("--seed", default=0, show_default=True, help="Another seed gives other keys and texts.")
@click.option("--minimise", is_flag=True, help="The fewest that kill all mutants that these kill.")
@click.option("--function", "functions", multiple=True, help="Of this function's machine code as well.")
@click.option(
    "--sample", type=click.IntRange(min=1), default=200, show_default=True, help="Mutants of each function."
)
@click.option("--to", default="aeskit", show_default=True, help="The format to write.")
@click.option("--out", type=OUTPUT, help="Where to; else the terminal.")
def make(
    mode: str,
    edges: str,
    key_bits: str,
    stealing: str,
    seed: int,
    minimise: bool,
    functions: tuple[str, ...],
    sample: int,
    to: str,
    out: str | None,
) -> None:
    """Make the vectors of MODE's edges: computed by the model, confirmed by `cryptography`."""
    from aeskit.answers import command

    options = (_names(edges), _names(key_bits), _names(stealing), seed)
    raise SystemExit(command.make(mode, *options, minimise, functions, sample, to, out))


@vectors.command()
@click.argument("files", nargs=-1, required=True, type=click.Path(exists=True))
@click.option("--mode", "modes", multiple=True, help="Of these modes alone; repeatable.")
@click.option("--function", "functions", multiple=True, help="Also changes of this function's machine code.")
@click.option(
    "--sample", type=click.IntRange(min=1), default=200, show_default=True, help="Changes of each function."
)
@click.option("--list", "listed", is_flag=True, help="Also the faults that one set alone finds.")
def compare(
    files: tuple[str, ...],
    modes: tuple[str, ...],
    functions: tuple[str, ...],
    sample: int,
    listed: bool,
) -> None:
    """Count the faults that each of FILES finds among implementations with one fault each.

    A folder is one set of all the files in it. Changes of machine code run in the emulator, in all layouts.
    """
    from aeskit.answers import compare_command

    raise SystemExit(compare_command.compare(files, modes, functions, sample, listed))


def _names(text: str) -> tuple[str, ...]:
    return tuple(filter(None, (name.strip() for name in text.split(","))))
