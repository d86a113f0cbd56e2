"""The command `aeskit prove`: what is asked, a progress bar, a table, the findings, the exit status."""

from __future__ import annotations

import json
import time
from collections import defaultdict
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
from rich.table import Table

from aeskit import contracts
from aeskit.contracts import Contract
from aeskit.machine import stand_ins
from aeskit.printed import fitted, printable, progress, say, write_whole
from aeskit.verify.proving import proofs
from aeskit.verify.proving.cache import Cache, raw_loop
from aeskit.verify.proving.every_length import Closed
from aeskit.verify.proving.proof import Proof
from aeskit.verify.proving.proofs import Target

if TYPE_CHECKING:
    from aeskit.verify.refuted import Refuted

SHOWN = 20
LAYOUTS = {False: "out of place", True: "in place"}
MOST = 1 << 16
"""Bytes of the longest length."""
EXPLAINED = 3
"""Targets of which a counterexample is looked for."""
EVERY, ASKED = "every length", "asked lengths only"
"""What a proof by induction says, and what proofs length by length do."""


def targets(
    names: tuple[str, ...],
    everything: bool,
    contract: str,
    contract_file: str,
    include: tuple[str, ...],
    define: tuple[str, ...],
) -> list[Target]:
    """What is asked: our own names, all of them, or FILE:SYMBOL; ValueError for anything else.

    Ours have the contracts that they promise, or the one that is named.
    """
    if everything and (names or contract):
        raise ValueError("--all is every function of our own with its own contracts: no names, no --contract")
    if everything:
        return proofs.own()
    if not names:
        raise ValueError("name a function of ours or FILE:SYMBOL, or ask for --all")
    out: list[Target] = []
    for name in names:
        path, colon, symbol = name.rpartition(":")
        if not colon:
            mine = proofs.own([name])
            out += [replace(mine[0], contract=contract, contract_file=contract_file)] if contract else mine
            continue
        known = [contract] if contract else [c.name for c in contracts.of(symbol)]
        if not known:
            Target(path, symbol, "", include, define).image().address_of(symbol)
            raise proofs.unpromised(symbol)
        out += [Target(path, symbol, c, include, define, contract_file) for c in known]
    for target in out:
        target.promise()
        target.image().address_of(target.function)
    if len({t.path for t in out}) > 1:
        raise ValueError("functions of one file at a time")
    return out


def lengths(text: str) -> list[int]:
    """``16-1100``, ``16,17,512`` or both; ValueError for anything else."""
    found: set[int] = set()
    for part in text.split(","):
        first, dash, last = part.partition("-")
        if not first.strip().isdigit() or (dash and not last.strip().isdigit()):
            raise ValueError(f"lengths must be numbers and ranges like 16-1100, not {text!r}")
        if dash and int(last) < int(first):
            raise ValueError(f"a range of lengths goes from the least to the greatest: not {part.strip()!r}")
        found.update(range(int(first), min(int(last if dash else first), MOST + 1) + 1))
    if not found or max(found) > MOST:
        raise ValueError(f"lengths must be at most 65536 bytes and at least one, not {text!r}")
    return sorted(found)


def prove(
    asked: list[Target],
    which: list[int],
    key_sizes: list[int],
    workers: int | None,
    cached: bool,
    file: str | None,
    console: Console | None = None,
    every: bool = False,
    everything: bool = False,
) -> int:
    """Prove and show; 0 where everything is proved, 1 where something is not. With `every`, every length.

    Then what has a proof length by length alone is not proved as asked, unless `everything` is asked of our
    own functions, which is as much as each contract can have.
    """
    console = console or Console()
    columns = (
        TextColumn("prove"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    began = time.monotonic()
    closed: list[Closed] = []
    found: list[Proof] = []
    cache = Cache() if cached else None
    with progress(*columns) as bar:
        task = bar.add_task("prove", total=None)

        def told(done: int, total: int) -> None:
            bar.update(task, completed=done, total=total)

        by_induction = [t for t in asked if every and t.promise().has_length and t.promise().inductive]
        if by_induction:
            closed = proofs.close(by_induction, key_sizes, workers, cache, told)
            fine = [c for c in closed if not c.findings]
            below = sorted({*range(max((c.first for c in fine), default=0)), *which})
            found += proofs.prove(by_induction, below, key_sizes, workers, cache, told, fine, which)
        others = [t for t in asked if t not in by_induction]
        for also in sorted({t.promise().also for t in others}):
            some = [t for t in others if t.promise().also == also]
            found += proofs.prove(some, sorted({*which, *also}), key_sizes, workers, cache, told)
    scopes = scope(asked, closed)
    show(found, time.monotonic() - began, console, scopes if every else None)
    refuted = show_refuted(found, asked, console)
    if every:
        show_loops(closed, console)
        show_asked_only(found, scopes, console)
    left = unasked(asked, which, key_sizes, found)
    for line in left:
        say(console, line)
    if file:
        rows = [proof.__dict__ | {"proved": proof.proved} for proof in found]
        loops = [raw_loop(loop) for loop in closed]
        lengths_of = [{"function": f, "contract": c, "lengths": word} for (f, c), word in scopes.items()]
        document: dict[str, Any] = {"aeskit_proofs": 1, "scope": lengths_of, "proofs": rows, "loops": loops}
        document["refuted"] = [asdict(one) for one in refuted]
        write_whole(file, json.dumps(document, indent=1))
    failed = any(not proof.proved for proof in found) or any(c.findings for c in closed)
    short = every and not everything and ASKED in scopes.values()
    return 0 if found and not failed and not left and not short else 1


def scope(asked: list[Target], closed: list[Closed]) -> dict[tuple[str, str], str]:
    """By function and contract, of those with a length: `EVERY` where each of its loops is closed."""
    out = {}
    for target in asked:
        contract = target.promise()
        if contract.has_length:
            loops = [c for c in closed if (c.function, c.contract) == (target.function, contract.name)]
            whole = bool(loops) and not any(loop.findings for loop in loops)
            out[target.function, contract.name] = EVERY if whole else ASKED
    return out


def show_asked_only(found: list[Proof], scopes: dict[tuple[str, str], str], console: Console) -> None:
    """A line for each function that is not proved for every length, though that was asked."""
    names: dict[str, list[str]] = defaultdict(list)
    for (function, contract), word in scopes.items():
        if word == ASKED:
            names[function].append(contract)
    for function, held in names.items():
        sizes = sorted({p.length for p in found if p.function == function and p.contract in held})
        span = f"{sizes[0]} to {sizes[-1]} bytes" if sizes else "no length"
        text = f"NOT every length, {ASKED}: {function} ({', '.join(held)}): {span}"
        say(console, text, "bold yellow")


def unasked(asked: list[Target], which: list[int], key_sizes: list[int], found: list[Proof]) -> list[str]:
    """A sentence for each target of which no proof was asked: its contract has other lengths or keys."""
    out = []
    for target in asked:
        contract = target.promise()
        if any((p.function, p.contract) == (target.function, contract.name) for p in found):
            continue
        sizes = " or ".join(str(8 * n) for n in contract.key_sizes)
        if not set(key_sizes) & set(contract.key_sizes):
            out.append(f"{target.function}: nothing was proved; keys of {contract.name} have {sizes} bits")
        else:
            out.append(f"{target.function}: nothing was proved; {takes(contract, which)}")
    return out


def takes(contract: Contract, which: list[int]) -> str:
    """Which lengths a contract has, and that these are none of them."""
    rule = f"multiples of {contract.multiple}" if contract.multiple > 1 else "any length"
    rule += f" from {contract.minimum} bytes on" if contract.minimum else ", in bytes"
    given = f"{which[0]} to {which[-1]}" if which[1:] else f"{which[0]}"
    return f"{contract.name} takes {rule}, not {given}"


def show_refuted(found: list[Proof], asked: list[Target], console: Console) -> list[Refuted]:
    """A call that shows what is wrong, and the first wrong step, for the first few targets that are."""
    wrong: dict[tuple[str, str], list[Proof]] = defaultdict(list)
    for proof in found:
        if not proof.proved:
            wrong[proof.function, proof.contract].append(proof)
    if not wrong:
        return []
    from aeskit.verify.refuted import explain

    shown = [(t, wrong[name]) for t in asked if (name := (t.function, t.promise().name)) in wrong]
    refuted = [explain(target, failed) for target, failed in shown[:EXPLAINED]]
    for (target, _), one in zip(shown, refuted, strict=False):
        for number, line in enumerate(one.lines()):
            head = f"  {target.function}: " if number == 0 else "    "
            say(console, f"{head}{line}", wrap=False)
    return refuted


def show_loops(closed: list[Closed], console: Console) -> None:
    """What every length rests on: a line a loop, or why it is not closed."""
    lines: dict[str, list[Closed]] = defaultdict(list)
    for loop in closed:
        lines[_line(loop)].append(loop)
    console.print("Every length, below 2^40 bytes, by induction over the main loop:")
    for line, loops in sorted(lines.items()):
        bits = " ".join(str(8 * n) for n in sorted({c.key_size for c in loops}))
        names = " ".join(sorted({c.contract for c in loops}))
        places = " and ".join(
            "in place" if p else "out of place" for p in sorted({c.in_place for c in loops})
        )
        say(console, f"- {line} ({names}; {bits} bits; {places})")
    left = sum(bool(loop.findings) for loop in closed)
    if left:
        console.print(f"Not proved for every length: {left} of {len(closed)} loops are not closed.")


def _line(loop: Closed) -> str:
    if loop.findings:
        return f"{loop.function}: {loop.findings[0]}"
    passes = "" if loop.passes == 1 else f", {loop.passes} passes a step"
    return (
        f"{loop.function}: {loop.stride} bytes a step{passes}; from {loop.first} bytes on by induction, "
        f"below one by one; carried: {carried(loop.carried)}"
    )


def carried(names: tuple[str, ...]) -> str:
    """Registers in short: the stack in bytes, vector registers without their lanes."""
    stack = sum(name.startswith("stack ") for name in names)
    registers = dict.fromkeys(name.split("[")[0] for name in names if not name.startswith("stack "))
    return ", ".join([*registers, *([f"{8 * stack} bytes of the stack"] if stack else [])])


def show(
    found: list[Proof],
    seconds: float,
    console: Console,
    scopes: dict[tuple[str, str], str] | None = None,
) -> None:
    """A row a function, then the findings; `scopes` where every length was asked."""
    table = Table("function and contracts", "bytes", "key bits")
    for name in ("proofs", "cases"):
        table.add_column(name, justify="right")
    table.add_column("result")
    groups: dict[str, list[Proof]] = defaultdict(list)
    for proof in found:
        groups[proof.function].append(proof)
    for function, rows in sorted(groups.items()):
        bits = " ".join(str(8 * n) for n in sorted({p.key_size for p in rows}))
        names = "\n".join(f"  {name}" for name in sorted({p.contract for p in rows}))
        sizes, bad = sorted({p.length for p in rows}), [p for p in rows if not p.proved]
        span = "" if sizes == [0] else f"{sizes[0]} to {sizes[-1]}"
        words = {word for (name, _), word in (scopes or {}).items() if name == function}
        if words:
            span = "every" if words == {EVERY} else f"[yellow]{span} only[/]"
        result = f"[red]{len(bad)} not proved[/]" if bad else "[green]proved[/]"
        counts = str(len(rows)), str(sum(p.cases for p in rows))
        table.add_row(escape(f"{printable(function)}\n{names}"), span, bits, *counts, result)
    console.print(fitted(table, console))
    wrong = sorted((p for p in found if not p.proved), key=lambda p: p.length)
    for proof in wrong[:SHOWN]:
        say(console, printable(f"{proof.title()}: {proof.findings[0]}"))
    if len(wrong) > SHOWN:
        console.print(f"and {len(wrong) - SHOWN} more")
    if found and not wrong:
        console.print(f"{sentence(found, scopes)} {len(found)} proofs, {seconds:.0f} s.")
    called = sorted({name for proof in found for name in proof.stand_ins})
    if called:
        say(console, stand_ins.told(called))


def sentence(found: list[Proof], scopes: dict[tuple[str, str], str] | None = None) -> str:
    """What is proved, where all is: the key sizes, layouts and lengths are named."""
    bits = _listed([str(8 * n) for n in sorted({p.key_size for p in found})])
    layouts = _listed([LAYOUTS[layout] for layout in sorted({p.in_place for p in found})])
    buffers = "buffers apart or equal" if any(p.in_place for p in found) else "buffers apart"
    data = (
        f" and all data of {_lengths(scopes)}, {layouts} ({buffers}),"
        if any(p.length for p in found)
        else ","
    )
    return f"Proved: for every key of {bits} bits, every tweak, IV and counter{data} in this code."


def _lengths(scopes: dict[tuple[str, str], str] | None) -> str:
    words = list((scopes or {}).values())
    if EVERY not in words:
        return "these lengths"
    if ASKED not in words:
        return "every length below 2^40 bytes"
    few, all_ = words.count(ASKED), len(words)
    return f"every length below 2^40 bytes, but of {ASKED} for {few} of {all_} promises"


def _listed(words: list[str]) -> str:
    return " and ".join([", ".join(words[:-1]), words[-1]] if words[1:] else words)
