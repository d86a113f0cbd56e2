"""A main loop's head: what a run forgets there, and what slides from step to step.

A loop may count bytes up from 0 and leave its pointers alone, where the call for the message's rest begins at
0 again with pointers further on. So that both stand at one state, a register that differs by the same number
after each step is, at the head, what it is at a call's first arrival plus that number times u, the number of
steps done before: u is unknown there, one for all registers that slide, and one more after the step. What is
shown from there on holds for every u; that the run does not hang on it is the run's to show.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from aeskit.contracts import Buffer
from aeskit.machine.decode import GPR_NAMES
from aeskit.machine.masks import UnsetMask

if TYPE_CHECKING:
    from aeskit.machine.counters import Word
    from aeskit.machine.memory import Region
    from aeskit.machine.run import Machine
    from aeskit.machine.symbolic import Symbolic

STEPS = "steps before the loop's head"
"""The input that stands for u."""
MOST_STEPS = 1 << 36
"""A step is a block at least, and a message is shorter than 2^40 bytes."""
LARGEST_SLIDE = 1 << 20


@dataclass(frozen=True)
class Head:
    """A loop's head, the registers that nothing behind it reads before they are written, those that slide."""

    address: int
    dead: frozenset[str] = frozenset()
    slides: tuple[tuple[str, int], ...] = ()
    """By name what each rises by in a step, modulo 2^64; `stack 3` is the stack's third word of 8 bytes."""

    def joined(self, different: dict[str, int | None]) -> Head:
        """The head without what was found `different`: by so much, or dead where that is None or no help."""
        slides = dict(self.slides)
        slid = {n: d for n, d in different.items() if d is not None and n not in slides}
        dead = self.dead | (different.keys() - slid.keys())
        kept = {name: rise for name, rise in {**slides, **slid}.items() if name not in dead}
        return Head(self.address, dead, tuple(sorted(kept.items())))


def forget(
    machine: Machine, domain: Symbolic, head: Head, buffers: Iterable[Buffer], regions: Iterable[Region]
) -> Iterator[str]:
    """Make unknown what is thought dead: registers, the stack's words, buffers; and let slide what slides.

    A buffer that must stay as it was is a finding if it has been written before.
    """
    inputs, state = domain.expressions.inputs, machine.state
    given = {f"[{buffer.name}]": buffer for buffer in buffers}
    placed = {f"[{region.name}]": region for region in regions}
    for name in head.dead:
        if name.startswith("stack "):
            at = 8 * int(name.split()[1])
            machine.stack.data[at : at + 8] = inputs(f"{name} at the loop", 8)
        elif name in given:
            buffer, data = given[name], placed[name].data
            if buffer.expected is None and (data != buffer.data).any():
                yield f"{buffer.name} is written before the loop, but must not change"
            data[...] = inputs(f"{name} at the loop", len(buffer.data))
        elif name in GPR_NAMES:
            state.gpr[GPR_NAMES.index(name)] = tuple(inputs(f"{name} at the loop", 8).tolist())
        elif name[0] == "k":
            state.k[int(name[1:])] = UnsetMask()  # type: ignore[call-overload]
        else:
            number, dword = map(int, name[3:-1].split("["))
            state.v[number, 4 * dword : 4 * dword + 4] = inputs(f"{name} at the loop", 4)
    slide(domain, head, state.gpr, machine.stack.data)


def slide(domain: Symbolic, head: Head, gpr: list[Any], stack: Any, more: int = 0) -> None:
    """Add to each register and word of the stack that slides what it rises by, (u + `more`) times."""
    for name, rise in head.slides:
        if name.startswith("stack "):
            at = 8 * int(name.split()[1])
            value = domain.from_bytes(stack[at : at + 8])
            stack[at : at + 8] = domain.to_bytes(_risen(domain, value, rise, more), 8)
        else:
            number = GPR_NAMES.index(name)
            gpr[number] = _risen(domain, gpr[number], rise, more)


def steps(domain: Symbolic) -> Word:
    """u as a word."""
    return (*domain.expressions.inputs(STEPS, 5).tolist(), 0, 0, 0)


def _risen(domain: Symbolic, value: Any, rise: int, more: int) -> Any:
    forms = domain.counters.forms
    total = forms.sum(_word(domain, value), forms.times(steps(domain), rise))
    return domain.from_bytes(np.array(domain.counters.add(total, rise * more), np.int64))


def risen_by(domain: Symbolic, before: Any, after: Any) -> int | None:
    """By how much a number, an address, a length or a public counter is more than another one.

    None where that is not known.
    """
    forms, words = domain.counters.forms, (_word(domain, before), _word(domain, after))
    names = frozenset().union(*map(domain.counters.names, words))
    if not names <= forms.lengths | domain.counters.public:
        return None
    form, rise = forms.of(forms.sum(words[1], words[0], minus=True))
    signed = (rise + (1 << 63)) % (1 << 64) - (1 << 63)
    return signed if not form and abs(signed) <= LARGEST_SLIDE else None


def _word(domain: Symbolic, value: Any) -> Word:
    return tuple(domain.plain_bytes(value, 8).tolist())
