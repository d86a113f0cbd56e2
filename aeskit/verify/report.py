"""What a run found: rows and findings, as a table, as JSON, as an exit status."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from rich.console import Console
from rich.table import Table

VERSION = 1
"""Of the JSON form."""

PASSED, FAILED, INCOMPLETE = 0, 1, 2
"""Exit status: all that ran passed; a finding, or a required thing skipped; nothing ran, stopped, misused."""

MODEL = "model_"
"""How the row of a model begins."""

_RESULT = len("SKIPPED,")
"""Columns that a result has however narrow the table."""


@dataclass(frozen=True)
class Finding:
    """One failed check, and the line that makes it again."""

    function: str
    text: str
    """``xts_decrypt_vaes_avx2, AES-256, 33 bytes, in place: block 1 byte 4 is 7f, must be 3c``."""
    identity: str
    engine: str = "native"

    @property
    def command(self) -> str:
        """What to type to see it again."""
        engine = "" if self.engine == "native" else f" --engine {self.engine}"
        return f"aeskit verify{engine} --replay '{self.identity}'"


@dataclass
class Row:
    """One implementation, or the model of a mode."""

    name: str
    skipped: str = ""
    """What is missing; empty for a row that ran."""
    required: bool = False
    cases: int = 0
    """Checks made: a case in a layout counts as one."""
    failures: int = 0
    seconds: float = 0.0
    note: str = ""
    stopped: bool = False
    """Whether the run was interrupted before its last check."""

    @property
    def failed(self) -> bool:
        """Whether it counts against the run."""
        return bool(self.failures) or (self.required and bool(self.skipped))

    @property
    def status(self) -> str:
        """The table's last column."""
        if self.skipped:
            return "SKIPPED, required" if self.required else "skipped"
        if self.failures:
            return "FAILED" + (f" ({self.note})" if self.note else "")
        if self.stopped:
            return "stopped"
        return "passed" if self.cases else "not reached"


@dataclass
class Report:
    """A whole run."""

    level: str
    cpu: str
    rows: list[Row]
    seed: int = 0
    findings: list[Finding] = field(default_factory=list)
    """The first ones of each row; `Row.failures` counts all."""
    seconds: float = 0.0
    interrupted: bool = False
    engine: str = "native"
    """What ran the functions: this CPU, or the emulator."""

    @property
    def status(self) -> int:
        """The exit status."""
        if any(row.failed for row in self.rows):
            return FAILED
        return PASSED if self.ran and not self.interrupted else INCOMPLETE

    @property
    def ran(self) -> bool:
        """Whether any implementation was checked; a model alone is none."""
        return any(row.cases for row in self.rows if not row.name.startswith(MODEL))

    def to_json(self) -> dict[str, Any]:
        """Plain values for `json.dumps`."""
        head = {"aeskit_verify": VERSION, "level": self.level, "cpu": self.cpu, "status": self.status}
        head["engine"] = self.engine
        tail = {"seed": self.seed, "seconds": round(self.seconds, 3), "interrupted": self.interrupted}
        rows = [asdict(row) | {"status": row.status} for row in self.rows]
        findings = [asdict(finding) | {"command": finding.command} for finding in self.findings]
        return head | tail | {"rows": rows, "findings": findings}

    def table(self, width: int = 80) -> Table:
        """A row an implementation; where the width is too small for all columns, the result comes first."""
        unlimited = Console(width=1000)
        for numbers in (("checks", "failures", "seconds"), ("checks", "failures"), ("failures",)):
            table = self._table(numbers)
            if unlimited.measure(table).minimum <= width:
                return table
        return self._table((), "fold")

    def _table(self, numbers: tuple[str, ...], overflow: Literal["fold", "ellipsis"] = "ellipsis") -> Table:
        title = f"aeskit verify, {self.level}, seed {self.seed}: {self.cpu}"
        table = Table(title=title, title_justify="left")
        table.add_column("implementation", no_wrap=overflow != "fold", overflow=overflow)
        if self.engine != "native":
            table.pad_edge = False  # 80 columns
            table.add_column("engine")
        for name in numbers:
            table.add_column(name, justify="right", no_wrap=True)
        table.add_column("result", min_width=_RESULT)
        for row in self.rows:
            style = "red" if row.failed else "yellow" if row.skipped or row.stopped or not row.cases else ""
            known = {
                "checks": f"{row.cases:,}",
                "failures": f"{row.failures:,}",
                "seconds": f"{row.seconds:.1f}",
            }
            told = ("" if row.skipped else known[name] for name in numbers)
            engine = "model" if row.name.startswith(MODEL) else self.engine
            engines = () if self.engine == "native" else (engine,)
            table.add_row(row.name, *engines, *told, row.status, style=style)
        return table

    def skips(self) -> list[str]:
        """A line for each kind of thing that is missing: what, and for which rows."""
        missing: dict[str, list[str]] = {}
        for row in self.rows:
            if row.skipped:
                missing.setdefault(row.skipped, []).append(row.name + (" (required)" if row.required else ""))
        return [f"skipped, needs {what}: {', '.join(names)}" for what, names in missing.items()]

    def summary(self) -> str:
        """The last line."""
        checks = sum(row.cases for row in self.rows)
        failures = sum(row.failures for row in self.rows)
        skipped = sum(bool(row.skipped) for row in self.rows)
        stopped = "interrupted after" if self.interrupted else "in"
        nothing = "" if self.ran else "no implementation ran: "
        numbers = f"{checks:,} checks, {failures:,} failures, {skipped} skipped"
        return f"{nothing}{numbers}, {stopped} {self.seconds:.1f} s"
