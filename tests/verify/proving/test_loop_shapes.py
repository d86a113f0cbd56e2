"""Main loops of many shapes are proved at every length; with one thing wrong in them they are not."""

import itertools

import loop_shapes
import pytest

from aeskit.machine.loader import load
from aeskit.verify.proving.every_length import EveryLength
from aeskit.verify.proving.proof import Prover

MODES = list(loop_shapes.CONTRACTS)


def everything(folder, mode, text, in_place):
    """What was closed and the findings of a proof for every length."""
    path, contract = folder / "loop.S", loop_shapes.CONTRACTS[mode]
    path.write_text(text)
    prover = Prover(load(path), limit=20_000)
    every = EveryLength(prover, "f", contract, 16, in_place)
    closed = every.close()
    found = list(closed.findings)
    for length in contract.lengths(0, closed.first - 1):
        head = closed.head if length >= closed.base() else None
        found += prover.prove("f", contract, length, 16, in_place, head).findings
        if head and not every.model_agrees(length, closed.stride):
            found.append("the model's rest is not the model of the rest")
    return closed, found


@pytest.mark.parametrize(
    ("number", "shape", "mode"),
    [(n, *both) for n, both in enumerate(itertools.product(loop_shapes.SHAPES, MODES))],
)
def test_a_loop_is_proved_at_every_length(tmp_path, number, shape, mode):
    text = loop_shapes.source(mode, shape, is_vex=bool(number & 1))
    closed, found = everything(tmp_path, mode, text, in_place=bool(number & 2))
    assert found == []
    assert closed.stride in (16, 32)


@pytest.mark.parametrize(
    ("shape", "right", "wrong"),
    [
        ("odd by shr", "jnc 1f", "jc 1f"),
        ("odd by shr", "shr $1, %rcx", "shr $2, %rcx"),
        ("odd by shr", "jz 9f\n1:", "nop\n1:"),  # no pairs at all behind an odd block
        ("odd by one shr", "add $16, %rsi", "add $32, %rsi"),
        ("odd by one shr", "add $16, %rdx", "nop"),  # the odd block's place is written again
        ("odd by test", "test $16, %cl", "test $32, %cl"),
        ("odd by test", "sub $32, %rcx; jb 9f", "sub $32, %rcx; jbe 9f"),
        ("pairs, then odd", "jz 9f", "jmp 9f"),
        ("index up", "cmp %rcx, %rax; jb", "cmp %rcx, %rax; jbe"),
        ("index up", "xor %eax, %eax", "mov $16, %eax"),
        ("index up", "add $16, %rax", "add $32, %rax"),
        ("index up", "cmp %rcx, %rax; jb 1b", "cmp $64, %rax; jb 1b"),
        ("index up", "add $16, %rax;", "add $16, %rax; add $16, %rsi;"),
        ("index up", "xor %eax, %eax", "nop"),  # whatever the caller had in it
        ("index up to equal", "add $16, %rax", "add $16, %eax"),  # wrong from 2^32 bytes on
        ("index of pairs", "and $-32", "and $-64"),
        ("index of pairs", "cmp %rcx, %rax; jae 9f", "cmp %rcx, %rax; ja 9f"),
        ("index of quadwords", "add $2, %rax", "add $1, %rax"),
        ("index of quadwords", "shr $3", "shr $4"),
        ("index of blocks", "shl $4, %rax", "shl $5, %rax"),
        ("index below 0", "add %rcx, %rdx; neg", "add %rcx, %rdx; add $16, %rdx; neg"),
        ("index below 0", "add $16, %rcx; jnz", "add $32, %rcx; jnz"),
        ("index below 0, by sign", "js 1b", "jns 1b"),
        ("index below 0, by carry", "jnc 1b", "jc 1b"),
        ("end pointer", "add %rsi, %rcx", "lea 16(%rsi,%rcx), %rcx"),
        ("end pointer, below", "jb 1b", "jbe 1b"),
        ("distance", "sub %rsi, %rdx", "sub %rsi, %rdx; add $16, %rdx"),
    ],
)
@pytest.mark.parametrize("mode", ["ecb", "cbc"])
def test_a_loop_with_one_thing_wrong_is_not_proved(tmp_path, shape, right, wrong, mode):
    def change(text):
        assert right in text
        return text.replace(right, wrong)

    text = loop_shapes.source(mode, shape, is_vex=mode == "cbc", wrong=change)
    _, found = everything(tmp_path, mode, text, in_place=False)
    assert found


@pytest.mark.parametrize("in_all", [None, 64])
def test_how_ends_compare_that_hangs_on_how_far_apart_buffers_lie_is_refused(tmp_path, in_all):
    # With 16 more than its end a source close below the destination takes the other way, which is wrong.
    def change(text):
        assert "lea (%rsi,%rcx)" in text
        return text.replace("lea (%rsi,%rcx)", "lea 16(%rsi,%rcx)").replace("\n2:\n", "\n2:\nud2\n")

    text = loop_shapes.source("ecb", "alias by ends", is_vex=False, wrong=change)
    if in_all is None:
        found = everything(tmp_path, "ecb", text, in_place=False)[1]
    else:
        (tmp_path / "loop.S").write_text(text)
        prover = Prover(load(tmp_path / "loop.S"), limit=20_000)
        found = prover.prove("f", loop_shapes.CONTRACTS["ecb"], in_all, 16, False).findings
    assert "hang on where the caller's memory lies" in found[0]


@pytest.mark.parametrize(
    "near",
    [
        "lea 64(%rsi), %rax; mov %rdx, %r11; sub %rax, %r11; jz 2f",
        "mov %rdx, %rax; sub %rsi, %rax; sub $32, %rax; jz 2f",
        "mov %rdx, %rax; sub %rsi, %rax; add $-32, %rax; jz 2f",
        "mov %rdx, %rax; sub %rsi, %rax; add $-4096, %rax; jnc 2f",
        "mov %rdx, %rax; sub %rsi, %rax; sub $4096, %rax; jb 2f",
        "mov %rdx, %rax; sub %rsi, %rax; dec %rax; jz 2f",
        "mov %rdx, %rax; sub %rsi, %rax; neg %rax; jc 2f",
    ],
)
@pytest.mark.parametrize("mode", ["ecb", "xts"])
def test_flags_of_a_distance_plus_a_number_decide_nothing(tmp_path, near, mode):
    def change(text):
        where = text.index("lea 15(%rdx)")
        return f"{text[:where]}{near}; {text[where:]}".replace("\n2:\n", "\n2:\nud2\n")

    text = loop_shapes.source(mode, "alias by distance", is_vex=False, wrong=change)
    _, found = everything(tmp_path, mode, text, in_place=False)
    assert "a branch depends on bits of an address" in found[0]


def test_an_address_that_hangs_on_a_whole_counter_is_refused_at_once(tmp_path):
    text = loop_shapes.source("ctr", "index up", is_vex=False, wrong=lambda t: t.replace("%rax)", "%r9)"))
    closed, _ = everything(tmp_path, "ctr", text, in_place=False)
    assert "an address depends on" in closed.findings[0]
