"""Stretches of a run: what is remembered, and what must not be."""

import numpy as np
import pytest

from aeskit.machine.errors import MemoryFault
from aeskit.machine.memory import Region
from aeskit.machine.run import Machine
from aeskit.machine.stretches import Stretches
from aeskit.machine.symbolic import Symbolic

SOURCE, TARGET = 0x10000, 0x20000
RDI, RSI, RDX = 7, 6, 2


class Code:
    """A function `f` over GF(2), called again and again."""

    def __init__(self, image, remembered=True):
        self.domain = Symbolic()
        self.machine = Machine(image, domain=self.domain)
        if remembered:
            self.machine.stretches = Stretches(self.machine)
        self.inputs = self.domain.expressions.inputs

    def call(self, source="data", old="old", target=64, rights="rw", ymm3="ymm3", **registers):
        """What the call leaves of the target, the steps that were run one by one."""
        regions = [
            Region("source", SOURCE, self.inputs(source, 64), "r"),
            Region("target", TARGET, self.inputs(old, target), rights),
        ]
        machine, one_by_one = self.machine, []
        machine.reset(regions)
        machine.state.v[3, :32] = self.inputs(ymm3, 32)
        machine.state.gpr[RDI], machine.state.gpr[RSI] = SOURCE, TARGET
        machine.state.gpr[RDX] = registers.get("rdx", 0)
        machine.start("f")
        if machine.stretches:
            first = machine.stretches._first
            machine.stretches._first = lambda *a: one_by_one.append(first(*a)) or one_by_one[-1]
        machine.resume()
        if machine.stretches:
            machine.stretches._first = first
        return regions[1].data.copy(), sum(one_by_one)


XOR = """.globl f
f:
vmovdqu (%rdi), %ymm0
vpxor 32(%rdi), %ymm0, %ymm0
vpxor %ymm0, %ymm3, %ymm1
add $1, %rdx
vmovdqu %ymm1, (%rsi)
vmovdqu (%rsi), %xmm2
vmovdqu %xmm2, 32(%rsi)
ret
"""


@pytest.mark.parametrize(
    "change", [{}, {"source": "other"}, {"ymm3": "other"}, {"rdx": 5}, {"target": 80}, {"source": "old"}]
)
def test_a_run_again_is_what_a_run_by_itself_is(assembled, change):
    code, plain = Code(assembled(XOR)), Code(assembled(XOR), remembered=False)
    first, steps = code.call()
    assert (first == plain.call()[0]).all()
    assert steps == 7
    again, steps = code.call(**change)
    assert (again == plain.call(**change)[0]).all()
    assert steps == (7 if {"source", "ymm3", "rdx"} & set(change) else 0)
    assert code.machine.state.gpr[RDX] == change.get("rdx", 0) + 1


@pytest.mark.parametrize(
    ("change", "text"),
    [({"target": 40}, "past the end of target"), ({"rights": "r"}, "target permits r only")],
)
def test_an_access_that_is_not_allowed_the_second_time_is_found(assembled, change, text):
    code = Code(assembled(XOR))
    code.call()
    with pytest.raises(MemoryFault, match=text):
        code.call(**change)


@pytest.mark.parametrize("kind", ["v", "gpr", "k", "flags"])
def test_what_is_read_without_being_declared_is_never_forgotten(assembled, monkeypatch, kind):
    """Were the decoder to leave a kind of register out, nothing would be remembered."""
    text = XOR.replace("add $1, %rdx", "adc $1, %rdx\nkmovq %k1, %rax\nvmovdqu8 %ymm3, %ymm1{%k1}")
    look = Stretches._look

    def less(self, rip):
        found = look(self, rip)._replace(**{kind: False if kind == "flags" else ()})
        self._uses[rip] = found
        return found

    monkeypatch.setattr(Stretches, "_look", less)
    code, plain = Code(assembled(text)), Code(assembled(text), remembered=False)
    for change in ({}, {"ymm3": "other"}, {"rdx": 7}):
        found = code.call(**change)[0]
        assert (found == plain.call(**change)[0]).all()
        assert code.machine.state.gpr[RDX] == change.get("rdx", 0) + 1
        assert (code.machine.state.v == plain.machine.state.v).all()


def test_memory_that_is_read_without_being_noted_is_never_forgotten(assembled):
    """A masked store of a lane stores what was there where the mask is clear."""
    text = XOR.replace("vmovdqu %ymm1, (%rsi)", "vextracti64x2 $0, %ymm1, (%rsi){%k1}")
    code, plain = Code(assembled(text)), Code(assembled(text), remembered=False)
    for old in ("old", "other", "old"):
        assert (code.call(old=old)[0] == plain.call(old=old)[0]).all()


def test_a_failed_stretch_leaves_memory_as_it_was(assembled):
    """In place, the second time round must not read what the first has written."""
    text = ".globl f\nf:\nvmovdqu (%rsi), %xmm0\nvpxor (%rdi), %xmm0, %xmm0\nvmovdqu %xmm0, (%rsi)\n"
    text += "vmovdqu 100(%rdi), %xmm1\nret\n"
    code, plain = Code(assembled(text)), Code(assembled(text), remembered=False)
    outcomes = []
    for one in (code, plain):
        with pytest.raises(MemoryFault, match="read of 16 bytes"):
            one.call()
        outcomes.append(one.machine.memory.region("target").data)
    assert (outcomes[0] == outcomes[1]).all()
    assert not np.array_equal(outcomes[0], code.inputs("old", 64))


def test_changed_code_is_run_anew(assembled):
    image = assembled(XOR)
    code = Code(image)
    before, _ = code.call()
    at = image.address_of("f") + 9  # the xor with ymm3 follows: 4 and 5 bytes before it
    assert image.code_at(at, 4) == bytes.fromhex("c5e5efc8")
    section = next(s for s in image.sections if s.address <= at < s.address + len(s.data))
    patched = bytearray(section.data)
    patched[at - section.address + 3] = 0xCB  # ymm3 with itself
    object.__setattr__(section, "data", bytes(patched))
    code.machine.forget(at, 4)
    after, _ = code.call()
    assert (after != before).any()
    assert (after == 0).sum() == 48
