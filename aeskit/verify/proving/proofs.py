"""Many proofs at once: what is asked, on every core, remembered from run to run."""

from __future__ import annotations

import gc
import re
import runpy
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from aeskit import contracts
from aeskit.contracts import Call, Contract
from aeskit.machine.errors import MachineError
from aeskit.machine.loader import Image, load
from aeskit.machine.splits import Choose, Impossible, Split
from aeskit.printed import listed, one_of
from aeskit.verify import pool
from aeskit.verify.proving import cache as proof_cache
from aeskit.verify.proving.every_length import Closed, EveryLength
from aeskit.verify.proving.proof import Proof, Prover

CHUNK = 256
"""Lengths that a worker takes at a time, of one function and key size: what they share is computed once."""
YOUNG = 200_000
"""Objects after which the garbage collector looks at the new ones: what a proof makes, it keeps."""
LARGE = 2_000_000
"""Expressions after which a worker starts a new table: about 2 GB with all that is kept."""


@dataclass(frozen=True)
class Target:
    """A function of a file, and one of its contracts by name; `include` and `define` are for assembling."""

    path: str
    function: str
    contract: str
    include: tuple[str, ...] = ()
    define: tuple[str, ...] = ()
    contract_file: str = ""
    """A user's Python file that holds the contract, or nothing."""

    def image(self) -> Image:
        """The file, loaded."""
        return load(self.path, include=self.include, define=self.define)

    def promise(self) -> Contract:
        """The contract itself; ValueError with what there is."""
        return find_contract(self.contract, self.contract_file)


@dataclass(frozen=True)
class Job:
    """What one worker does in one go."""

    targets: tuple[Target, ...]
    lengths: tuple[int, ...]
    key_size: int
    layouts: tuple[bool, ...] = (False, True)
    skip: frozenset[str] = field(default=frozenset(), repr=False)
    code: str = ""
    patient: bool = False
    """Go on with a function after a proof of it has failed."""
    closed: tuple[Closed, ...] = ()
    """Loops that were closed: only the lengths below their first one are asked."""
    unclosed: frozenset[int] | None = None
    """Lengths that are asked where no loop is closed; None for all."""

    def proofs(self) -> Iterator[tuple[Target, Contract, Proof, Closed | None]]:
        """What is to be proved, without its outcome; those of one length and layout together."""
        promises = {target: target.promise() for target in self.targets}
        loops = by_loop(self.closed)
        for length in self.lengths:
            for in_place in self.layouts:
                for target, contract in promises.items():
                    loop = loops.get((target.function, contract.name, self.key_size, in_place))
                    if self._asked(contract, length, in_place) and self._left(loop, length):
                        head = loop is not None and length >= loop.base()
                        proof = Proof(
                            target.function, contract.name, length, self.key_size, in_place, from_head=head
                        )
                        if proof_cache.key(self.code, proof, loop) not in self.skip:
                            yield target, contract, proof, loop if head else None

    def _left(self, loop: Closed | None, length: int) -> bool:
        """Whether a length must be proved by itself."""
        if loop is None:
            return self.unclosed is None or length in self.unclosed
        return length < loop.first

    def _asked(self, contract: Contract, length: int, in_place: bool) -> bool:
        if self.key_size not in contract.key_sizes or length not in contract.lengths(length, length):
            return False
        return not in_place or (contract.in_place and contract.has_length)


def by_loop(closed: Iterable[Closed]) -> dict[tuple[str, str, int, bool], Closed]:
    """Loops that were closed, by function, contract, key size and layout."""
    return {(c.function, c.contract, c.key_size, c.in_place): c for c in closed if not c.findings}


class ContractError(ValueError):
    """A user's contract that raises: the file, the line and what it says."""


PASSED = (MachineError, Split, Choose, Impossible)
"""What a contract's arithmetic raises for the prover to hear."""


def find_contract(name: str, file: str = "") -> Contract:
    """A contract by its name, or by its variable in a user's Python file; ValueError with what there is."""
    if file:
        there = {variable: c for variable, c in _read(file).items() if isinstance(c, Contract)}
        if name in there:
            return replace(there[name], setup=_told_apart(there[name].setup, file))
        known = ", ".join(f"{variable:.40}" for variable in list(there)[:9]) or "none"
        raise ValueError(f"{file} must define {name} as a Contract; it defines {known}")
    if name in contracts.ALL:
        return contracts.ALL[name]
    raise ValueError(one_of("contract", name, list(contracts.ALL)))


def unpromised(symbol: str) -> ValueError:
    """What is said where nobody says which contract a function keeps."""
    return ValueError(f"--contract must say what {symbol} promises:\n{listed(list(contracts.ALL))}")


def _read(file: str) -> dict[str, Any]:
    try:
        Path(file).read_bytes()
    except OSError as error:
        raise ValueError(f"{file} cannot be read: {error.strerror}") from None
    try:
        return runpy.run_path(file)
    except (Exception, SystemExit) as error:
        raise _where(error, file) from None


def _told_apart(setup: Callable[[Call], None], file: str) -> Callable[[Call], None]:
    """The contract's setup; what it raises by mistake is a ContractError."""

    def run(call: Call) -> None:
        try:
            setup(call)
        except PASSED:
            raise
        except (Exception, SystemExit) as error:  # an exit of its own would pass for a result
            raise _where(error, file) from None

    return run


def _where(error: BaseException, file: str) -> ContractError:
    lines = [at.lineno for at in traceback.extract_tb(error.__traceback__) if at.filename == file]
    line = error.lineno if isinstance(error, SyntaxError) and error.filename == file else lines[-1:]
    at = f"{file}:{line if isinstance(line, int) else line[0]}" if line else file
    said = error.msg if isinstance(error, SyntaxError) else " ".join(str(error).split())
    return ContractError(f"{at}: {type(error).__name__}: {said}")


def own(names: Iterable[str] = ()) -> list[Target]:
    """Our own functions, as the built core holds them, each with its contracts; all without `names`."""
    from aeskit import _native, implementations

    path = str(Path(_native.__file__))
    wanted = list(names)
    known = [i.name for i in implementations.ALL if i.built]
    for name in wanted:
        if name not in known:
            raise ValueError(one_of("function", name, known, ", or FILE:SYMBOL"))
    return [Target(path, name, c.name) for name in wanted or known for c in contracts.of(name)]


def jobs(targets: Sequence[Target], lengths: Sequence[int], key_sizes: Sequence[int], code: str) -> list[Job]:
    """The work cut into pieces, a function and a key size each; functions without a length go alone."""
    of_function: dict[str, list[Target]] = {}
    for target in targets:
        of_function.setdefault(target.function, []).append(target)
    out = []
    for key_size in key_sizes:
        for group in of_function.values():
            plain = tuple(t for t in group if not t.promise().has_length)
            if plain:
                out.append(Job(plain, (0,), key_size, (False,), code=code))
            rest = tuple(t for t in group if t.promise().has_length)
            for at in range(0, len(lengths) if rest else 0, CHUNK):
                out.append(Job(rest, tuple(lengths[at : at + CHUNK]), key_size, code=code))
    return out


def prove(
    targets: Sequence[Target],
    lengths: Sequence[int],
    key_sizes: Sequence[int] = (16, 24, 32),
    workers: int | None = None,
    cache: proof_cache.Cache | None = None,
    told: Callable[[int, int], None] = lambda done, total: None,
    closed: Sequence[Closed] = (),
    unclosed: Iterable[int] | None = None,
    patient: bool = False,
) -> list[Proof]:
    """Prove every target (of one file) at every length, key size and layout; `told` hears (done, all).

    With `closed` loops only what they leave to prove; where one is not closed, the lengths of `unclosed`, by
    default all. A failed proof ends its function's turn unless `patient`: the others go on. A proof of a
    user's contract is not remembered: what it rests on is any Python code.
    """
    code, loops = _code(targets), by_loop(closed)
    cache = None if any(target.contract_file for target in targets) else cache
    rest = None if unclosed is None else frozenset(unclosed)
    known = cache.known(code) if cache else {}

    def name(proof: Proof) -> str:
        loop = loops.get((proof.function, proof.contract, proof.key_size, proof.in_place))
        return proof_cache.key(code, proof, loop)

    pieces = [
        replace(job, closed=tuple(loops.values()), unclosed=rest)
        for job in jobs(targets, lengths, key_sizes, code)
    ]
    every = {name(proof): proof for job in pieces for _, _, proof, _ in job.proofs()}
    found = {asked: known[asked] for asked in every if asked in known}
    pieces = [replace(job, skip=frozenset(found), patient=patient) for job in pieces]
    told(len(found), len(every))
    with closing(pool.each(work, [p for p in pieces if next(p.proofs(), None)], workers)) as outcomes:
        for proofs in outcomes:
            new = {name(proof): proof for proof in proofs}
            found |= new
            if cache:
                cache.store(new)
            told(len(found), len(every))
    out = [*found.values(), *_missing(every, found)]
    return sorted(out, key=lambda p: (p.function, p.contract, p.key_size, p.length, p.in_place))


def _missing(every: dict[str, Proof], found: dict[str, Proof]) -> Iterator[Proof]:
    """What was asked and has no outcome, though no proof of its function and contract has failed."""
    failed = {(p.function, p.contract) for p in found.values() if not p.proved}
    for name, proof in every.items():
        if name not in found and (proof.function, proof.contract) not in failed:
            yield replace(proof, findings=("no proof of it came back",))


def close(
    targets: Sequence[Target],
    key_sizes: Sequence[int] = (16, 24, 32),
    workers: int | None = None,
    cache: proof_cache.Cache | None = None,
    told: Callable[[int, int], None] = lambda done, total: None,
) -> list[Closed]:
    """Close the main loop of every target (of one file), for each key size and layout."""
    code = _code(targets)
    cache = None if any(target.contract_file for target in targets) else cache
    known = by_loop(cache.loops(code) if cache else [])
    every: list[tuple[str, str, int, bool]] = []
    of_function: dict[tuple[str, int], list[Target]] = {}
    for target in targets:
        contract = target.promise()
        for size in (n for n in key_sizes if n in contract.key_sizes):
            asked = [(target.function, contract.name, size, layout) for layout in layouts(contract)]
            every += asked
            if not all(loop in known for loop in asked):
                of_function.setdefault((target.function, size), []).append(target)
    found = {loop: known[loop] for loop in every if loop in known}
    pieces = [Job(tuple(group), (), size, code=code) for (_, size), group in of_function.items()]
    with closing(pool.each(close_job, pieces, workers)) as outcomes:
        for closed in outcomes:
            found |= {(c.function, c.contract, c.key_size, c.in_place): c for c in closed}
            if cache:
                cache.store_loops(code, closed)
            told(len(found), len(every))
    lost = ("not closed for every length: no outcome came back",)
    out = [found.get(loop) or Closed(*loop, findings=lost) for loop in every]
    return sorted(out, key=lambda c: (c.function, c.contract, c.key_size, c.in_place))


def layouts(contract: Contract) -> tuple[bool, ...]:
    """Out of place, and in place where the contract allows it."""
    return (False, True) if contract.in_place else (False,)


def _code(targets: Sequence[Target]) -> str:
    """The digest of the targets' file; ValueError where one name stands for two contracts."""
    names: dict[tuple[str, str], str] = {}
    for target in targets:
        name = target.promise().name
        if names.setdefault((target.function, name), target.contract) != target.contract:
            raise ValueError(f"contracts must have names of their own: two are called {name!r}")
    return proof_cache.code(targets[0].image())


def close_job(job: Job) -> list[Closed]:
    """Close the loop of one function for all its contracts."""
    gc.set_threshold(YOUNG)
    prover, out = _prover(job, _kept(job)), []
    for target in job.targets:
        contract = target.promise()
        for in_place in layouts(contract):
            if job.key_size in contract.key_sizes:
                out.append(EveryLength(prover, target.function, contract, job.key_size, in_place).close())
    return out


_PROVERS: dict[str, Prover] = {}


def _kept(job: Job) -> dict[str, Prover]:
    """Where the prover of a job's code is kept: from job to job, but for a user's contract."""
    return {} if any(target.contract_file for target in job.targets) else _PROVERS


def _prover(job: Job, kept: dict[str, Prover]) -> Prover:
    """The prover of a job's code; another one where its table has become large."""
    if job.code in kept and len(kept[job.code].domain.expressions.terms) > LARGE:
        del kept[job.code]
        gc.collect()  # a table is full of cycles, and the collector seldom looks at what is old
    if job.code not in kept:
        kept[job.code] = Prover(job.targets[0].image())
    return kept[job.code]


def work(job: Job) -> list[Proof]:
    """Do one job in this process."""
    gc.set_threshold(YOUNG)
    kept, failed = _kept(job), set()
    out: list[Proof] = []
    for target, contract, asked, loop in job.proofs():
        if target in failed:
            continue
        head, prover = loop.head if loop else None, _prover(job, kept)
        proof = prover.prove(target.function, contract, asked.length, job.key_size, asked.in_place, head)
        if loop and proof.proved and not _model_agrees(prover, contract, loop, asked.length):
            proof = replace(proof, findings=("the model's rest is not the model of the rest",))
        out.append(proof)
        if not proof.proved and (not job.patient or endless(proof.findings)):
            failed.add(target)
    return out


def endless(findings: Iterable[str]) -> bool:
    """Whether a run came to the limit of steps: another length, or a call, would only take long."""
    return any(re.match(r"more than \d+ steps", finding) for finding in findings)


def _model_agrees(prover: Prover, contract: Contract, loop: Closed, length: int) -> bool:
    """The model's own step, asked once for all functions of a stride."""
    key = (contract, loop.key_size, loop.in_place, loop.stride, length)
    if key not in _AGREED:
        every = EveryLength(prover, loop.function, contract, loop.key_size, loop.in_place)
        _AGREED[key] = every.model_agrees(length, loop.stride)
    return _AGREED[key]


_AGREED: dict[tuple[Contract, int, bool, int, int], bool] = {}
