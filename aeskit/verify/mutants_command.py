"""The command `aeskit mutants`: a progress bar, a table, every survivor with its reason, the exit status."""

from __future__ import annotations

import json
import time
from collections import defaultdict
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from aeskit.verify import mutants, mutants_make, mutants_reach, proofs, prove_command
from aeskit.verify.mutants import Job, Outcome
from aeskit.verify.mutants_explain import REASONS
from aeskit.verify.proofs import Target

VERSION = 1
"""Of the JSON form."""
EXPLAINED, UNEXPLAINED, INCOMPLETE = 0, 1, 2
"""Exit status: every survivor explained; one is not; stopped before the end, or misused."""


@dataclass
class Report:
    """What became of one function's mutants."""

    function: str
    instructions: int
    mutants: int
    """All that there are."""
    skipped: int
    """Changes without an encoding, or that are longer than what they replace."""
    asked: int
    seed: int
    level: str
    lengths: tuple[int, ...]
    outcomes: list[Outcome] = field(default_factory=list)
    seconds: float = 0.0
    emulated: bool = True
    """Whether known answers and verification can call the function."""

    @property
    def alive(self) -> list[Outcome]:
        """What the proof passes, or refuses and nothing else kills, in the order of the code."""
        found = [
            o
            for o in self.outcomes
            if not (o.killed_by_proof or o.died or (o.refused and o.killed_by_verification))
        ]
        return sorted(found, key=lambda o: (o.mutant.address, o.mutant.after))

    @property
    def unexplained(self) -> list[Outcome]:
        """Of these, what has no reason."""
        return [o for o in self.alive if o.reason is None or not o.reason.known]

    @property
    def status(self) -> int:
        """The exit status."""
        if self.unexplained:
            return UNEXPLAINED
        return EXPLAINED if self.outcomes and len(self.outcomes) == self.asked else INCOMPLETE

    def to_json(self) -> dict[str, Any]:
        """Plain values for `json.dumps`."""
        head = {
            name: getattr(self, name) for name in ("function", "instructions", "mutants", "skipped", "asked")
        }
        head |= {"seed": self.seed, "level": self.level, "lengths": _spans(self.lengths)}
        rows = [_row(o) for o in sorted(self.outcomes, key=lambda o: (o.mutant.address, o.mutant.after))]
        tail = {"seconds": round(self.seconds, 1), "status": self.status, "tested": len(rows)}
        return {"aeskit_mutants": VERSION} | head | tail | {"outcomes": rows}


def _row(outcome: Outcome) -> dict[str, Any]:
    mutant = {**asdict(outcome.mutant), "code": outcome.mutant.code.hex(" ")}
    levels = {name: getattr(outcome, name) for name in ("known", "verified", "proof")}
    found = {name: asdict(v) if v else None for name, v in levels.items()}
    reason = asdict(outcome.reason) if outcome.reason else None
    return mutant | found | {"reason": reason, "died": outcome.died}


def _spans(lengths: tuple[int, ...]) -> str:
    """``16-160, 175-177``."""
    spans: list[list[int]] = []
    for length in lengths:
        if spans and length == spans[-1][1] + 1:
            spans[-1][1] = length
        else:
            spans.append([length, length])
    return ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in spans)


def targets(
    name: str, contract: str, contract_file: str, include: tuple[str, ...], define: tuple[str, ...]
) -> list[Target]:
    """One function with its contracts: all of our own function's, or the one that is named."""
    if ":" not in name and not contract:
        return proofs.own([name])
    return prove_command.targets((name,), False, contract, contract_file, include, define)


def run(
    targets: list[Target],
    lengths: list[int] | None,
    count: int | None,
    seed: int,
    level: str,
    workers: int | None,
    file: str | None,
    console: Console | None = None,
) -> int:
    """Mutate one function and show what became of it; Ctrl-C ends the run with what there is."""
    console = console or Console()
    began = time.monotonic()
    with Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    ) as bar:
        task = bar.add_task("what reaches what", total=None)
        every = tuple(targets)
        reach = mutants_reach.measure(every, lengths or mutants_reach.lengths())
        made = mutants_make.every(targets[0].image(), targets[0].function)
        chosen = mutants.sample(made.mutants, count, seed)
        job = Job(every, reach, level)
        proved = tuple(sorted(length for group in reach.classes for length in group))
        report = Report(
            job.function, made.instructions, len(made.mutants), made.skipped, len(chosen), seed, level, proved
        )
        report.emulated = mutants.has_known_answers(every[0])
        bar.update(task, description="mutants", total=len(chosen))
        with suppress(KeyboardInterrupt):
            for outcome in mutants.run(job, chosen, workers):
                report.outcomes.append(outcome)
                bar.update(task, completed=len(report.outcomes))
    report.seconds = time.monotonic() - began
    if file:
        Path(file).write_text(json.dumps(report.to_json(), indent=1), encoding="utf-8")
    show(report, console)
    return report.status


def show(report: Report, console: Console) -> None:
    """A row a kind, then the survivors by reason, then what the numbers stand for."""
    console.print(_table(report))
    groups: dict[str, list[Outcome]] = defaultdict(list)
    for outcome in report.alive:
        groups[outcome.reason.kind if outcome.reason else "not known"].append(outcome)
    for kind in REASONS:
        if kind in groups:
            console.print(f"\n[bold]{kind}[/]: {len(groups[kind])}. {REASONS[kind]}.", highlight=False)
            for outcome in groups[kind]:
                text = outcome.reason.text if outcome.reason else ""
                line = f"  {outcome.mutant.title}\n      {text}"
                console.print(line, markup=False, highlight=False, soft_wrap=True)
    for line in _notes(report):
        console.print(line, markup=False, highlight=False)


def _table(report: Report) -> Table:
    title = f"{escape(report.function)}: {report.mutants:,} mutants of {report.instructions:,} instructions"
    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)  # 80 columns
    table.add_column("change")
    for name in ("mutants", "answers", "verified", "proof", "refused", "proof only", "alive"):
        table.add_column(name, justify="right")
    for kind in (*mutants_make.KINDS, ""):
        rows = [o for o in report.outcomes if not kind or o.mutant.kind == kind]
        if rows:
            table.add_row(
                kind or "all", *map(str, _counts(rows, report.emulated)), style="" if kind else "bold"
            )
    return table


def _counts(rows: list[Outcome], emulated: bool) -> tuple[int | str, ...]:
    known, verified = (
        sum(o.killed_by_known for o in rows) if emulated else "-",
        sum(o.killed_by_verification for o in rows) if emulated else "-",
    )
    alone = sum(o.killed_by_proof and not o.killed_by_verification for o in rows)
    proof = sum(o.killed_by_proof for o in rows)
    refused = sum(o.refused for o in rows)
    return len(rows), known, verified, proof, refused, alone, sum(o.survived for o in rows)


def _notes(report: Report) -> list[str]:
    tested, died = len(report.outcomes), sum(bool(o.died) for o in report.outcomes)
    others = sum(o.killed_by_verification for o in report.alive)
    refused = sum(o.refused for o in report.outcomes)
    lines = [
        f"\n{tested:,} of {report.mutants:,} mutants tested (seed {report.seed}) in {report.seconds:.0f} s; "
        f"{report.skipped:,} other changes have no encoding in place.",
        f"The proof leaves {len(report.alive)} alive, of which the verification kills {others}; "
        f"{len(report.unexplained)} unexplained.",
    ]
    if refused:
        lines.append(f"Refused: {refused} that no proof can follow, so that they would not be called proved.")
    if report.lengths != (0,):
        lines.append(f"Proofs: {_spans(report.lengths)} bytes, where these reach the instruction.")
    if report.emulated:
        lines.append(f"Verification: its {report.level} level, in the emulator, with the known answers.")
    if tested < report.asked:
        lines.append(f"Stopped early: {report.asked - tested:,} were not tested.")
    if died:
        lines.append(f"{died} ended the process that ran them.")
    return lines
