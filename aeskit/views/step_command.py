"""`aeskit step`: options to a run, a run to text, page and file."""

from __future__ import annotations

import re
import shutil
import sys

from aeskit.printed import write_whole
from aeskit.trace import Trace
from aeskit.verify.stepping import Given, trace
from aeskit.views import steps


def run(
    target: str,
    contract: str | None,
    contract_file: str,
    length: int,
    key_bits: str | None,
    key: str | None,
    start: str | None,
    data: str | None,
    inputs: tuple[str, ...],
    places: tuple[str, ...],
    in_place: bool,
    engine: str,
    text: bool,
    full: bool,
    html: str | None,
    json_file: str | None,
    include: tuple[str, ...],
    define: tuple[str, ...],
) -> int:
    """Run and show; 1 if something was found, else 0. ValueError for what cannot be run."""
    given_data = _hex("data", data)
    given = Given(
        length if given_data is None else len(given_data),
        int(key_bits or 0) // 8,
        _hex("key", key),
        given_data,
        _hex("start", start),
        in_place,
        tuple(_named(text) for text in inputs),
        tuple(_place(text) for text in places),
    )
    made = trace(target, contract, given, engine, contract_file, include=include, define=define)
    if json_file:
        write_whole(json_file, made.to_json())
    if html:
        from aeskit.views.page import page

        write_whole(html, page(made))
    if text or full or not (html or json_file):
        show(made, full)
    elif made.findings:
        print(*made.findings, sep="\n")
    return 1 if made.findings else 0


def show(made: Trace, full: bool) -> None:
    """Print the picture as wide as the terminal, 40 to 120 columns, or 80 where there is none."""
    width = min(max(shutil.get_terminal_size((80, 24)).columns, steps.NARROWEST), 120)
    try:
        print(steps.picture(made, width, full))
    except BrokenPipeError:
        sys.stderr.close()


def _hex(name: str, text: str | None) -> bytes | None:
    if text is None:
        return None
    try:
        return bytes.fromhex(text)
    except ValueError:
        raise ValueError(f"{name} must be hexadecimal, two digits a byte, not {text!r:.40}") from None


def _place(text: str) -> tuple[str, int, int]:
    """``NAME=VALUE/MODULUS`` as name, mask and value."""
    match = re.fullmatch(r"(.+)=(\d{1,2})/(2|4|8|16|32|64)", text)
    if not match or int(match[2]) >= int(match[3]):
        must = "NAME=VALUE/MODULUS, a modulus of 2, 4, 8 to 64 and less than that"
        raise ValueError(f"at must be {must}, not {text!r:.40}")
    return match[1], int(match[3]) - 1, int(match[2])


def _named(text: str) -> tuple[str, bytes]:
    """``NAME=HEX``."""
    name, sign, value = text.partition("=")
    if not (name and sign):
        raise ValueError(f"input must be NAME=HEX, not {text!r:.40}")
    return name, _hex(f"input {name}", value) or b""
