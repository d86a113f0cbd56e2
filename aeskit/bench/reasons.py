"""What limits an operation where it misses its goal, as the figures of the same run show it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import ceil

from aeskit.bench.goals import BATCH, KEY_BITS, SEQUENCE, STREAMS, Verdict
from aeskit.bench.limit import ROUNDS, Limit, best
from aeskit.bench.table import Row, Run
from aeskit.implementations import ALL

LONG = 4096
"""Bytes of a message whose first and last registers hardly count."""

Reason = Callable[[Run, Row], str]


def reasons(run: Run, verdicts: Sequence[Verdict]) -> list[str]:
    """A sentence for each kind of operation that was measured and misses a goal, of its worst miss.

    A noisy figure has no reason but the noise.
    """
    missed = [one for one in verdicts if one.row and not one.met and not one.row.noisy]
    missed.sort(key=lambda verdict: verdict.factor or 0, reverse=True)
    worst: dict[Reason, Row] = {}
    for verdict in missed:
        if verdict.row:
            worst.setdefault(_reason(verdict.row), verdict.row)
    return [reason(run, row) for reason, row in worst.items()]


def _reason(row: Row) -> Reason:
    for workload, reason in ((BATCH, _batch), (SEQUENCE, _sequence), (STREAMS, _streams)):
        if row.operation.endswith(workload):
            return reason
    mode = row.operation.partition(" ")[0]
    if mode == "xts":
        return _tweaks if row.size >= LONG else _iv
    return {"ctr crypt": _registers, "cbc encrypt": _chain}.get(row.operation, _beside_ecb)


def _iv(run: Run, row: Row) -> str:
    limit, rounds = _width(run, row), ROUNDS[KEY_BITS]
    registers = ceil(row.size // 16 * 16 / limit.vl)
    tail = " and the block that steals" if row.size % 16 else ""
    least = (registers + 1 + bool(tail)) * rounds / limit.rounds_a_cycle
    text = (
        f"XTS of one message: {row.size} bytes are {registers} {limit.width}, with the IV{tail} {least:.0f} "
        f"cycles of the AES units, {row.cycles:.0f} were needed. The IV's rounds wait "
        f"{rounds * limit.latency:.0f} cycles for each other, in places that older blocks leave free."
    )
    batch, single = _found(run, row.operation + BATCH, 512), _found(run, row.operation, 512)
    if batch and single:
        text += (
            f" 512 bytes: {single.cycles:.0f} cycles, {batch.cycles:.0f} in a batch, whose IVs come first."
        )
    return text


def _tweaks(run: Run, row: Row) -> str:
    return "XTS of a long message: all that it does besides ECB is tweaks. " + _beside_ecb(run, row)


def _batch(run: Run, row: Row) -> str:
    least = (row.size + 16) / _width(run, row).bytes_a_cycle(KEY_BITS)
    return (
        f"XTS in batches: {row.size} bytes and the block of an IV are {least:.1f} cycles at the limit, "
        f"{row.cycles:.1f} were needed: the rest is a call's start, and IVs at its end that nobody asks for."
    )


def _sequence(run: Run, row: Row) -> str:
    limit = _width(run, row)
    iv = ROUNDS[KEY_BITS] / limit.rounds_a_cycle
    least = row.size / limit.bytes_a_cycle(KEY_BITS) + iv
    return (
        f"XTS in sequence: the next IV takes {iv:.0f} places of {limit.width} rounds, so {row.size} bytes "
        f"are {least:.0f} cycles at the limit, {row.cycles:.0f} were needed."
    )


def _registers(run: Run, row: Row) -> str:
    limit = _width(run, row)
    registers = ceil(row.size / limit.vl)
    least = registers * ROUNDS[KEY_BITS] / limit.rounds_a_cycle
    share = row.size / limit.bytes_a_cycle(KEY_BITS) / least
    return (
        f"CTR: a part of a register takes as long as a whole one; {row.size} bytes are {registers} "
        f"{limit.width}, so {least:.0f} cycles or {share:.1%} of the limit at the best; {row.cycles:.0f} "
        "were needed."
    )


def _streams(run: Run, row: Row) -> str:
    limit = _width(run, row)
    needed = limit.latency * limit.rounds_a_cycle * limit.vl / 16
    return f"CBC of 16 messages: {needed:.0f} blocks in flight fill the AES units here, 16 are at hand."


def _chain(run: Run, row: Row) -> str:
    latency = best(run.limits, 16).latency
    return (
        f"CBC encryption: {ROUNDS[KEY_BITS]} rounds of {latency:.2f} cycles a block, one after the other; "
        f"{row.cycles * 16 / row.size:.1f} cycles a block were needed."
    )


def _beside_ecb(run: Run, row: Row) -> str:
    operation = "ecb " + row.operation.split()[1]
    ecb = _found(run, operation, row.size)
    if not ecb:
        return f"Measure ecb in the same run: what it lacks to the limit, {row.operation} lacks too."
    return (
        f"{row.size} bytes by {operation}: {ecb.cycles:.0f} cycles, by {row.operation} {row.cycles:.0f}; the "
        "difference are XORs and shifts that take places from AES."
    )


def _width(run: Run, row: Row) -> Limit:
    """The limit of the registers that the row's implementation uses."""
    vl = max((one.vl for one in ALL if one.instruction_set == row.name), default=0)
    return next((limit for limit in run.limits if limit.vl == vl), run.limits[-1])


def _found(run: Run, operation: str, size: int) -> Row | None:
    """The fastest of our own rows."""
    rows = [
        row
        for row in run.rows
        if row.ours and (row.operation, row.size, row.key_bits) == (operation, size, KEY_BITS)
    ]
    return min(rows, key=lambda row: row.cycles, default=None)
