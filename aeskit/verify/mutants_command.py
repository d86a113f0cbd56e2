"""The command `aeskit mutants`: a progress bar, a table, every survivor with its reason, the exit status."""

from __future__ import annotations

import json
import os
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from aeskit import cpu
from aeskit.verify import mutants, mutants_levels, mutants_make, mutants_reach, proofs, prove_command
from aeskit.verify.mutants import Job, Outcome
from aeskit.verify.mutants_explain import REASONS, UNKNOWN
from aeskit.verify.mutants_make import Made
from aeskit.verify.proofs import Target

VERSION = 2
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
    engine: str = ""
    """Of known answers and verification; empty where they cannot call the function."""
    proof: str = "then"
    """Which mutants the proof met."""
    outcomes: list[Outcome] = field(default_factory=list)
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    """Of all processes."""

    @property
    def alive(self) -> list[Outcome]:
        """What the proof passes, or refuses and nothing else kills, in the order of the code."""
        found = [
            o
            for o in self.outcomes
            if not (o.killed_by_proof or o.died)
            and not (o.killed_by_verification and (o.refused or o.proof is None))
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

    def counts(self) -> dict[str, Any]:
        """In the order of SOUNDNESS.md's table; survivors by reason are at the end."""
        every, alive = self.outcomes, self.alive
        by_known = sum(o.killed_by_known for o in every)
        reasons = Counter(o.reason.kind if o.reason else UNKNOWN for o in alive)
        return {
            "tested": len(every),
            "answers": by_known,
            "verification": sum(o.killed_by_verification for o in every) - by_known,
            "proof": sum(o.killed_by_proof for o in every),
            "proof_only": sum(o.killed_by_proof and not o.killed_by_verification for o in every),
            "refused": sum(o.refused for o in every),
            "alive": len(alive),
            "unexplained": len(self.unexplained),
            "reasons": {kind: reasons[kind] for kind in REASONS if reasons[kind]},
        }

    def row(self) -> str:
        """The function's row of SOUNDNESS.md's table."""
        counts = self.counts()
        tested = f"{counts['tested']:,}"
        if len(self.outcomes) != self.mutants:
            tested += f" of {self.mutants:,}"
        proof = f"{counts['proof']:,}" if self.proof == "all" else f"{counts['proof_only']:,} more"
        numbers = [f"{counts['answers']:,}", f"{counts['verification']:,} more", proof]
        numbers += [f"{counts[name]:,}" for name in ("refused", "alive", "unexplained")]
        return f"| {' | '.join([self.function, tested, *numbers])} |"

    def to_json(self) -> dict[str, Any]:
        """Plain values for `json.dumps`."""
        head = {
            name: getattr(self, name) for name in ("function", "instructions", "mutants", "skipped", "asked")
        }
        head |= {"seed": self.seed, "engine": self.engine, "level": self.level, "proof_of": self.proof}
        head |= {"lengths": _spans(self.lengths), "counts": self.counts(), "cpu": cpu.detect().name}
        rows = [_row(o) for o in sorted(self.outcomes, key=lambda o: (o.mutant.address, o.mutant.after))]
        tail = {"seconds": round(self.seconds, 1), "cpu_seconds": round(self.cpu_seconds, 1)}
        tail |= {"status": self.status, "tested": len(rows)}
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
    began, spent = time.monotonic(), mutants.Spent()
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
        job, made, report = _prepared(tuple(targets), asked)
        chosen = mutants.sample(made.mutants, asked.count, asked.seed)
        report.asked = len(chosen)
        stages = {"": task}

        def told(stage: str, done: int, total: int) -> None:
            if stage not in stages:
                bar.remove_task(stages.popitem()[1])
                stages[stage] = bar.add_task(stage, total=total)
            bar.update(stages[stage], completed=done)

        with suppress(KeyboardInterrupt), closing(mutants.run(job, chosen, workers, told, spent)) as outcomes:
            for outcome in outcomes:
                report.outcomes.append(outcome)
    report.seconds = time.monotonic() - began
    report.cpu_seconds = sum(spent.values()) + time.process_time() * (os.getpid() not in spent)
    if file:
        Path(file).write_text(json.dumps(report.to_json(), indent=1), encoding="utf-8")
    show(report, console)
    return report.status


def _prepared(targets: tuple[Target, ...], asked: Asked) -> tuple[Job, Made, Report]:
    reach = mutants_reach.measure(targets, asked.lengths or mutants_reach.lengths())
    made = mutants_make.every(targets[0].image(), targets[0].function)
    engine = ""
    if mutants.has_known_answers(targets[0]):
        engine = mutants_levels.choose(targets[0].function, asked.engine)
    elif asked.engine:
        raise ValueError("known answers and verification are for functions of our own core")
    level = (asked.level or mutants_levels.LEVELS[engine]) if engine else ""
    job = Job(targets, reach, engine, level, asked.proof)
    counts = made.instructions, len(made.mutants), made.skipped
    lengths = tuple(sorted(reach.measured))
    return job, made, Report(job.function, *counts, 0, asked.seed, level, lengths, engine, asked.proof)


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
    names = ["mutants", *["answers", "verified"] * bool(report.engine), "proof", "refused"]
    names += ["proof only"] * (report.proof == "all" and bool(report.engine))
    for name in (*names, "alive"):
        table.add_column(name, justify="right")
    for kind in (*mutants_make.KINDS, ""):
        rows = [o for o in report.outcomes if not kind or o.mutant.kind == kind]
        if rows:
            counts = [f"{count:,}" for count in _counts(rows, report)]
            table.add_row(kind or "all", *counts, style="" if kind else "bold")
    return table


def _counts(rows: list[Outcome], report: Report) -> Iterator[int]:
    """Of each level what it kills of those that the ones before it leave alive; the proof perhaps of all."""
    known = sum(o.killed_by_known for o in rows)
    yield len(rows)
    if report.engine:
        yield known
        yield sum(o.killed_by_verification for o in rows) - known
    yield sum(o.killed_by_proof for o in rows)
    yield sum(o.refused for o in rows)
    if report.proof == "all" and report.engine:
        yield sum(o.killed_by_proof and not o.killed_by_verification for o in rows)
    yield sum(o.survived for o in rows)


_ENGINES = {"silicon": "on this CPU", "emulator": "in the emulator"}


def _notes(report: Report) -> list[str]:
    tested, died = len(report.outcomes), sum(bool(o.died) for o in report.outcomes)
    others = sum(o.killed_by_verification for o in report.alive)
    refused = sum(o.refused for o in report.outcomes)
    lines = [
        f"\n{tested:,} of {report.mutants:,} mutants tested (seed {report.seed}) in {report.seconds:.0f} s, "
        f"{report.cpu_seconds / 60:.1f} CPU minutes; {report.skipped:,} other changes have no encoding in "
        "place.",
        f"The proof leaves {len(report.alive)} alive, of which the verification kills {others}; "
        f"{len(report.unexplained)} unexplained.",
    ]
    if refused:
        lines.append(f"Refused: {refused} that no proof can follow, so that they would not be called proved.")
    if report.lengths != (0,):
        lines.append(f"Proofs: {_spans(report.lengths)} bytes, where these reach the instruction.")
    if report.engine:
        where, whom = _ENGINES[report.engine], "every mutant" if report.proof == "all" else "what is left"
        lines.append(f"Known answers and the verification's {report.level} level {where}; proofs of {whom}.")
    if tested < report.asked:
        lines.append(f"Stopped early: {report.asked - tested:,} were not tested.")
    if died:
        lines.append(f"{died} ended the process that ran them.")
    return [*lines, report.row()]
