"""What `aeskit info` tells: the CPU, every implementation on it, and what this installation stands on."""

from __future__ import annotations

import dataclasses
import os
import platform
import re
from importlib import metadata
from typing import Any

import aeskit
from aeskit import implementations
from aeskit._native import ffi, lib
from aeskit.cpu import CPU, FEATURES, detect
from aeskit.implementations import ALL, ONLY_BY_NAME, Implementation

WIDTH = 100
"""Columns that the text form fits."""
ROOMY = 70
"""Columns from which an implementation's name is never folded."""


def gather(cpu: CPU | None = None, force: str | None = None) -> dict[str, Any]:
    """Everything as plain JSON values; `force` is what AESKIT_IMPLEMENTATION asks for."""
    cpu = cpu or detect()
    chosen, refusals = _choices(cpu, force)
    return {
        "aeskit": aeskit.__version__,
        "cpu": {
            **dataclasses.asdict(cpu),
            "features": [name for name in FEATURES if name in cpu.features],
            "disabled": [name for name in FEATURES if name in cpu.disabled],
        },
        "requested": force,
        "refusals": refusals,
        "implementations": [_row(row, cpu, row.name in chosen) for row in ALL],
        "versions": _versions(),
        "missing": _missing_extras(),
    }


def _choices(cpu: CPU, force: str | None) -> tuple[set[str], list[str]]:
    """Names chosen for each mode and direction, and why there is none where there is none."""
    chosen, refusals = set(), []
    for mode, direction in dict.fromkeys((row.mode, row.direction) for row in ALL):
        try:
            asked = None if mode == "keys" else implementations.for_mode(mode, force)
            chosen.add(implementations.choose(mode, direction, cpu, asked).name)
        except ValueError as error:
            refusals.append(str(error))
    return chosen, list(dict.fromkeys(refusals))


def _row(row: Implementation, cpu: CPU, chosen: bool) -> dict[str, Any]:
    missing = list(row.can(cpu))
    state = {"built": row.built, "missing": missing, "can": row.built and not missing}
    return {**dataclasses.asdict(row), **state, "should": row.should(cpu), "chosen": chosen}


def _versions() -> dict[str, str]:
    """Name to version of what is installed, in the order of pyproject.toml; "" for what is not."""
    found = {"Python": platform.python_version(), "compiler": ffi.string(lib.core_compiler()).decode()}
    for name, extra in _requirements():
        if extra != "dev":
            found[name] = _version(name)
        if name == "cryptography" and found[name]:
            found["OpenSSL"] = _openssl()
    return found


def _missing_extras() -> dict[str, list[str]]:
    """Extra to those of its packages that are not installed."""
    missing: dict[str, list[str]] = {}
    for name, extra in _requirements():
        if extra not in ("", "dev") and not _version(name):
            missing.setdefault(extra, []).append(name)
    return missing


def _requirements() -> list[tuple[str, str]]:
    """Each package that pyproject.toml names, with its extra or ""."""
    try:
        lines = metadata.requires("aeskit") or []
    except metadata.PackageNotFoundError:
        return []
    extra = re.compile(r"extra == [\"'](\w+)[\"']")
    return [(re.split(r"[^\w.-]", line)[0], (extra.findall(line) or [""])[0]) for line in lines]


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return ""


def _openssl() -> str:
    from cryptography.hazmat.backends.openssl import backend

    return backend.openssl_version_text().removeprefix("OpenSSL ")


def render(found: dict[str, Any]) -> None:
    """Print what `gather` gives: tables on a terminal, plain text elsewhere."""
    from rich import box
    from rich.console import Console
    from rich.table import Table

    console = Console(highlight=False)
    told = console.is_terminal or "COLUMNS" in os.environ
    console = Console(highlight=False, width=min(console.width, WIDTH) if told else WIDTH)
    console.print(_cpu_lines(found), markup=False)
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, padding=(0, 1, 0, 0))
    roomy = console.width >= ROOMY
    for title, least in (("implementation", 12), ("can", 5), ("should", 6), ("chosen", 6)):
        whole = roomy and title != "can"
        table.add_column(title, overflow="fold", min_width=least, no_wrap=whole)
    for number, row in enumerate(rows := found["implementations"]):
        last = number + 1 == len(rows) or rows[number + 1]["mode"] != row["mode"]
        style = "bold" if row["chosen"] else "dim" if not row["can"] else ""
        table.add_row(row["name"], *_cells(row), style=style, end_section=last)
    console.print("", table, "")
    console.print(_version_lines(found), markup=False)


def _cpu_lines(found: dict[str, Any]) -> str:
    cpu = found["cpu"]
    signature = (
        f"{cpu['vendor']} family {cpu['family']:#x} model {cpu['model']:#x} stepping {cpu['stepping']}"
    )
    lines = [f"aeskit {found['aeskit']} on {cpu['name']}" + (f" ({signature})" if cpu["vendor"] else "")]
    lines.append("features: " + (" ".join(cpu["features"]) or "none that aeskit uses"))
    if cpu["disabled"]:
        lines.append("not enabled by the operating system: " + " ".join(cpu["disabled"]))
    if not any(row["built"] for row in found["implementations"]):
        lines.append("no implementation is built here; the models, the views and the vectors need none")
    elif found["requested"]:
        lines += [f"{implementations.VARIABLE}={found['requested']}", *found["refusals"]]
    return "\n".join(lines)


def _cells(row: dict[str, Any]) -> tuple[str, str, str]:
    """Can, should, chosen."""
    can = (
        "yes" if row["can"] else "not built here" if not row["built"] else "needs " + " ".join(row["missing"])
    )
    should = "by name" if row["should"] == ONLY_BY_NAME else str(row["should"])
    return can, should, "chosen" if row["chosen"] else ""


def _version_lines(found: dict[str, Any]) -> str:
    installed = [f"{name} {version}" for name, version in found["versions"].items() if version]
    missing = [
        f"{', '.join(names)}: missing; pip install 'aeskit[{extra}]'"
        for extra, names in found["missing"].items()
    ]
    return "\n".join(["stands on " + ", ".join(installed), *missing])
