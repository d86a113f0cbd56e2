"""Many proofs at once: what is asked, on every core, remembered from run to run."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass, field, replace
from pathlib import Path

from aeskit import contracts
from aeskit.contracts import Contract
from aeskit.machine.loader import Image, load
from aeskit.verify import proof_cache
from aeskit.verify.proof import Proof, Prover

CHUNK = 24
"""Lengths that a worker takes at a time, all functions of one key size together."""
LARGE = 4_000_000
"""Expressions after which a worker starts a new table."""


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

    def proofs(self) -> Iterator[tuple[Target, Contract, int, bool]]:
        """Target, contract, length and layout, those of one length and layout together."""
        promises = {target: target.promise() for target in self.targets}
        for length in self.lengths:
            for in_place in self.layouts:
                for target, contract in promises.items():
                    if self._asked(target, contract, length, in_place):
                        yield target, contract, length, in_place

    def _asked(self, target: Target, contract: Contract, length: int, in_place: bool) -> bool:
        if self.key_size not in contract.key_sizes or length not in contract.lengths(length, length):
            return False
        if in_place and not (contract.in_place and contract.has_length):
            return False
        proof = Proof(target.function, contract.name, length, self.key_size, in_place)
        return proof_cache.key(self.code, proof) not in self.skip


def find_contract(name: str, file: str = "") -> Contract:
    """A contract by its name, or by its variable in a user's Python file; ValueError with what there is."""
    if file:
        import runpy

        found = runpy.run_path(file).get(name)
        if isinstance(found, Contract):
            return found
        raise ValueError(f"{file} must define {name} as a Contract")
    if name in contracts.ALL:
        return contracts.ALL[name]
    raise ValueError(f"contract must be one of {', '.join(contracts.ALL)}, not {name}")


def own(names: Iterable[str] = ()) -> list[Target]:
    """Our own functions, as the built core holds them, each with its contracts; all without `names`."""
    from aeskit import _native, implementations

    path = str(Path(_native.__file__))
    wanted = list(names)
    known = [i.name for i in implementations.ALL if i.built]
    for name in wanted:
        if name not in known:
            raise ValueError(f"function must be one of {', '.join(known)}, or FILE:SYMBOL, not {name}")
    return [Target(path, name, c.name) for name in wanted or known for c in contracts.of(name)]


def jobs(targets: Sequence[Target], lengths: Sequence[int], key_sizes: Sequence[int], code: str) -> list[Job]:
    """The work cut into pieces; functions without a length go alone."""
    out = []
    for key_size in key_sizes:
        plain = tuple(t for t in targets if not t.promise().has_length)
        if plain:
            out.append(Job(plain, (0,), key_size, (False,), code=code))
        rest = tuple(t for t in targets if t.promise().has_length)
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
    patient: bool = False,
) -> list[Proof]:
    """Prove every target (of one file) at every length, key size and layout; `told` hears (done, all).

    A failed proof ends its function's turn unless `patient`: the others go on.
    """
    image = targets[0].image()
    own_contract = targets[0].contract_file
    code = proof_cache.code(image, Path(own_contract).read_bytes() if own_contract else b"")
    known = cache.known(code) if cache else {}
    pieces = jobs(targets, lengths, key_sizes, code)
    every = [
        proof_cache.key(code, Proof(t.function, c.name, n, job.key_size, place))
        for job in pieces
        for t, c, n, place in job.proofs()
    ]
    found = [known[name] for name in every if name in known]
    skip = frozenset(known)
    pieces = [replace(piece, skip=skip, patient=patient) for piece in pieces]
    total = len(every)
    told(len(found), total)
    for proofs in _run([p for p in pieces if next(p.proofs(), None)], workers):
        found += proofs
        if cache:
            cache.store(code, proofs)
        told(len(found), total)
    return found


def _run(pieces: list[Job], workers: int | None) -> Iterator[list[Proof]]:
    count = min(workers or os.cpu_count() or 1, len(pieces))
    if count <= 1:
        yield from map(work, pieces)
        return
    with ProcessPoolExecutor(count) as pool:
        waiting: set[Future[list[Proof]]] = {pool.submit(work, piece) for piece in pieces}
        while waiting:
            done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
            for future in done:
                yield future.result()


_PROVERS: dict[Target, Prover] = {}


def work(job: Job) -> list[Proof]:
    """Do one job in this process; its prover is kept for the next."""
    key = Target(job.targets[0].path, "", "", job.targets[0].include, job.targets[0].define)
    prover = _PROVERS.get(key)
    if prover is None or len(prover.domain.expressions.terms) > LARGE:
        prover = _PROVERS[key] = Prover(job.targets[0].image())
    out, failed = [], set()
    for target, contract, length, in_place in job.proofs():
        if target in failed:
            continue
        proof = prover.prove(target.function, contract, length, job.key_size, in_place)
        out.append(proof)
        if not proof.proved and not job.patient:
            failed.add(target)
    return out
