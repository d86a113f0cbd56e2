"""The command line: argument parsing, nothing else. Each command imports what it needs when it runs."""

from __future__ import annotations

import click

from aeskit import __version__


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="aeskit")
def main() -> None:
    """Verify and explore SIMD implementations of AES modes, lane by lane."""


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
def lab() -> None:
    """Open JupyterLab at the first notebook, on this machine's loopback address alone."""
    from aeskit import lab as notebooks

    try:
        raise SystemExit(notebooks.run())
    except notebooks.LabError as error:
        raise click.ClickException(str(error)) from None


if __name__ == "__main__":
    main()
