"""The lines of a review, out of proofs, runs, hardware and the code's bytes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from aeskit.contracts import UInt32
from aeskit.verify.every_length import LONGEST, Closed
from aeskit.verify.review import code as static
from aeskit.verify.review import lines_code, proved
from aeskit.verify.review.known import Known, some
from aeskit.verify.review.model import EVERY_LENGTH, FAILS, HOLDS, OPEN, TOLD, Cell, Line, count, spans

PROOF_CAVEAT = (
    "Rests on the decoder, the semantics table and the models (SOUNDNESS.md); "
    "says nothing of other lengths (--every-length does)."
)
RUN_CAVEAT = "Runs show that something is wrong, never that nothing is."


def lines(known: Known) -> list[Line]:
    """Every line, in the order of a report."""
    return [
        _proof(known),
        *_every_length(known),
        *lines_code.called(known),
        _layouts(known),
        _memory(known),
        _secrets(known),
        _abi(known),
        _upper_arguments(known),
        _vzeroupper(known),
        _unset(known),
        lines_code.alignment(known),
        lines_code.features(known),
        lines_code.landing_pad(known),
        lines_code.unwind(known),
        lines_code.sizes(known),
        lines_code.left(known),
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
    runs = some([str(said) for said in known.runs.of("result")], 3)
    if not matrix:
        return Line(topic, OPEN, "nothing was proved: no contract", "", "", runs)
    wrong, stopped = proved.of(matrix, "result"), [c for c in matrix if not proved.complete(c)]
    evidence = f"{count(len(matrix), 'proof')} over GF(2): {_matrix_text(matrix)}"
    if wrong or runs:
        at = f" at {spans([cell.length for cell in wrong])} bytes" if wrong else " in recorded runs"
        text = f"the result is not the model's{at}"
        said = known.runs.of("result")
        if not wrong and all(one.call in known.runs.cleaned for one in said):
            text += "; it is with clean upper halves of 32-bit arguments"
        shown, why = known.counterexample, known.no_counterexample
        call = (shown.headline(),) if shown else (why,) if why else ()
        details = (*proved.details(wrong, "result"), *call, *runs)
        return Line(topic, FAILS, text, evidence, PROOF_CAVEAT, details)
    if not stopped:
        text = "the result is the model's, for every key, tweak and IV, and all data of these lengths"
        return Line(topic, HOLDS, text, evidence, PROOF_CAVEAT)
    text = f"{len(stopped):,} of {count(len(matrix), 'proof')} stop at what another line tells"
    if proved.of(matrix, "open"):
        text = f"{len(stopped):,} of {count(len(matrix), 'proof')} leave what can be proved"
    left = {cell.length for cell in stopped}
    good = [cell.length for cell in matrix if cell.length not in left]
    text += f"; the result is proved at {spans(good)} bytes" if good else ""
    return Line(topic, OPEN, text, evidence, PROOF_CAVEAT, proved.details(matrix, "open"))


def _every_length(known: Known) -> Iterator[Line]:
    """Only where it was asked for."""
    if known.loops is None:
        return
    topic = EVERY_LENGTH
    caveat = (
        f"By induction over passes of the main loop (SOUNDNESS.md), below 2^{LONGEST.bit_length() - 1} bytes."
    )
    open_loops = [loop for loop in known.loops if loop.findings]
    wrong = [proof for proof in known.below if not proof.proved]
    bits = "/".join(str(8 * size) for size in sorted({loop.key_size for loop in known.loops}))
    evidence = (
        f"AES-{bits}, out of place and in place: {count(len(known.loops), 'loop')}, "
        f"{count(len(known.below), 'proof')} of shorter lengths"
    )
    if not known.loops:
        verdict = OPEN if any(promise.has_length for promise in known.promises) else TOLD
        yield Line(topic, verdict, "the contract has no length, or none that an induction can follow", "", "")
    elif wrong:
        at = spans(sorted({proof.length for proof in wrong}))
        text = f"not at every length: not at {at} bytes"
        yield Line(topic, FAILS, text, evidence, caveat, some([p.findings[0] for p in wrong], 2))
    elif open_loops:
        told = dict.fromkeys(_open_loop(loop) for loop in open_loops)
        yield Line(topic, OPEN, "the main loop is not closed", evidence, caveat, tuple(told))
    else:
        text = "the result is the model's at every length that the contract allows"
        yield Line(topic, HOLDS, text, evidence, caveat, tuple(dict.fromkeys(map(_loop, known.loops))))


def _open_loop(loop: Closed) -> str:
    """The layout that is not closed, and why."""
    return f"{loop.contract}, {'in place' if loop.in_place else 'out of place'}: {loop.findings[0]}"


def _loop(loop: Closed) -> str:
    """What a closed loop rests on; the stack's slots are left out."""
    names = dict.fromkeys(name.split("[")[0] for name in loop.carried if not name.startswith("stack "))
    passes = "" if loop.passes == 1 else f" in {loop.passes} passes"
    step = f"{loop.stride} bytes a step{passes}, from {loop.first} bytes on by induction"
    return f"{step}; carried: {', '.join(names)}"


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
        if kind not in ("abi", "open"):
            by_call.setdefault(text.split(":")[0], text)
    texts = list(by_call.values())
    if texts:
        text = f"{len(texts)} of {count(found.calls, 'call')} go wrong"
        return Line(topic, FAILS, text, evidence, caveat, some(texts, 4))
    stopped = [text for kind, text in found.findings if kind == "open"]
    if stopped:
        text = (
            f"{len(stopped)} of {count(found.calls, 'call')} did not come to their end; the others are right"
        )
        return Line(topic, OPEN, text, evidence, caveat, some(stopped, 2))
    cut = ", in pieces" if any("pieces" in layout for layout in found.layouts) else ""
    text = f"right out of place and in place, off alignment{cut}, and with guard pages at both ends"
    return Line(topic, HOLDS, text, evidence, caveat)


def _by_both(known: Known, topic: str, kinds: tuple[str, ...], good: str, bad: str, caveat: str) -> Line:
    """A line that proofs answer for all inputs, and runs for theirs."""
    cells, said = proved.of(known.matrix, *kinds), [str(s) for s in known.runs.of(*kinds)]
    stopped = [cell for cell in known.matrix if not proved.complete(cell)]
    evidence = f"{count(len(known.matrix), 'proof')}, {count(known.runs.count, 'recorded run')}"
    if cells or said:
        return Line(topic, FAILS, bad, evidence, caveat, (*proved.details(cells, *kinds), *some(said, 2)))
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
        details = (*proved.details(cells, "secret"), *some(said, 2))
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
    if not known.promises:
        return Line("32-bit arguments", OPEN, "not known without a contract", "the contract's signature")
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
        "System V AMD64 ABI, 3.2.1.",
    )
    told = [text for kind, text in known.hardware.findings if kind == "abi"]
    details = (*line.details, *static_faults, *some(told, 1))
    failing = bool(static_faults or told)
    text = "what a function must keep is changed" if failing else line.text
    done = [line.evidence] if line.evidence else []
    done += [f"{count(known.hardware.calls, 'call')} on hardware"] if known.hardware.calls else []
    evidence = ", ".join([*done, f"{count(len(code.instructions), 'instruction')} read"])
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
        return Line(topic, FAILS, text, evidence, caveat, some([str(s) for s in said]))
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
        details = some([str(s) for s in said])
        verdict = TOLD if known.matrix and all(c.proved for c in known.matrix) else FAILS
        caveat = "The proofs hold whatever it held." if verdict == TOLD else RUN_CAVEAT
        return Line("uninitialised", verdict, text, evidence, caveat, details)
    text = "no register, frame byte or output byte is read before it is set"
    return Line("uninitialised", HOLDS, text, evidence, RUN_CAVEAT)
