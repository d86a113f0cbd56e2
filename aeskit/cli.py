"""The command line: argument parsing, nothing else. Each command imports what it needs when it runs."""

from __future__ import annotations

from typing import Any

import click

from aeskit import __version__
from aeskit.command_line import OUTPUT, Commands, Stopped, said
from aeskit.vectors_cli import vectors


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="aeskit")
def main() -> None:
    """Verify and explore SIMD implementations of AES modes, lane by lane."""


main.add_command(vectors)


@main.command()
@click.option("--json", "as_json", is_flag=True, help="As JSON, to read by a program.")
def info(as_json: bool) -> None:
    """Show the CPU, what it can run, what is chosen, and what this stands on."""
    import json

    from aeskit import implementations
    from aeskit import info as information

    found = information.gather(force=implementations.requested())
    if as_json:
        click.echo(json.dumps(found, indent=2))
    else:
        information.render(found)


@main.command()
@click.argument("modes", nargs=-1, type=click.Choice(["xts", "ctr", "cbc", "cts", "ecb", "keys"]))
@click.option("--sizes", default="", help="Message sizes in bytes, with commas.")
@click.option("--key-bits", multiple=True, type=click.Choice(["128", "192", "256"]), help="Default: 256.")
@click.option("--implementations", default="", help="Names or instruction sets, with commas.")
@click.option("--peers", is_flag=True, help="Also libcrypto and libgcrypt, where they are.")
@click.option("--python", is_flag=True, help="Also calls from Python, beside `cryptography`.")
@click.option("--goals", is_flag=True, help="Hold the figures for AES-256 against what the core is to reach.")
@click.option("--passes", default=60, type=click.IntRange(5, 10_000), help="Short passes over all cells.")
@click.option("--json", "json_file", type=OUTPUT, help="Write all figures.")
@click.option("--plot", "plot_file", type=OUTPUT, help="Write plots: .svg, .png or .pdf.")
@click.option("--page", "page_file", type=OUTPUT, help="Write an HTML page of everything.")
def bench(**options: Any) -> None:
    """Measure core cycles and percent of this CPU's limit, a table an operation."""
    from aeskit.bench import command

    try:
        command.run(command.Wanted(**options))
    except ValueError as error:
        raise click.ClickException(str(error)) from None


@main.command()
def lab() -> None:
    """Open JupyterLab at the first notebook, on this machine's loopback address alone."""
    from aeskit import lab as notebooks

    try:
        raise SystemExit(notebooks.run())
    except notebooks.LabError as error:
        raise click.ClickException(str(error)) from None


@main.command()
@click.argument("modes", nargs=-1, type=click.Choice(["xts", "ctr", "cbc", "ecb", "keys"]))
@click.option("--implementation", "names", multiple=True, help="A name or an instruction set; repeatable.")
@click.option(
    "--level",
    type=click.Choice(["brief", "quick", "full"]),
    help="How many cases: quick by default, brief in the emulator, which is slow.",
)
@click.option(
    "--engine",
    type=click.Choice(["native", "emulator"]),
    default="native",
    show_default=True,
    help="This CPU, or an emulated one with AVX-512.",
)
@click.option("--seed", type=click.IntRange(0, 2**31), default=0, help="Of keys and data; 0 by default.")
@click.option("--require", "required", multiple=True, help="Fail if this feature or name is skipped.")
@click.option("--json", "file", type=OUTPUT, help="Write the report there too.")
@click.option("--replay", "identity", help="Make one check again, from the line that its finding gave.")
def verify(
    modes: tuple[str, ...],
    names: tuple[str, ...],
    level: str | None,
    seed: int,
    engine: str,
    required: tuple[str, ...],
    file: str | None,
    identity: str | None,
) -> None:
    """Hold every implementation that this CPU can run against the models and `cryptography`.

    MODES are all by default, whatever AESKIT_IMPLEMENTATION chooses for the ciphers. The exit status is 0
    where all that ran passed, 1 for a finding or for a required thing that was skipped, 2 where no
    implementation could run, or for a run that was misused or stopped before its end.
    """
    from aeskit.verify import command

    if identity is None:
        raise SystemExit(command.verify(modes, names, level, seed, required, file, engine))
    if modes or names or required:
        raise click.UsageError("--replay takes no modes, --implementation or --require: its line names them")
    raise SystemExit(command.replay(identity, file, engine))


@main.command()
@click.argument("names", nargs=-1)
@click.option("--all", "everything", is_flag=True, help="Every function of our own core.")
@click.option(
    "--contract", default="", help="What FILE:SYMBOL promises; left out, all are listed. Ours are known."
)
@click.option("--contract-file", default="", help="A Python file that defines the contract.")
@click.option("--lengths", default="0-160", show_default=True, help="In bytes: 16-1100, or 16,17,512.")
@click.option("--every-length", is_flag=True, help="Every length, by induction over the main loop.")
@click.option("--key-bits", multiple=True, type=click.Choice(["128", "192", "256"]), help="Default: all.")
@click.option("-I", "include", multiple=True, help="A folder of include files, for a .S file.")
@click.option("-D", "define", multiple=True, help="A macro, for a .S file.")
@click.option("--workers", type=click.IntRange(1, 64), help="Processes; by default one a core.")
@click.option("--no-cache", is_flag=True, help="Prove again what was proved before.")
@click.option("--json", "file", type=OUTPUT, help="Write every proof there too.")
def prove(
    names: tuple[str, ...],
    everything: bool,
    contract: str,
    contract_file: str,
    lengths: str,
    every_length: bool,
    key_bits: tuple[str, ...],
    include: tuple[str, ...],
    define: tuple[str, ...],
    workers: int | None,
    no_cache: bool,
    file: str | None,
) -> None:
    """Prove functions for every key, tweak, counter and all data, length by length.

    NAMES are functions of our own core, or FILE:SYMBOL of an object, a library or a .S file. The exit status
    is 0 where everything is proved, 1 where something is not, 2 for a run that was misused or stopped. With
    --every-length a name whose contract can be proved length by length alone ends with 1; with --all it is
    told, and the status is that of the rest.
    """
    from aeskit.verify import prove_command as command

    try:
        asked = command.targets(names, everything, contract, contract_file, include, define)
        which = command.lengths(lengths)
    except (ValueError, OSError) as error:
        raise Stopped(said(error)) from None
    sizes = [int(bits) // 8 for bits in key_bits or ("128", "192", "256")]
    try:
        status = command.prove(
            asked, which, sizes, workers, not no_cache, file, every=every_length, everything=everything
        )
    except ValueError as error:
        raise Stopped(str(error)) from None
    raise SystemExit(status)


@main.command()
@click.argument("names", nargs=-1)
@click.option("--all", "everything", is_flag=True, help="Every function of our own core.")
@click.option("--table", is_flag=True, help="Every instruction that the lane machine knows, instead.")
@click.option("--contract", default="", help="What the arguments mean; for our own functions it is known.")
@click.option("--contract-file", default="", help="A Python file that defines the contract.")
@click.option("--count", default=50, show_default=True, type=click.IntRange(1, 1000), help="Lengths.")
@click.option("--samples", default=4, show_default=True, type=click.IntRange(1, 1000), help="With --table.")
@click.option("--seed", default=1, show_default=True, type=click.IntRange(0, 2**31), help="With --table.")
@click.option(
    "--engine",
    type=click.Choice(["auto", "silicon", "emulator"]),
    default="auto",
    show_default=True,
    help="This CPU under single-step; an emulated one with AVX-512; or where needed the other.",
)
@click.option("-I", "include", multiple=True, help="A folder of include files, for a .S file.")
@click.option("-D", "define", multiple=True, help="A macro, for a .S file.")
@click.option("--workers", type=click.IntRange(1, 64), help="Processes; by default one a core.")
def lockstep(
    names: tuple[str, ...],
    everything: bool,
    table: bool,
    contract: str,
    contract_file: str,
    count: int,
    samples: int,
    seed: int,
    engine: str,
    include: tuple[str, ...],
    define: tuple[str, ...],
    workers: int | None,
) -> None:
    """Run the lane machine beside hardware and compare every register after every instruction.

    NAMES are functions of our own core, or FILE:SYMBOL of an object, a library or a .S file. The exit status
    is 0 where both agree, 1 where they differ, 2 for a run that was misused or stopped.
    """
    from aeskit.verify import lockstep_command as command
    from aeskit.verify import prove_command

    try:
        if table:
            raise SystemExit(command.instructions(samples, seed, engine))
        asked = prove_command.targets(names, everything, contract, contract_file, include, define)
        raise SystemExit(command.functions(asked, count, engine, workers))
    except (ValueError, OSError) as error:
        raise Stopped(said(error)) from None


@main.command()
@click.argument("name", metavar="NAME|FILE:SYMBOL")
@click.option("--contract", default="", help="What the function promises; guessed from our own names.")
@click.option("--contract-file", default="", help="A Python file that defines the contract.")
@click.option("--lengths", default="", help="In bytes, of the proofs: 16-600. By default chosen to 1,100.")
@click.option("--sample", "count", type=click.IntRange(1), help="Test so many, drawn from the seed.")
@click.option("--seed", default=0, show_default=True, type=click.IntRange(0, 2**31))
@click.option(
    "--engine",
    type=click.Choice(["silicon", "emulator"]),
    help="Of known answers and verification; by default this CPU where it can run the function.",
)
@click.option(
    "--level",
    type=click.Choice(["brief", "quick"]),
    help="Of verification; by default quick on this CPU, brief in the emulator, which is slow.",
)
@click.option(
    "--proof",
    type=click.Choice(["then", "all"]),
    default="then",
    show_default=True,
    help="Of what is alive then, or of all mutants: to compare the levels.",
)
@click.option("-I", "include", multiple=True, help="A folder of include files, for a .S file.")
@click.option("-D", "define", multiple=True, help="A macro, for a .S file.")
@click.option("--workers", type=click.IntRange(1, 64), help="Processes; by default one a core.")
@click.option("--json", "file", type=OUTPUT, help="Write every mutant there too.")
def mutants(
    name: str,
    contract: str,
    contract_file: str,
    lengths: str,
    count: int | None,
    seed: int,
    engine: str | None,
    level: str | None,
    proof: str,
    include: tuple[str, ...],
    define: tuple[str, ...],
    workers: int | None,
    file: str | None,
) -> None:
    """Change one instruction at a time, and see what known answers, verification and proof each kill.

    Every change that the proof leaves alive is told with the reason why it makes no difference. The exit
    status is 0 where all of them have one, 1 where one has none, 2 for a run that was misused or stopped.
    """
    from aeskit.verify import prove_command
    from aeskit.verify.mutants import command

    try:
        asked = command.targets(name, contract, contract_file, include, define)
        which = prove_command.lengths(lengths) if lengths else None
        options = command.Asked(which, count, seed, engine or "", level or "", proof)
        raise SystemExit(command.run(asked, options, workers, file))
    except (ValueError, OSError) as error:
        raise Stopped(said(error)) from None


@main.command()
@click.argument("target", metavar="NAME|FILE:SYMBOL")
@click.option("--contract", help="What the arguments mean; for our own functions it is known.")
@click.option("--contract-file", default="", help="A Python file that defines the contract.")
@click.option("--bytes", "length", default=64, show_default=True, type=click.IntRange(0), help="Of the data.")
@click.option(
    "--key-bits", type=click.Choice(["128", "192", "256"]), help="Default: the most that the contract has."
)
@click.option("--key", help="Hexadecimal; XTS: the data key, then the tweak key. Sets --key-bits.")
@click.option("--start", help="Tweak, IV or counter, 16 bytes in hexadecimal.")
@click.option("--data", help="Hexadecimal. Sets --bytes.")
@click.option("--input", "inputs", multiple=True, help="NAME=HEX: any other input that the contract names.")
@click.option("--at", "places", multiple=True, help="NAME=VALUE/MODULUS: where a buffer lies, as in 3/16.")
@click.option("--in-place", is_flag=True, help="Source and destination are one buffer.")
@click.option(
    "--engine", type=click.Choice(["lanes", "silicon", "emulator"]), default="lanes", show_default=True
)
@click.option("--text", is_flag=True, help="As text: the default where no file is asked for.")
@click.option("--full", is_flag=True, help="Text with the bytes of recognised lanes.")
@click.option("--html", type=OUTPUT, help="Write one page to step through.")
@click.option("--json", "json_file", type=OUTPUT, help="Write the trace.")
@click.option("-I", "include", multiple=True, type=click.Path(), help="Directory for included files of a .S.")
@click.option("-D", "define", multiple=True, help="NAME or NAME=VALUE for a .S.")
def step(**options: Any) -> None:
    """Run one function once and show every instruction: lanes by name, phases, memory, findings.

    The exit status is 1 if something was found, 2 for a run that was misused or stopped.
    """
    from aeskit.views import step_command

    try:
        raise SystemExit(step_command.run(**options))
    except (ValueError, OSError) as error:
        raise Stopped(said(error)) from None


@main.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False))
@click.option("--function", "functions", multiple=True, help="Review this one alone; repeatable.")
@click.option(
    "--contract", "contracts", multiple=True, help="What the functions promise; else it is guessed."
)
@click.option("--contract-file", default="", help="A Python file that defines the contract.")
@click.option("--lengths", default="", help="To prove, in bytes: 16-1100, or 16,17,512.")
@click.option("--key-bits", multiple=True, type=click.Choice(["128", "192", "256"]), help="Default: all.")
@click.option("--declared", help="CPU features that callers check, with commas: AES,AVX.")
@click.option("--every-length", is_flag=True, help="Prove every length as well, by induction: minutes.")
@click.option("--cycles", is_flag=True, help="Measure as well, by length, beside this CPU's limit.")
@click.option("-I", "include", multiple=True, help="A folder of include files, for a .S file.")
@click.option("-D", "define", multiple=True, help="A macro, for a .S file.")
@click.option("--workers", type=click.IntRange(1, 64), help="Processes; by default one a core.")
@click.option("--no-cache", is_flag=True, help="Prove again what was proved before.")
@click.option("--json", "json_file", type=OUTPUT, help="Write the report.")
@click.option("--html", "html_file", type=OUTPUT, help="Write it as one page for a mail.")
def review(**options: Any) -> None:
    """Tell all that can be known of the functions in FILE: an object, a library or a .S file.

    Proofs, layouts on hardware, memory, secrets, ABI, CPU features and more, each with its evidence and its
    caveat. The exit status is 0 where nothing is wrong, 1 where something is, 2 for a run that was misused or
    stopped.
    """
    from aeskit.views import review_command

    try:
        raise SystemExit(review_command.run(**options))
    except (ValueError, OSError) as error:
        raise Stopped(said(error)) from None


if __name__ == "__main__":
    main()
