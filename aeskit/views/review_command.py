"""`aeskit review`: options to a review, a review to text, JSON and page."""

from __future__ import annotations

import json
import re
import shutil
import sys

from rich.progress import BarColumn, MofNCompleteColumn, TextColumn

from aeskit.printed import printable, progress, write_whole
from aeskit.verify.prove_command import lengths as read_lengths
from aeskit.verify.review.code import features_named
from aeskit.verify.review.model import FAILS, OPEN, Line, Review
from aeskit.verify.review.review import LENGTHS, Wanted, review
from aeskit.views import review as view

GOOD, BAD = 0, 1
"""Exit status."""


def run(
    file: str,
    functions: tuple[str, ...],
    contracts: tuple[str, ...],
    contract_file: str,
    lengths: str,
    key_bits: tuple[str, ...],
    declared: str | None,
    cycles: bool,
    every_length: bool,
    include: tuple[str, ...],
    define: tuple[str, ...],
    workers: int | None,
    no_cache: bool,
    json_file: str | None,
    html_file: str | None,
) -> int:
    """Review and show; 1 where something is wrong. ValueError for what cannot be reviewed."""
    options = [f"-D {word}" for word in define] + ([f"lengths {lengths}"] if lengths else [])
    wanted = Wanted(
        file,
        functions,
        contracts,
        contract_file,
        lengths=tuple(read_lengths(lengths)) if lengths else LENGTHS,
        key_sizes=tuple(int(bits) // 8 for bits in key_bits or ("128", "192", "256")),
        declared=None if declared is None else features_named(re.findall(r"[^,\s]+", declared)),
        include=include,
        define=define,
        every_length=every_length,
        workers=workers,
        cached=not no_cache,
        options=tuple(options),
    )
    made = _reviewed(wanted)
    if cycles:
        _measure(made, wanted)
    if json_file:
        write_whole(json_file, json.dumps(made.to_json(), indent=1) + "\n")
    if html_file:
        write_whole(html_file, view.page(made))
    _show(made, brief=bool(json_file or html_file))
    return GOOD if made.good else BAD


def _reviewed(wanted: Wanted) -> Review:
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn())
    with progress(*columns) as bar:
        task = bar.add_task("review", total=None)
        return review(
            wanted,
            lambda what, done, total: bar.update(
                task, description=printable(what), completed=done, total=total or None
            ),
        )


def _measure(made: Review, wanted: Wanted) -> None:
    """Add a line on cycles to each function."""
    from aeskit.views import review_cycles

    image = wanted.image()
    for function in made.functions:
        if function.line("ABI").verdict == FAILS:
            why = "a function that does not keep the ABI is not called"
            function.lines.append(Line(review_cycles.TOPIC, OPEN, "not measured", why))
        elif function.promises:
            names = [promise.name for promise in function.promises]
            # A tweak that is written back would make each call wait for the one before.
            first = next((name for name in names if name.endswith("_first")), names[0])
            promise = wanted.promise(first)
            function.lines.append(review_cycles.line(image, function.name, promise))


def _show(made: Review, brief: bool) -> None:
    """The report in 40 to 100 columns; where a file was asked for the verdicts alone."""
    width = min(max(shutil.get_terminal_size((80, 24)).columns, view.NARROWEST), 100)
    try:
        if brief:
            for function in made.functions:
                guessed = "; contract guessed: " if function.guessed and function.promises else ""
                names = ", ".join(promise.name for promise in function.promises) if guessed else ""
                print(printable(f"{function.name}: {function.verdict}{guessed}{names}"))
        else:
            print(view.text(made, width), end="")
        sys.stdout.flush()
    except BrokenPipeError:
        sys.stderr.close()
