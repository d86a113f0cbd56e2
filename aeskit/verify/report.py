"""What a run found: rows and findings, as a table, as JSON, as an exit status."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from rich.table import Table

VERSION = 1
"""Of the JSON form."""

PASSED, FAILED, INCOMPLETE = 0, 1, 2
"""Exit status: all passed; a finding, or a required thing skipped; stopped before the end, or misused."""


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
        ran = any(row.cases for row in self.rows)
        return PASSED if ran and not self.interrupted else INCOMPLETE

    def to_json(self) -> dict[str, Any]:
        """Plain values for `json.dumps`."""
        head = {"aeskit_verify": VERSION, "level": self.level, "cpu": self.cpu, "status": self.status}
        head["engine"] = self.engine
        tail = {"seed": self.seed, "seconds": round(self.seconds, 3), "interrupted": self.interrupted}
        rows = [asdict(row) | {"status": row.status} for row in self.rows]
        findings = [asdict(finding) | {"command": finding.command} for finding in self.findings]
        return head | tail | {"rows": rows, "findings": findings}

    def table(self) -> Table:
        """A row an implementation."""
        title = f"aeskit verify, {self.level}, seed {self.seed}: {self.cpu}"
        table = Table(title=title, title_justify="left")
        table.add_column("implementation", no_wrap=True)
        if self.engine != "native":
            table.pad_edge = False  # 80 columns
            table.add_column("engine")
        for name in ("checks", "failures", "seconds"):
            table.add_column(name, justify="right")
        table.add_column("result")
        for row in self.rows:
            style = "red" if row.failed else "yellow" if row.skipped or not row.cases else ""
            numbers = (
                ("", "", "") if row.skipped else (f"{row.cases:,}", f"{row.failures:,}", f"{row.seconds:.1f}")
            )
            engine = "model" if row.name.startswith("model_") else self.engine
            engines = () if self.engine == "native" else (engine,)
            table.add_row(row.name, *engines, *numbers, row.status, style=style)
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
        return f"{checks:,} checks, {failures:,} failures, {skipped} skipped, {stopped} {self.seconds:.1f} s"
