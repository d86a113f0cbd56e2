"""The command `aeskit mutants`: a progress bar, a table, every survivor with its reason, the exit status."""

from __future__ import annotations

import json
import os
import time
from contextlib import closing, suppress
from dataclasses import dataclass

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn

from aeskit.machine.loader import Image
from aeskit.printed import progress, write_whole
from aeskit.verify import prove_command
from aeskit.verify.mutants import levels, make, reach, survey
from aeskit.verify.mutants.make import Made
from aeskit.verify.mutants.report import Report
from aeskit.verify.mutants.shown import show
from aeskit.verify.mutants.survey import Job
from aeskit.verify.proving import proofs
from aeskit.verify.proving.proofs import Target


def targets(
    name: str, contract: str, contract_file: str, include: tuple[str, ...], define: tuple[str, ...]
) -> list[Target]:
    """One function with its contracts: all of our own function's, or the one that is named."""
    if ":" not in name and not contract:
        return proofs.own([name])
    return prove_command.targets((name,), False, contract, contract_file, include, define)


@dataclass(frozen=True)
class Asked:
    """What a run is asked for."""

    lengths: list[int] | None = None
    """In bytes, of the proofs."""
    count: int | None = None
    seed: int = 0
    engine: str = ""
    level: str = ""
    proof: str = "then"


def run(
    targets: list[Target],
    asked: Asked,
    workers: int | None,
    file: str | None,
    console: Console | None = None,
) -> int:
    """Mutate one function and show what became of it; Ctrl-C ends the run with what there is."""
    console = console or Console()
    began, spent = time.monotonic(), survey.Spent()
    with progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    ) as bar:
        task = bar.add_task("what reaches what", total=None)
        image = targets[0].image()
        job, made, report = _prepared(tuple(targets), image, asked)
        chosen = survey.sample(made.mutants, asked.count, asked.seed)
        report.asked = len(chosen)
        stages = {"": task}

        def told(stage: str, done: int, total: int) -> None:
            if stage not in stages:
                bar.remove_task(stages.popitem()[1])
                stages[stage] = bar.add_task(stage, total=total)
            bar.update(stages[stage], completed=done)

        with suppress(KeyboardInterrupt), closing(survey.run(job, chosen, workers, told, spent)) as outcomes:
            for outcome in outcomes:
                report.outcomes.append(outcome)
    report.seconds = time.monotonic() - began
    report.cpu_seconds = sum(spent.values()) + time.process_time() * (os.getpid() not in spent)
    if file:
        write_whole(file, json.dumps(report.to_json(), indent=1))
    show(report, image, console)
    return report.status


def _prepared(targets: tuple[Target, ...], image: Image, asked: Asked) -> tuple[Job, Made, Report]:
    promises = [target.promise() for target in targets]
    if asked.lengths and not any(c.lengths(n, n) for c in promises for n in asked.lengths):
        raise ValueError(prove_command.takes(promises[0], asked.lengths))
    reached = reach.measure(targets, asked.lengths or reach.lengths())
    made = make.every(image, targets[0].function, frozenset().union(*reached.visits.values()))
    engine = ""
    if survey.has_known_answers(targets[0]):
        engine = levels.choose(targets[0].function, asked.engine)
    elif asked.engine:
        raise ValueError("known answers and verification are for functions of our own core")
    level = (asked.level or levels.LEVELS[engine]) if engine else ""
    job = Job(targets, reached, engine, level, asked.proof)
    counts = made.others, made.instructions, len(made.mutants), made.skipped
    lengths = tuple(sorted(reached.measured))
    return job, made, Report(job.function, *counts, 0, asked.seed, level, lengths, engine, asked.proof)
