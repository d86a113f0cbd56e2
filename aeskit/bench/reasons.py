"""What limits an operation where it misses its goal, as the figures of the same run show it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import ceil

from aeskit.bench.goals import BATCH, KEY_BITS, READY, SEQUENCE, STREAMS, Verdict
from aeskit.bench.limit import ROUNDS, Limit, best
from aeskit.bench.table import Row, Run
from aeskit.implementations import ALL

LONG = 4096
"""Bytes of a message whose first and last registers hardly count."""

Reason = Callable[[Run, Row], list[str]]
"""The sentences on a row."""


def reasons(run: Run, verdicts: Sequence[Verdict]) -> list[str]:
    """For each kind, size and width that misses a goal, what limits the direction that misses by more.

    A sentence that has been told is not told again. A noisy figure has no reason but the noise.
    """
    missed = [one for one in verdicts if one.row and not one.met and not one.row.noisy]
    worst: dict[tuple[Reason, int, str], Verdict] = {}
    for verdict in missed:
        if verdict.row:
            kind = _reason(verdict.row), verdict.row.size, verdict.goal.name
            worst[kind] = max(worst.get(kind, verdict), verdict, key=lambda one: one.factor or 0)
    told: set[str] = set()
    found = []
    for (reason, *_), verdict in worst.items():
        sentences = [one for one in reason(run, verdict.row) if one not in told] if verdict.row else []
        told.update(sentences)
        found.append(" ".join(sentences))
    return [text for text in found if text]


def _reason(row: Row) -> Reason:
    for workload, reason in ((BATCH, _batch), (SEQUENCE, _sequence), (STREAMS, _streams)):
        if row.operation.endswith(workload):
            return reason
    mode = row.operation.partition(" ")[0]
    if mode == "xts":
        return _tweaks if row.size >= LONG else _iv
    return {"ctr crypt": _registers, "cbc encrypt": _chain}.get(row.operation, _beside_ecb)


def _iv(run: Run, row: Row) -> list[str]:
    limit, rounds = _narrowest(run, row), ROUNDS[KEY_BITS]
    registers = ceil(row.size // 16 * 16 / limit.vl)
    tail = " and the block that steals" if row.size % 16 else ""
    least = (registers + 1 + bool(tail)) * rounds / limit.rounds_a_cycle
    text = [
        f"XTS of one message: {row.size} bytes are {registers} {limit.width}, with the IV{tail} {least:.0f} "
        f"cycles of the AES units, {row.cycles:.0f} were needed{_ready(run, row)}.",
        f"The IV's rounds wait {rounds * limit.latency:.0f} cycles for each other, in places that older "
        "blocks leave free.",
    ]
    batch, single = _found(run, row.operation + BATCH, 512), _found(run, row.operation, 512)
    if batch and single:
        text.append(
            f"512 bytes: {single.cycles:.0f} cycles, {batch.cycles:.0f} in a batch, whose IVs come first."
        )
    return text


def _tweaks(run: Run, row: Row) -> list[str]:
    wait = ROUNDS[KEY_BITS] * _width(run, row).latency
    return [
        f"XTS of a long message: what it does besides ECB is tweaks and an IV, whose rounds wait {wait:.0f} "
        "cycles for each other.",
        *_beside_ecb(run, row),
    ]


def _ready(run: Run, row: Row) -> str:
    """What the same message takes with an IV that comes encrypted."""
    ready = _found(run, row.operation + READY, row.size, row.name)
    return f", {ready.cycles:.0f} with an IV that comes encrypted" if ready else ""


def _batch(run: Run, row: Row) -> list[str]:
    least = (row.size + 16) / _width(run, row).bytes_a_cycle(KEY_BITS)
    return [
        f"XTS in batches: {row.size} bytes and the block of an IV are {least:.1f} cycles at the limit, "
        f"{row.cycles:.1f} were needed: the rest is a call's start, and IVs at its end that nobody asks for."
    ]


def _sequence(run: Run, row: Row) -> list[str]:
    limit = _width(run, row)
    iv = ROUNDS[KEY_BITS] / limit.rounds_a_cycle
    least = row.size / limit.bytes_a_cycle(KEY_BITS) + iv
    return [
        f"XTS in sequence: the next IV takes {iv:.0f} places of {limit.width} rounds, so {row.size} bytes "
        f"are {least:.0f} cycles at the limit, {row.cycles:.0f} were needed."
    ]


def _registers(run: Run, row: Row) -> list[str]:
    limit = _width(run, row)
    registers = ceil(row.size / limit.vl)
    least = registers * ROUNDS[KEY_BITS] / limit.rounds_a_cycle
    if row.size % limit.vl == 0:
        text = f"CTR: {row.size} bytes are {registers} {limit.width}, {least:.0f} cycles of the AES units; "
        return [f"{text}{row.cycles:.0f} were needed.", *_beside_ecb(run, row)]
    share = row.size / limit.bytes_a_cycle(KEY_BITS) / least
    return [
        f"CTR: a part of a register takes as long as a whole one; {row.size} bytes are {registers} "
        f"{limit.width}, so {least:.0f} cycles or {share:.1%} of the limit at the best; {row.cycles:.0f} "
        "were needed."
    ]


def _streams(run: Run, row: Row) -> list[str]:
    limit = _width(run, row)
    needed = limit.latency * limit.rounds_a_cycle * limit.vl / 16
    return [f"CBC of 16 messages: {needed:.0f} blocks in flight fill the AES units here, 16 are at hand."]


def _chain(run: Run, row: Row) -> list[str]:
    latency = best(run.limits, 16).latency
    return [
        f"CBC encryption: {ROUNDS[KEY_BITS]} rounds of {latency:.2f} cycles a block, one after the other; "
        f"{row.cycles * 16 / row.size:.1f} cycles a block were needed."
    ]


def _beside_ecb(run: Run, row: Row) -> list[str]:
    operation = "ecb " + ("decrypt" if row.operation.endswith("decrypt") else "encrypt")
    ecb = _found(run, operation, row.size, row.name)
    if not ecb:
        return [f"Measure ecb in the same run: what it lacks to the limit, {row.operation} lacks too."]
    return [
        f"{row.name}, {row.size} bytes by {operation}: {ecb.cycles:.0f} cycles, by {row.operation} "
        f"{row.cycles:.0f}{_ready(run, row)}; the difference is what the mode does besides AES: XORs, "
        "shifts, loads."
    ]


def _width(run: Run, row: Row) -> Limit:
    """The limit of the registers that the row's implementation uses."""
    vl = max((one.vl for one in ALL if one.instruction_set == row.name), default=0)
    return next((limit for limit in run.limits if limit.vl == vl), run.limits[-1])


def _narrowest(run: Run, row: Row) -> Limit:
    """The limit of the registers that the row's implementation uses, or of narrower ones that hold it all."""
    limit = _width(run, row)
    return next((one for one in run.limits if row.size <= one.vl < limit.vl), limit)


def _found(run: Run, operation: str, size: int, name: str = "") -> Row | None:
    """The fastest of our own rows, or that of one instruction set."""
    rows = [
        row
        for row in run.rows
        if row.ours and (row.operation, row.size, row.key_bits) == (operation, size, KEY_BITS)
        if name in ("", row.name)
    ]
    return min(rows, key=lambda row: row.cycles, default=None)
