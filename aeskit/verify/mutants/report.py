"""What became of a function's mutants: counts, the exit status, the JSON form."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass, field
from typing import Any

from aeskit import cpu
from aeskit.verify.mutants.explain import REASONS, UNKNOWN
from aeskit.verify.mutants.survey import Outcome

VERSION = 3
"""Of the JSON form."""
EXPLAINED, UNEXPLAINED, INCOMPLETE = 0, 1, 2
"""Exit status: every survivor explained; one is not; stopped before the end, or misused."""


@dataclass
class Report:
    """What became of one function's mutants."""

    function: str
    others: tuple[str, ...]
    """Functions that it calls or goes to, whose instructions were changed too."""
    instructions: int
    mutants: int
    """All that there are."""
    skipped: int
    """Changes without an encoding, or that are longer than what they replace."""
    asked: int
    seed: int
    level: str
    lengths: tuple[int, ...]
    engine: str = ""
    """Of known answers and verification; empty where they cannot call the function."""
    proof: str = "then"
    """Which mutants the proof met."""
    outcomes: list[Outcome] = field(default_factory=list)
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    """Of all processes."""

    @property
    def alive(self) -> list[Outcome]:
        """What the proof passes, or refuses and nothing else kills, in the order of the code."""
        found = [
            o
            for o in self.outcomes
            if not (o.killed_by_proof or o.died)
            and not (o.killed_by_verification and (o.refused or o.proof is None))
        ]
        return sorted(found, key=lambda o: (o.mutant.address, o.mutant.after))

    @property
    def unexplained(self) -> list[Outcome]:
        """Of these, what has no reason."""
        return [o for o in self.alive if o.reason is None or not o.reason.known]

    @property
    def status(self) -> int:
        """The exit status."""
        if self.unexplained:
            return UNEXPLAINED
        return EXPLAINED if self.outcomes and len(self.outcomes) == self.asked else INCOMPLETE

    def counts(self) -> dict[str, Any]:
        """In the order of SOUNDNESS.md's table; survivors by reason are at the end."""
        every, alive = self.outcomes, self.alive
        by_known = sum(o.killed_by_known for o in every)
        reasons = Counter(o.reason.kind if o.reason else UNKNOWN for o in alive)
        return {
            "tested": len(every),
            "answers": by_known,
            "verification": sum(o.killed_by_verification for o in every) - by_known,
            "proof": sum(o.killed_by_proof for o in every),
            "proof_only": sum(o.killed_by_proof and not o.killed_by_verification for o in every),
            "refused": sum(o.refused for o in every),
            "alive": len(alive),
            "unexplained": len(self.unexplained),
            "reasons": {kind: reasons[kind] for kind in REASONS if reasons[kind]},
        }

    def row(self) -> str:
        """The function's row of SOUNDNESS.md's table; a dash for a level that was not run."""
        counts = self.counts()
        tested = f"{counts['tested']:,}"
        if len(self.outcomes) != self.mutants:
            tested += f" of {self.mutants:,}"
        proof = f"{counts['proof']:,}" if self.proof == "all" else f"{counts['proof_only']:,} more"
        numbers = (
            [f"{counts['answers']:,}", f"{counts['verification']:,} more"] if self.engine else ["–", "–"]
        )
        numbers.append(proof)
        numbers += [f"{counts[name]:,}" for name in ("refused", "alive", "unexplained")]
        return f"| {' | '.join([self.function, tested, *numbers])} |"

    def to_json(self) -> dict[str, Any]:
        """Plain values for `json.dumps`."""
        head = {
            name: getattr(self, name)
            for name in ("function", "others", "instructions", "mutants", "skipped", "asked")
        }
        head |= {"seed": self.seed, "engine": self.engine, "level": self.level, "proof_of": self.proof}
        head |= {"lengths": spans(self.lengths), "counts": self.counts(), "cpu": cpu.detect().name}
        rows = [_row(o) for o in sorted(self.outcomes, key=lambda o: (o.mutant.address, o.mutant.after))]
        tail = {"seconds": round(self.seconds, 1), "cpu_seconds": round(self.cpu_seconds, 1)}
        tail |= {"status": self.status, "tested": len(rows)}
        return {"aeskit_mutants": VERSION} | head | tail | {"outcomes": rows}


def _row(outcome: Outcome) -> dict[str, Any]:
    mutant = {**asdict(outcome.mutant), "code": outcome.mutant.code.hex(" ")}
    levels = {name: getattr(outcome, name) for name in ("known", "verified", "proof")}
    found = {name: asdict(v) if v else None for name, v in levels.items()}
    reason = asdict(outcome.reason) if outcome.reason else None
    return mutant | found | {"reason": reason, "died": outcome.died}


def spans(lengths: tuple[int, ...]) -> str:
    """``16-160, 175-177``."""
    spans: list[list[int]] = []
    for length in lengths:
        if spans and length == spans[-1][1] + 1:
            spans[-1][1] = length
        else:
            spans.append([length, length])
    return ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in spans)
