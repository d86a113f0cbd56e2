"""The lines of a review, out of proofs, runs, hardware and the code's bytes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from aeskit.contracts import Contract, UInt32
from aeskit.cpu import detect
from aeskit.verify.review import code as static
from aeskit.verify.review import proved
from aeskit.verify.review.code import Code
from aeskit.verify.review.hardware import Hardware
from aeskit.verify.review.model import FAILS, HOLDS, OPEN, TOLD, Cell, Line, count, spans
from aeskit.verify.review.runs import Runs

MOST = 6
"""Details of a line."""
PROOF_CAVEAT = (
    "Rests on the decoder, the semantics table and the models (SOUNDNESS.md); says nothing of other lengths."
)
RUN_CAVEAT = "Runs show that something is wrong, never that nothing is."


@dataclass
class Known:
    """All that was found out about a function."""

    code: Code
    promises: Sequence[Contract]
    matrix: list[Cell] = field(default_factory=list)
    lengths: Sequence[int] = ()
    runs: Runs = field(default_factory=Runs)
    hardware: Hardware = field(default_factory=Hardware)
    counterexample: tuple[str, ...] = ()
    """One call that shows a wrong result, and the command that shows it again."""
    declared: tuple[str, ...] | None = None
    declared_by: str = ""
    narrow: bool = False
    """Whether a contract has 32-bit arguments."""
    file: str = ""


def lines(known: Known) -> list[Line]:
    """Every line, in the order of a report."""
    return [
        _proof(known),
        _layouts(known),
        _memory(known),
        _secrets(known),
        _abi(known),
        _upper_arguments(known),
        _vzeroupper(known),
        _unset(known),
        _alignment(known),
        _features(known),
        _landing_pad(known),
        _sizes(known),
        _left(known),
    ]


def narrow(registers: Sequence[object]) -> bool:
    """Whether some argument is of 32 bits."""
    return any(isinstance(value, UInt32) for value in registers)


# ---- Proof and runs -----------------------------------------------------------------------------------


def _matrix_text(matrix: Sequence[Cell]) -> str:
    bits = "/".join(str(n) for n in sorted({cell.key_bits for cell in matrix}))
    lengths = spans([cell.length for cell in matrix])
    places = sorted({cell.in_place for cell in matrix})
    layout = " and ".join("in place" if place else "out of place" for place in places)
    return f"AES-{bits}, {lengths} bytes, {layout}"


def _proof(known: Known) -> Line:
    matrix, topic = known.matrix, "proof"
    runs = _some([str(said) for said in known.runs.of("result")], 3)
    if not matrix:
        return Line(topic, OPEN, "nothing was proved: no contract", "", "", runs)
    wrong, stopped = proved.of(matrix, "result"), [c for c in matrix if not proved.complete(c)]
    evidence = f"{count(len(matrix), 'proof')} over GF(2): {_matrix_text(matrix)}"
    if wrong or runs:
        at = f" at {spans([cell.length for cell in wrong])} bytes" if wrong else " in runs"
        text = f"the result is not the model's{at}"
        details = (*proved.details(wrong, "result"), *known.counterexample, *runs)
        return Line(topic, FAILS, text, evidence, PROOF_CAVEAT, details)
    if not stopped:
        text = "the result is the model's, for every key, tweak and IV, and all data of these lengths"
        return Line(topic, HOLDS, text, evidence, PROOF_CAVEAT)
    text = f"{len(stopped):,} of {count(len(matrix), 'proof')} stop at what another line tells"
    if proved.of(matrix, "open"):
        text = f"{len(stopped):,} of {count(len(matrix), 'proof')} leave what can be proved"
    good = [cell.length for cell in matrix if proved.complete(cell)]
    text += f"; the result is proved at {spans(good)} bytes" if good else ""
    return Line(topic, OPEN, text, evidence, PROOF_CAVEAT, proved.details(matrix, "open"))


def _layouts(known: Known) -> Line:
    found, topic = known.hardware, "hardware"
    if not found.engine:
        why = found.missing or "no contract"
        return Line(topic, OPEN, "not run on hardware", why, "")
    evidence = (
        f"{count(found.calls, 'call')} on {found.engine}, {count(found.steps, 'instruction')}: "
        f"{count(len(found.layouts), 'layout')} at {spans(sorted(found.lengths))} bytes"
    )
    caveat = (
        "Beyond a buffer at a guard page nothing is mapped; elsewhere what lies behind it in the page is."
    )
    if found.missing:
        caveat = f"Not on silicon: {found.missing}. {caveat}"
    by_call: dict[str, str] = {}
    for kind, text in found.findings:
        if kind != "abi":
            by_call.setdefault(text.split(":")[0], text)
    texts = list(by_call.values())
    if texts:
        text = f"{len(texts)} of {count(found.calls, 'call')} go wrong"
        return Line(topic, FAILS, text, evidence, caveat, _some(texts, 4))
    text = "right out of place and in place, off alignment, and with guard pages at both ends"
    return Line(topic, HOLDS, text, evidence, caveat)


def _some(texts: Sequence[str], most: int = MOST) -> tuple[str, ...]:
    more = (f"and {len(texts) - most} more",) if len(texts) > most else ()
    return (*texts[:most], *more)


def _by_both(known: Known, topic: str, kinds: tuple[str, ...], good: str, bad: str, caveat: str) -> Line:
    """A line that proofs answer for all inputs, and runs for theirs."""
    cells, said = proved.of(known.matrix, *kinds), [str(s) for s in known.runs.of(*kinds)]
    stopped = [cell for cell in known.matrix if not proved.complete(cell)]
    evidence = f"{count(len(known.matrix), 'proof')}, {count(known.runs.count, 'recorded run')}"
    if cells or said:
        return Line(topic, FAILS, bad, evidence, caveat, (*proved.details(cells, *kinds), *_some(said, 2)))
    if not known.matrix and not known.runs.count:
        return Line(topic, OPEN, "not known without a contract", "", "")
    if stopped:
        where = f"{len(stopped):,} of {count(len(known.matrix), 'proof')} stop before the return"
        return Line(topic, OPEN, f"nothing found in what ran, but {where}", evidence, caveat)
    return Line(topic, HOLDS, good, evidence, caveat)


def _memory(known: Known) -> Line:
    return _by_both(
        known,
        "memory",
        ("memory",),
        "no byte outside the contract's buffers, the frame and the code's constants is read or written",
        "memory is touched that the contract does not give",
        "To the byte, at the lengths of the matrix.",
    )


def _secrets(known: Known) -> Line:
    caveat = "Speculation, faults, power and instructions whose time depends on data are not looked at."
    cells, said = proved.of(known.matrix, "secret"), [str(one) for one in known.runs.of("secret")]
    evidence = f"{count(len(known.matrix), 'proof')}: keys, data, tweaks and IVs are unknown in them"
    if known.runs.compared:
        evidence += f"; {count(known.runs.compared, 'run')} with other keys and data compared step by step"
    if cells or said:
        text = "a branch or an address depends on a secret"
        details = (*proved.details(cells, "secret"), *_some(said, 2))
        return Line("secrets", FAILS, text, evidence, caveat, details)
    stopped = [cell for cell in known.matrix if not proved.complete(cell)]
    if not known.matrix:
        return Line("secrets", OPEN, "not known without a contract", "", caveat)
    if stopped:
        text = (
            f"none found, but {len(stopped):,} of {count(len(known.matrix), 'proof')} stop before the return"
        )
        return Line("secrets", OPEN, text, evidence, caveat)
    text = (
        "no branch and no address depends on key, data, tweak or IV; lengths, flags and counters are public"
    )
    return Line("secrets", HOLDS, text, evidence, caveat)


def _upper_arguments(known: Known) -> Line:
    if not known.narrow:
        text = "the contract has no 32-bit argument"
        return Line("32-bit arguments", TOLD, text, "the contract's signature")
    line = _by_both(
        known,
        "32-bit arguments",
        ("upper",),
        "the upper halves of 32-bit arguments do not matter",
        "the upper half of a 32-bit argument matters: it is undefined",
        "System V AMD64 ABI, 3.2.3: a caller need not clear them.",
    )
    made = f"{line.evidence}, {known.runs.wide_arguments} of the runs repeated with clean upper halves"
    return Line(line.topic, line.verdict, line.text, made, line.caveat, line.details)


# ---- The ABI ------------------------------------------------------------------------------------------


def _abi(known: Known) -> Line:
    code = known.code
    static_faults = [
        f"{what}: {text}"
        for what, names in (("sets the direction flag", ("std",)), ("changes MXCSR", ("ldmxcsr",)))
        for text in static.lines_of(code.with_mnemonic(*names), 2)
    ]
    if any("mm" in o for i in code.instructions.values() for o in i.writes if o[:2] == "mm"):
        emptied = code.with_mnemonic("emms", "femms")
        static_faults += [] if emptied else ["MMX registers are used and emms is missing"]
    line = _by_both(
        known,
        "ABI",
        ("abi",),
        "callee-saved registers, stack pointer and the caller's stack are kept, the direction flag is clear",
        "what a function must keep is changed",
        "System V AMD64 ABI, 3.2.1. The unwind tables (CFI) are not read.",
    )
    told = [text for kind, text in known.hardware.findings if kind == "abi"]
    details = (*line.details, *static_faults, *_some(told, 1))
    failing = bool(static_faults or told)
    text = "what a function must keep is changed" if failing else line.text
    evidence = (
        f"{line.evidence}, {count(known.hardware.calls, 'call')} on hardware, and every instruction read"
    )
    return Line(line.topic, FAILS if failing else line.verdict, text, evidence, line.caveat, details)


def _vzeroupper(known: Known) -> Line:
    code, topic = known.code, "vzeroupper"
    wide = [i for i in code.instructions.values() if _is_wide(i)]
    read = f"{count(len(code.instructions), 'instruction')} read"
    if not wide:
        return Line(topic, TOLD, "not needed: no VEX or EVEX instruction writes more than an xmm", read)
    said = known.runs.of("vzeroupper")
    caveat = "SSE code behind dirty upper halves waits for them (SDM volume 1, 14.3); the result stays right."
    evidence = f"{count(known.runs.count, 'recorded run')}, {read}"
    if said:
        text = "upper halves of registers are left dirty at a return"
        return Line(topic, FAILS, text, evidence, caveat, _some([str(s) for s in said]))
    if not known.runs.count:
        present = bool(code.with_mnemonic("vzeroupper", "vzeroall"))
        text = f"{'there is one' if present else 'there is none'}; whether every return has it was not run"
        return Line(topic, TOLD if present else FAILS, text, read, caveat)
    return Line(topic, HOLDS, "no upper half of registers 0 to 15 is dirty at the return", evidence, caveat)


def _is_wide(instruction: static.d.Instruction) -> bool:
    target = instruction.operands[0] if instruction.operands else None
    return isinstance(target, static.d.Vector) and target.size > 16 and target.number < 16


def _unset(known: Known) -> Line:
    said = known.runs.of("unset")
    evidence = count(known.runs.count, "recorded run")
    if not known.runs.count:
        return Line("uninitialised", OPEN, "not known without a contract", "", "")
    if said:
        text = "something is read that nothing has set"
        details = _some([str(s) for s in said])
        verdict = TOLD if known.matrix and all(c.proved for c in known.matrix) else FAILS
        caveat = "The proofs hold whatever it held." if verdict == TOLD else RUN_CAVEAT
        return Line("uninitialised", verdict, text, evidence, caveat, details)
    text = "no register, frame byte or output byte is read before it is set"
    return Line("uninitialised", HOLDS, text, evidence, RUN_CAVEAT)


# ---- The bytes ----------------------------------------------------------------------------------------


def _alignment(known: Known) -> Line:
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
    touched = {place for places in ran.values() for place in places}
    if wrong:
        return Line(topic, FAILS, f"{text}, and it is not", evidence, caveat, _some(told))
    text += f": of {', '.join(sorted(touched))}" if touched else ""
    return Line(topic, TOLD, text, evidence, caveat, _some(told))


def _features(known: Known) -> Line:
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
    if missing:
        text += f"; not declared: {', '.join(missing)}"
        details = tuple(f"{n}: {code.first_of(n).where()}" for n in missing)
        verdict = TOLD if "guess" in known.declared_by else FAILS
        return Line(topic, verdict, text, evidence, caveat, details)
    text += f"; declared and not needed: {', '.join(spare)}" if spare else ", all declared"
    return Line(topic, HOLDS, text, evidence, caveat)


def _landing_pad(known: Known) -> Line:
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


def _sizes(known: Known) -> Line:
    code, runs = known.code, known.runs
    text = f"{code.size:,} bytes of code in {count(len(code.instructions), 'instruction')}"
    text += f", {runs.stack} bytes of stack" if runs.count else ""
    text += f", {runs.red_zone} of them below the stack pointer" if runs.red_zone else ""
    evidence = f"every instruction that can be reached; {count(runs.count, 'recorded run')}"
    never = sorted(set(code.instructions) - runs.ran) if runs.count else []
    details = []
    if runs.blocks:
        longest = max(runs.blocks)
        details.append(f"{runs.blocks[longest]:,} instructions run for {longest:,} bytes")
    if never:
        first = code.instructions[never[0]].where()
        details.append(f"{count(len(never), 'instruction')} never ran in the recorded runs, first {first}")
    details += list(code.problems)
    caveat = "Kernel code must not use the red zone." if runs.red_zone else "Callees in the file are counted."
    return Line("size", TOLD, text, evidence, caveat, tuple(details))


def _left(known: Known) -> Line:
    runs, topic = known.runs, "left behind"
    evidence = f"registers and frame after {count(runs.left_runs, 'recorded run')}, held against the model"
    caveat = "For information: the ABI asks for no clearing. A last round key gives the key back."
    if not runs.left_runs:
        return Line(topic, OPEN, "no run returned", "", "")
    places: dict[str, list[str]] = {}
    for text in runs.left:
        place, _, name = text.partition(" = ")
        places.setdefault(place, []).append(name)
    if not places:
        return Line(
            topic, TOLD, "no key, tweak or block is left in registers or on the stack", evidence, caveat
        )
    told = [f"{place}: {', '.join(sorted(names))}" for place, names in sorted(places.items(), key=_natural)]
    keys = sum(any("K" in name for name in names) for names in places.values())
    text = f"values of the model stay in {count(len(places), 'place')}, round keys in {keys}"
    return Line(topic, TOLD, text, evidence, caveat, _some(told, 12))


def _natural(item: tuple[str, list[str]]) -> tuple[int, str]:
    return len(item[0]), item[0]
