"""The lines of a review, out of proofs, runs, hardware and the code's bytes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from aeskit.verify.proving.every_length import LONGEST, Closed
from aeskit.verify.proving.proofs import endless
from aeskit.verify.review import code as static
from aeskit.verify.review import lines_code, proved
from aeskit.verify.review.known import Known, grouped, some
from aeskit.verify.review.model import EVERY_LENGTH, FAILS, HOLDS, OPEN, TOLD, Cell, Line, count, spans
from aeskit.verify.review.signature import inputs

RESTS = "Rests on the decoder, the semantics table and the models (SOUNDNESS.md)"
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


# ---- Proof and runs -----------------------------------------------------------------------------------


def _matrix_text(matrix: Sequence[Cell], known: Known) -> str:
    bits = f"AES-{'/'.join(str(n) for n in sorted({cell.key_bits for cell in matrix}))}"
    if not known.has_length:
        return bits
    lengths = spans([cell.length for cell in matrix])
    places = sorted({cell.in_place for cell in matrix})
    layout = " and ".join("in place" if place else "out of place" for place in places)
    return f"{bits}, {lengths} bytes, {layout}"


def _at(cells: Sequence[Cell], known: Known) -> str:
    """`` at 16–32 bytes``; nothing for a contract without a length."""
    return f" at {spans([cell.length for cell in cells])} bytes" if cells and known.has_length else ""


def _proof_caveat(known: Known) -> str:
    if not known.has_length or known.loops:
        return f"{RESTS}."
    every = " (--every-length does)" if any(c.inductive for c in known.promises) else ""
    return f"{RESTS}; says nothing of other lengths{every}."


def _for_every(known: Known) -> str:
    """``every key and tweak, and all data of these lengths``."""
    names = list(dict.fromkeys(name for contract in known.promises for name in inputs(contract)))
    told = " and ".join([", ".join(names[:-1]), names[-1]] if names[1:] else names)
    all_data = "all data of these lengths" if known.has_length else ""
    return ", and ".join(part for part in (f"every {told}" if told else "", all_data) if part)


def _proof(known: Known) -> Line:
    matrix, topic, caveat = known.matrix, "proof", _proof_caveat(known)
    runs = some([str(said) for said in known.runs.of("result")], 3)
    if not matrix:
        return Line(topic, OPEN, "nothing was proved: no contract", "", "", runs)
    wrong, stopped = proved.of(matrix, "result"), [c for c in matrix if not proved.complete(c)]
    evidence = f"{count(len(matrix), 'proof')} over GF(2): {_matrix_text(matrix, known)}"
    hanging = [cell for cell in matrix if endless(cell.findings)]
    if known.runs.endless or hanging:
        details = (*runs, *proved.details(hanging, "open"))
        caveat += " Behind such a call no other was made."
        text = f"it has not returned within the instructions of a call{_at(hanging, known)}"
        return Line(topic, FAILS, text, evidence, caveat, details)
    if wrong or runs:
        text = f"the result is not the model's{_at(wrong, known) if wrong else ' in recorded runs'}"
        said = known.runs.of("result")
        if not wrong and all(one.call in known.runs.cleaned for one in said):
            text += "; it is with clean upper halves of 32-bit arguments"
        shown, why = known.counterexample, known.no_counterexample
        call = (shown.headline(),) if shown else (why,) if why else ()
        details = (*proved.details(wrong, "result"), *call, *runs)
        return Line(topic, FAILS, text, evidence, caveat, details)
    if not stopped:
        return Line(topic, HOLDS, f"the result is the model's, for {_for_every(known)}", evidence, caveat)
    text = f"{len(stopped):,} of {count(len(matrix), 'proof')} end before the return: {_stopped_by(stopped)}"
    left = {cell.length for cell in stopped}
    good = [cell for cell in matrix if cell.length not in left]
    text += f"; the result is proved{_at(good, known)}" if good else ""
    return Line(topic, OPEN, text, evidence, caveat, proved.details(matrix, "open"))


def _stopped_by(stopped: Sequence[Cell]) -> str:
    """Which lines tell why proofs ended, or that they left what can be proved."""
    topics = list(dict.fromkeys(topic for cell in stopped for topic in proved.topics(cell)))
    told = f"see {', '.join(topics)}" if topics else ""
    left = "the code leaves what can be proved" if proved.of(stopped, "open") else ""
    return ", and ".join(part for part in (left, told) if part)


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
    at = f" at {spans(sorted(found.lengths))} bytes" if known.has_length else ""
    evidence = (
        f"{count(found.calls, 'call')}, {found.engine}, {count(found.steps, 'instruction')}: "
        f"{count(len(found.layouts), 'layout')}{at}"
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
        text = f"{len(texts)} of {count(found.calls, 'call')} go{'es' * (len(texts) == 1)} wrong"
        return Line(topic, FAILS, text, evidence, caveat, grouped(texts, 4))
    stopped = [text for kind, text in found.findings if kind == "open"]
    if stopped:
        text = (
            f"{len(stopped)} of {count(found.calls, 'call')} did not come to their end; the others are right"
        )
        return Line(topic, OPEN, text, evidence, caveat, grouped(stopped, 2))
    where = " in the emulator" if found.missing else ""
    return Line(topic, HOLDS, f"each call is right{where}: {_ways(known)}", evidence, caveat)


def _ways(known: Known) -> str:
    """How the calls on hardware were made."""
    places = {cell.in_place for cell in known.matrix} if known.has_length else set()
    ways = ["out of place and in place"] if len(places) > 1 else []
    ways += ["off alignment"] if known.has_length else []
    ways += ["in pieces"] if any("pieces" in layout for layout in known.hardware.layouts) else []
    return f"{', '.join(ways)}{', and ' * bool(ways)}with guard pages at both ends"


def _by_both(known: Known, topic: str, kinds: tuple[str, ...], good: str, bad: str, caveat: str) -> Line:
    """A line that proofs answer for all inputs, and runs for theirs."""
    cells, said = proved.of(known.matrix, *kinds), [str(s) for s in known.runs.of(*kinds)]
    stopped = [cell for cell in known.matrix if not proved.complete(cell)]
    evidence = f"{count(len(known.matrix), 'proof')}, {count(known.runs.count, 'recorded run')}"
    if cells or said:
        return Line(topic, FAILS, bad, evidence, caveat, (*proved.details(cells, *kinds), *some(said, 2)))
    if not known.matrix and not known.runs.count:
        return Line(topic, OPEN, "not known without a contract", "", caveat)
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
    details = (*line.details, *static_faults, *grouped(told, 2))
    failing = bool(static_faults or told)
    text = "what a function must keep is changed" if failing else line.text
    done = [line.evidence] if line.evidence else []
    where = "in the emulator" if known.hardware.missing else "on hardware"
    done += [f"{count(known.hardware.calls, 'call')} {where}"] if known.hardware.calls else []
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
    said, cells = known.runs.of("unset"), proved.of(known.matrix, "unset")
    evidence = f"{count(known.runs.count, 'recorded run')}, {count(len(known.matrix), 'proof')}"
    if not known.runs.count:
        return Line("uninitialised", OPEN, "not known without a contract", "", "")
    if cells:
        text = "where it goes, or an address, depends on what nothing has set, or what has no meaning"
        details = (*proved.details(cells, "unset"), *some([str(s) for s in said], 2))
        return Line("uninitialised", FAILS, text, evidence, "For any input: a proof met it.", details)
    if said:
        text = "something is read that nothing has set"
        details = some([str(s) for s in said])
        verdict = TOLD if known.matrix and all(c.proved for c in known.matrix) else FAILS
        caveat = "The proofs hold whatever it held." if verdict == TOLD else RUN_CAVEAT
        return Line("uninitialised", verdict, text, evidence, caveat, details)
    text = "no register, frame byte or output byte is read before it is set"
    return Line("uninitialised", HOLDS, text, evidence, RUN_CAVEAT)
