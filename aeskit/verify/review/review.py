"""A file reviewed: its functions, each with its contracts, proofs, runs and lines."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from aeskit import __version__, contracts, implementations
from aeskit.contracts import Contract
from aeskit.cpu import FEATURES, detect
from aeskit.machine.errors import MachineError
from aeskit.machine.loader import Image
from aeskit.verify.proving import cache as proof_cache
from aeskit.verify.proving import proofs
from aeskit.verify.proving.every_length import Closed
from aeskit.verify.proving.proof import Proof
from aeskit.verify.proving.proofs import Target, find_contract
from aeskit.verify.review import code as static
from aeskit.verify.review import hardware, pieces, proved, runs
from aeskit.verify.review.addresses import place, words
from aeskit.verify.review.addresses import told as told_of
from aeskit.verify.review.guess import Guess, guess
from aeskit.verify.review.known import Known
from aeskit.verify.review.lines import lines
from aeskit.verify.review.model import Cell, FunctionReview, Promise, Review
from aeskit.verify.review.search import NoneFound, search
from aeskit.verify.review.signature import arguments, narrow, usable

LENGTHS = (*range(97), 111, 112, 113, 127, 128, 129, 143, 144, 159, 160, 255, 256, 257, 511, 512, 513)
"""Proved by default, as far as the contract allows them."""
RUN_LENGTHS = (0, 1, 15, 16, 17, 31, 32, 33, 47, 48, 63, 64, 65, 80, 100, 127, 128, 129, 200, 255, 256, 513)
"""Recorded."""
HARD_LENGTHS = (1, 16, 17, 31, 48, 100, 144)
"""On hardware, in every layout."""
MOST = 40
"""Functions of one file."""
NAMED = 8
"""Functions that are named where there are more."""
_AES = re.compile(r"xts|ctr|cbc|cts|ecb|aes")

Told = Callable[[str, int, int], None]
"""Hears what is being done, how much of it is done and of how many."""


@dataclass(frozen=True)
class Wanted:
    """What is asked."""

    path: str
    functions: tuple[str, ...] = ()
    contracts: tuple[str, ...] = ()
    contract_file: str = ""
    lengths: tuple[int, ...] = LENGTHS
    key_sizes: tuple[int, ...] = (16, 24, 32)
    recorded: tuple[int, ...] = RUN_LENGTHS
    on_hardware: tuple[int, ...] = HARD_LENGTHS
    declared: tuple[str, ...] | None = None
    """CPU features that the caller checks before the call; None where nobody said."""
    include: tuple[str, ...] = ()
    define: tuple[str, ...] = ()
    every_length: bool = False
    """Whether the main loop is to be closed by induction as well."""
    workers: int | None = None
    cached: bool = True
    options: tuple[str, ...] = field(default=())

    def image(self) -> Image:
        """The file, loaded."""
        return Target(self.path, "", "", self.include, self.define).image()

    def promise(self, name: str) -> Contract:
        """A contract by its name; ValueError with what there is."""
        variable = self.variable(name)
        return find_contract(variable, self.contract_file if variable in self.contracts else "")

    def variable(self, name: str) -> str:
        """What the contract file calls the contract of a name; the name itself for one of ours."""
        if not self.contract_file or name in self.contracts:
            return name
        named = (v for v in self.contracts if find_contract(v, self.contract_file).name == name)
        return next(named, name)


def review(wanted: Wanted, told: Told = lambda what, done, total: None) -> Review:
    """Review a file; ValueError (MachineError is one) for one that cannot be loaded."""
    if Path(wanted.path).exists() and not Path(wanted.path).is_file():
        raise ValueError(f"{wanted.path} must be a regular file: it is read more than once")
    image = wanted.image()
    promises = tuple(wanted.promise(name) for name in wanted.contracts)
    chosen, skipped = _functions(image, wanted)
    name, digest = Path(wanted.path).name, hashlib.sha256(Path(wanted.path).read_bytes()).hexdigest()
    out = Review(name, digest, _code(image), __version__, detect().name)
    out.skipped, out.options = skipped, wanted.options
    for function in chosen:
        told(f"{function}: contract", 0, 0)
        section = image.section_at(image.address_of(function))
        if section is None or "x" not in section.permissions:
            if wanted.functions:
                raise ValueError(f"{name}: {function} does not lie in code")
            out.skipped += (f"{function}: does not lie in code",)
            continue
        found = Guess(promises, "the caller", certain=True) if promises else guess(image, function)
        if not found.contracts and not wanted.functions and len(chosen) > 1:
            out.skipped += (f"{function}: {found.reason}",)
            continue
        out.functions.append(_function(image, function, found, wanted, told))
    if not out.functions and chosen:
        raise ValueError(f"{name}: no function keeps a contract that is known; name one with --contract")
    return out


def _code(image: Image) -> str:
    """A digest of all sections as they lie in memory: a source file may include others."""
    found = hashlib.sha256()
    for section in image.sections:
        found.update(f"{section.address} {section.permissions} {len(section.data)} ".encode() + section.data)
    return found.hexdigest()


def _functions(image: Image, wanted: Wanted) -> tuple[list[str], tuple[str, ...]]:
    """The functions to review: those asked for, else every one that can be called from outside."""
    for name in wanted.functions:
        image.address_of(name)
    if wanted.functions:
        return list(dict.fromkeys(wanted.functions)), ()
    known = sorted(image.functions, key=lambda name: image.symbols.get(name, 0))
    if not known:
        raise ValueError(f"{image.name} has no function with code{_symbols(image)}")
    if len(known) > MOST:
        ours = [name for name in known if contracts.of(name)]
        likely = ours or [name for name in known if _AES.search(name.lower())] or known
        some = ", ".join(likely[:NAMED])
        raise ValueError(f"{image.name} has {len(known):,} functions: choose with --function, such as {some}")
    return known, ()


def _symbols(image: Image) -> str:
    """What helps where no symbol has `.type NAME, @function`."""
    named = sorted(image.symbols)
    if not named:
        return " and no other symbol"
    some = ", ".join(named[:NAMED])
    return f" that it calls one (.type NAME, @function); choose one of its symbols with --function: {some}"


def _function(image: Image, name: str, found: Guess, wanted: Wanted, told: Told) -> FunctionReview:
    given = tuple(Promise(c.name, c.title, arguments(c)) for c in found.contracts)
    out = FunctionReview(name, given, found.reason, not found.certain, fits=found.fits)
    known = Known(static.read(image, name), found.contracts, file=wanted.path)
    known.declared, known.declared_by = _declared(name, wanted)
    if found.contracts:
        _prove(known, name, found.contracts, wanted, told)
        _run(known, image, name, wanted, told)
        known.code = static.read(image, name, known.runs.ran)
        _hardware(known, image, name, wanted, told)
    out.place, shown = place(image, known.code.entry), known.counterexample
    out.counterexample = shown and replace(shown, text=words(shown.text, known.code))
    out.matrix, out.lines = known.matrix, [told_of(line, known.code) for line in lines(known)]
    return out


def _declared(name: str, wanted: Wanted) -> tuple[tuple[str, ...] | None, str]:
    if wanted.declared is not None:
        return wanted.declared, "the caller"
    if contracts.of(name):
        return implementations.named(name).needs, "our own registry"
    if static.declares(name):
        return static.declared(name), "the words of its name (a guess)"
    return None, ""


def _prove(known: Known, name: str, promises: Sequence[Contract], wanted: Wanted, told: Told) -> None:
    file = wanted.contract_file if wanted.contracts else ""
    targets = [
        Target(wanted.path, name, wanted.variable(contract.name), wanted.include, wanted.define, file)
        for contract in promises
    ]
    sizes = tuple(n for n in wanted.key_sizes if any(n in contract.key_sizes for contract in promises))
    found = proofs.prove(
        targets,
        sorted({n for contract in promises for n in usable(contract, wanted.lengths)}),
        sizes or promises[0].key_sizes,
        wanted.workers,
        proof_cache.Cache() if wanted.cached else None,
        lambda done, total: told(f"{name}: proofs", done, total),
        patient=True,
    )
    if wanted.every_length:
        known.loops, known.below = _every_length(name, targets, sizes, wanted, told)
    known.stand_ins = sorted({name for proof in found for name in proof.stand_ins})
    order = [contract.name for contract in promises]
    found.sort(key=lambda p: (order.index(p.contract), p.key_size, p.in_place, p.length))
    known.matrix = proved.cells(found)


def _every_length(
    name: str, targets: Sequence[Target], sizes: Sequence[int], wanted: Wanted, told: Told
) -> tuple[list[Closed], list[Proof]]:
    """The loops, and the proofs of the lengths that the induction leaves."""
    asked = [target for target in targets if target.promise().has_length and target.promise().inductive]
    if not asked:
        return [], []
    cache = proof_cache.Cache() if wanted.cached else None

    def heard(done: int, total: int) -> None:
        told(f"{name}: every length", done, total)

    loops = proofs.close(asked, sizes, wanted.workers, cache, heard)
    fine = [loop for loop in loops if not loop.findings]
    below = range(max((loop.first for loop in fine), default=0))
    return loops, proofs.prove(asked, below, sizes, wanted.workers, cache, heard, fine, unclosed=())


def _run(known: Known, image: Image, name: str, wanted: Wanted, told: Told) -> None:
    wrong = tuple(cell.length for cell in proved.of(known.matrix, "result"))[:3]

    def lengths(contract: Contract) -> list[int]:
        return usable(contract, (*wanted.recorded, *wrong))

    total, done = runs.calls(known.promises, lengths), iter(range(1 << 30))
    known.runs = runs.runs(
        image, name, known.promises, lengths, lambda: told(f"{name}: recorded runs", next(done) + 1, total)
    )
    known.narrow = any(narrow(contract) for contract in known.promises)


def _hardware(known: Known, image: Image, name: str, wanted: Wanted, told: Told) -> None:
    label, make, why = _engine(known)
    wrong = proved.of(known.matrix, "result") or proved.of(known.matrix, "memory", "abi")
    if wrong:
        _refute(known, image, name, wrong, wanted, make)
    if not wanted.on_hardware:
        known.hardware.missing = "no length was asked for"
        return
    if make is None:
        known.hardware.missing = why
        return
    promises = known.promises
    chains = list(pieces.chains(image, name, promises))

    def lengths(contract: Contract) -> list[int]:
        return usable(contract, wanted.on_hardware)

    total, done = hardware.calls(promises, lengths), iter(range(1 << 30))
    try:
        known.hardware = hardware.run(
            image,
            name,
            promises,
            lengths,
            label,
            make,
            lambda: told(f"{name}: hardware", next(done) + 1, total),
        )
        for chain in chains if not known.hardware.endless else ():
            pieces.run(known.hardware, image, name, chain, make)
    except MachineError as error:
        known.hardware.missing = str(error)
    known.hardware.missing = known.hardware.missing or why


def _refute(known: Known, image: Image, name: str, wrong: Sequence[Cell], wanted: Wanted, make: Any) -> None:
    """One call that shows what is wrong; files are named without folders, as the report is sent to others."""
    file = Path(wanted.contract_file).name if wanted.contracts else ""
    cell = min(wrong, key=lambda cell: (cell.length, cell.in_place, cell.key_bits))
    variable, folders = wanted.variable(cell.contract), tuple(Path(path).name for path in wanted.include)
    target = Target(Path(wanted.path).name, name, variable, folders, wanted.define, file)
    try:
        known.counterexample = search(image, target, known.promises, [cell], make)
    except (NoneFound, MachineError, ValueError) as error:
        known.no_counterexample = f"no call that shows it was found: {error}"


def _engine(known: Known) -> tuple[str, Any, str]:
    missing = ", ".join(detect().missing(tuple(n for n in known.code.features if n in FEATURES)))
    return hardware.engine(missing)
