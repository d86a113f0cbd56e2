"""The line of a review on cycles: the function measured by length, beside this CPU's limit."""

from __future__ import annotations

from collections.abc import Sequence

from aeskit.bench import foreign, limit
from aeskit.bench.foreign import Foreign, NotMeasured
from aeskit.bench.measure import measure
from aeskit.contracts import Buffer, Contract, UInt32
from aeskit.cpu import FEATURES, detect
from aeskit.machine.loader import Image
from aeskit.verify.calls import Given, Prepared, prepare
from aeskit.verify.review import code
from aeskit.verify.review.model import OPEN, TOLD, Line

LENGTHS = (16, 64, 128, 256, 512, 1024, 4096)
TOPIC = "cycles"
CAVEAT = (
    "Independent calls, everything in the first-level cache, core cycles. The limit is of "
    "independent blocks: AES rounds alone, in the fastest width up to its widest register."
)
LIMIT_PASSES = 30


def line(image: Image, symbol: str, contract: Contract, lengths: Sequence[int] = LENGTHS) -> Line:
    """Measure; what cannot be measured is said."""
    found = code.read(image, symbol)
    cpu = detect()
    missing = cpu.missing(tuple(name for name in found.features if name in FEATURES))
    if missing:
        return Line(TOPIC, OPEN, "not measured", f"this CPU lacks {', '.join(missing)}", CAVEAT)
    sizes = [n for n in lengths if n in contract.lengths(n, n)] if contract.has_length else [0]
    key_size = max(contract.key_sizes)
    calls = [_foreign(prepare(image, symbol, contract, Given(n, key_size))) for n in sizes]
    sections = [(section.address, bytes(section.data)) for section in image.sections]
    try:
        taken = foreign.measure(sections, found.entry, calls)
    except NotMeasured as error:
        return Line(TOPIC, OPEN, "not measured", str(error), CAVEAT)
    best = limit.best(limit.limits(cpu, measure(limit.calls(cpu), LIMIT_PASSES)), _width(found))
    most = best.bytes_a_cycle(8 * key_size) if key_size in (16, 24, 32) else 0.0
    details = tuple(_row(n, one, most) for n, one in zip(sizes, taken, strict=True))
    text = f"{contract.name}, AES-{8 * key_size}"
    if most and sizes[-1]:
        part = sizes[-1] / taken[-1].cycles / most
        text += f": {100 * part:.0f} % of this CPU's limit at {sizes[-1]:,} bytes"
    else:
        text += f": {taken[-1].cycles:,.0f} cycles"
    evidence = (
        f"{cpu.name}: the fastest of {foreign.PASSES} passes; limit {most:.2f} bytes a cycle in {best.width}"
    )
    return Line(TOPIC, TOLD, text, evidence, CAVEAT, details)


def _width(found: code.Code) -> int:
    """Bytes of the widest vector register."""
    operands = (o for i in found.instructions.values() for o in i.operands)
    return max((o.size for o in operands if isinstance(o, code.d.Vector)), default=16)


def _row(length: int, taken: foreign.Taken, most: float) -> str:
    rate = length / taken.cycles if taken.cycles else 0.0
    part = f", {100 * rate / most:.0f} % of the limit" if most and length else ""
    noisy = ", noisy" if taken.noisy else ""
    size = f"{length:,} bytes: " if length else ""
    return f"{size}{taken.cycles:,.0f} cycles, {rate:.2f} bytes a cycle{part}{noisy}"


def _foreign(prepared: Prepared) -> Foreign:
    buffers = {buffer.name: bytes(buffer.data).hex() for buffer in prepared.call.buffers}
    return Foreign(buffers, tuple(_argument(value) for value in prepared.call.registers))


def _argument(value: Buffer | UInt32 | int) -> int | str:
    if isinstance(value, Buffer):
        return value.name
    return value.value if isinstance(value, UInt32) else int(value)
