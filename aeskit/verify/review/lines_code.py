"""The lines of a review on a function's bytes: alignment, CPU features, sizes, what stays behind."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from aeskit.cpu import detect
from aeskit.machine import stand_ins
from aeskit.verify.review import code as static
from aeskit.verify.review.known import Known, some
from aeskit.verify.review.model import FAILS, HOLDS, OPEN, TOLD, Line, count

_NUMBER = re.compile(r"(\d+)")
ALIGNED = {
    "stack": "The ABI has the stack at a multiple of 16 at each call; for more a function must align its own."
}
"""Why some memory may be taken as aligned."""
_LANE = re.compile(r"[xz]mm(\d+)(?:\[(\d)\])?")


def alignment(known: Known) -> Line:
    """Instructions that need alignment, and what they touched."""
    code, topic = known.code, "alignment"
    needing, read = code.aligned, f"{count(len(code.instructions), 'instruction')} read"
    caveat = "An instruction that needs alignment faults without it (SDM volume 1, 4.1.1)."
    if not needing:
        return Line(topic, HOLDS, "no instruction needs its memory aligned", read, caveat)
    ran = known.runs.aligned
    told, wrong = [], False
    for instruction in needing:
        places = sorted(ran.get(instruction.address, {"not run"}))
        wrong |= any("not aligned" in place for place in places)
        told.append(f"{instruction.where()}: {', '.join(places)}")
    evidence = f"{read}, {count(known.runs.count, 'recorded run')}"
    text = f"{count(len(needing), 'instruction')} need aligned memory"
    touched = sorted({place for places in ran.values() for place in places})
    text += f": of {', '.join(touched)}" if touched else ""
    known_by = [ALIGNED[place] for place in touched if place in ALIGNED]
    return Line(topic, TOLD, text, evidence, " ".join([caveat, *known_by]), some(told))


def features(known: Known) -> Line:
    """What the bytes need, beside what is declared."""
    code, topic = known.code, "CPU features"
    needs = code.features
    text = f"the bytes need {', '.join(needs)}" if needs else "the bytes need nothing beyond x86-64"
    evidence = f"the decoder's tables (iced-x86), {count(len(code.instructions), 'instruction')}"
    caveat = "Wide registers need the operating system's consent as well (XGETBV)."
    lacking = detect().missing(needs)
    if lacking:
        caveat += f" This CPU lacks {', '.join(lacking)}."
    if known.declared is None:
        return Line(topic, TOLD, text, evidence, f"What is declared is not known. {caveat}")
    have = static.covered(known.declared)
    missing = [name for name in needs if name not in have]
    spare = [n for n in known.declared if n not in static.covered(needs)]
    evidence += f"; declared by {known.declared_by}: {', '.join(known.declared) or 'nothing'}"
    guessed = "guess" in known.declared_by
    if missing:
        text += f"; not declared: {', '.join(missing)}"
        details = tuple(f"{n}: {code.first_of(n).where()}" for n in missing)
        return Line(topic, TOLD if guessed else FAILS, text, evidence, caveat, details)
    if guessed:
        return Line(topic, TOLD, f"{text}: its name says no less", evidence, caveat)
    text += f"; declared and not needed: {', '.join(spare)}" if spare else ", all declared"
    return Line(topic, HOLDS, text, evidence, caveat)


def landing_pad(known: Known) -> Line:
    """endbr64, and jumps through tables."""
    code = known.code
    evidence = f"the first bytes: {code.image.code_at(code.entry, 4).hex(' ')}"
    caveat = "Asked for where the function is called through a pointer and IBT is on."
    if known.file.endswith((".S", ".s")):
        caveat += " Macros of include files may add one that our stand-ins do not."
    jumps = [i for i in code.indirect if i.mnemonic == "jmp"]
    details = tuple(f"a jump through a table or register: {text}" for text in static.lines_of(jumps, 3))
    if code.landing_pad:
        return Line("landing pad", HOLDS, "begins with endbr64", evidence, caveat, details)
    return Line("landing pad", TOLD, "does not begin with endbr64", evidence, caveat, details)


def unwind(known: Known) -> Line:
    """The table that debuggers, profilers and exceptions walk the stack by."""
    topic, table = "unwind table", known.runs.unwind
    caveat = "For user space: kernels walk their stacks by tables of their own (ORC)."
    if not known.runs.count:
        return Line(topic, OPEN, "not known without a contract", "", "")
    if table.missing:
        return Line(topic, OPEN, "not read", f".eh_frame: {table.missing}", caveat)
    if not table.rows:
        evidence = "the file's .eh_frame" if table.present else "the file has no .eh_frame"
        moves = ", which moves the stack pointer" if known.runs.stack > known.runs.red_zone else ""
        return Line(topic, TOLD, f"none covers the function{moves}", evidence, caveat)
    ran = f"{count(table.checked, 'instruction')} in {count(known.runs.count, 'recorded run')}"
    evidence = f"the file's .eh_frame, {count(len(table.rows), 'row')}, held against {ran}"
    if not table.wrong:
        text = "it names the frame and the caller's registers before every instruction that ran"
        return Line(topic, HOLDS, text, evidence, caveat)
    code = known.code.instructions
    told = [f"{code[at].where() if at in code else hex(at)}: {what}" for at, what in table.wrong.items()]
    text = f"it is wrong before {count(len(told), 'instruction')}"
    return Line(topic, FAILS, text, evidence, caveat, some(told, 3))


def sizes(known: Known) -> Line:
    """Bytes of code and stack, and what never ran."""
    code, runs = known.code, known.runs
    text = f"{count(code.size, 'byte')} of code in {count(len(code.instructions), 'instruction')}"
    text += f", {count(runs.stack, 'byte')} of stack" if runs.count else ""
    text += f", {runs.red_zone:,} of them below the stack pointer" if runs.red_zone else ""
    evidence = f"every instruction that can be reached; {count(runs.count, 'recorded run')}"
    never = sorted(set(code.instructions) - runs.ran) if runs.count else []
    details = []
    if runs.blocks:
        longest = max(runs.blocks)
        size = f" for {longest:,} bytes" if known.has_length else ""
        details.append(f"{count(runs.blocks[longest], 'instruction')} run{size}")
    if never:
        first = code.instructions[never[0]].where()
        which = "first " * (len(never) > 1)
        details.append(f"{count(len(never), 'instruction')} never ran in the recorded runs, {which}{first}")
    details += list(code.problems)
    caveat = "Kernel code must not use the red zone." if runs.red_zone else "Callees in the file are counted."
    return Line("size", TOLD, text, evidence, caveat, tuple(details))


def called(known: Known) -> Iterator[Line]:
    """Functions of others that stand-ins were run for; nothing where there are none."""
    if known.stand_ins:
        caveat = "What the linker puts there is not what was run here."
        yield Line("called", TOLD, stand_ins.told(known.stand_ins), "the proofs", caveat)


def left(known: Known) -> Line:
    """Values of the model that stay in registers and in the frame."""
    runs, topic = known.runs, "left behind"
    evidence = f"registers and frame after {count(runs.left_runs, 'recorded run')}, held against the model"
    caveat = "For information: the ABI asks for no clearing."
    if not runs.left_runs:
        why = "no run returned" if known.promises else "not known without a contract"
        return Line(topic, OPEN, why, "", caveat)
    places = _places(runs.left)
    if not places:
        return Line(
            topic, TOLD, "no key, tweak or block is left in registers or on the stack", evidence, caveat
        )
    told = [f"{place}: {_few(sorted(names))}" for place, names in sorted(places.items(), key=_natural)]
    keys = sum(any("K" in name for name in names) for names in places.values())
    frame = " or stack slots" * any("return address" in place for place in places)
    text = f"{count(len(places), 'register')}{frame} hold{'s' * (len(places) == 1)} values of the model"
    text += f", {keys} of them round keys or sums with one" if keys else ", none of them a round key"
    if keys:
        caveat += " A round key gives an AES-128 key back, two in a row any key."
    return Line(topic, TOLD, text, evidence, caveat, some(told, 12))


def _places(left: Iterable[str]) -> dict[str, set[str]]:
    """``xmm1 = T_0`` and ``zmm1[2] = T_8`` as zmm1 to both names: of a register the part that holds any."""
    lanes: dict[str, int] = {}
    found: dict[str, set[str]] = {}
    for text in left:
        place, _, name = text.partition(" = ")
        lane = _LANE.fullmatch(place)
        key = lane[1] if lane else place
        lanes[key] = max(lanes.get(key, 0), int(lane[2] or 0) if lane else -1)
        found.setdefault(key, set()).add(name)
    letters = {-1: "", 0: "xmm", 1: "ymm"}
    return {f"{letters.get(lanes[key], 'zmm')}{key}": names for key, names in found.items()}


def _few(names: Sequence[str], most: int = 6) -> str:
    """The first names in the order of their numbers."""
    ordered = sorted(
        names, key=lambda name: [int(part) if part.isdigit() else 0 for part in _NUMBER.split(name)]
    )
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(ordered[:most]) + more


def _natural(item: tuple[str, set[str]]) -> tuple[int, str]:
    return len(item[0]), item[0][1:]
