"""Proofs of our own functions at single lengths, and that what is wrong is not proved."""

import re
from pathlib import Path

import pytest

from aeskit import contracts
from aeskit.contracts import Contract
from aeskit.machine.loader import load
from aeskit.verify.proving.proof import Prover

NATIVE = Path(__file__).parents[3] / "native"

SETS = ("aesni_avx", "vaes_avx2", "vaes_avx512_256", "vaes_avx512_512")


@pytest.fixture(scope="module")
def prover():
    made = {}

    def get(name):
        if name not in made:
            made[name] = Prover(load(NATIVE / f"{name}.S"))
        return made[name]

    return get


@pytest.mark.parametrize("direction", ["encrypt", "decrypt"])
@pytest.mark.parametrize("instruction_set", SETS)
def test_xts_is_proved(prover, instruction_set, direction):
    function = f"xts_{direction}_{instruction_set}"
    for length, key_size, in_place in ((16, 16, False), (33, 24, True), (129, 32, False), (607, 32, True)):
        for contract in contracts.of(function)[:: 1 if length < 129 else 3]:
            assert prover("xts").prove(function, contract, length, key_size, in_place).findings == ()


@pytest.mark.parametrize(
    ("direction", "instruction_set"), [("encrypt", "vaes_avx512_512"), ("decrypt", "vaes_avx512_256")]
)
def test_xts_of_sectors_in_a_row_is_proved(prover, instruction_set, direction):
    """One sector; two; and five, of which the last IV is encrypted alone."""
    function = f"xts_sectors_{direction}_{instruction_set}"
    promises = contracts.of(function)
    assert len(promises) == 3
    for contract, length, key_size in zip(promises, (512, 1024, 2560), (16, 24, 32), strict=True):
        in_place = key_size == 24
        assert prover("xts_sectors").prove(function, contract, length, key_size, in_place).findings == ()


@pytest.mark.parametrize("instruction_set", SETS)
def test_ctr_is_proved_for_every_counter(prover, instruction_set):
    function = f"ctr_crypt_{instruction_set}"
    for length, key_size in ((0, 16), (1, 24), (47, 32)):
        proof = prover("ctr").prove(function, contracts.ALL["ctr"], length, key_size)
        assert proof.findings == ()
    assert proof.cases > 1


@pytest.mark.parametrize("name", ["cbc", "ecb", "keys"])
def test_the_other_modes_are_proved(prover, name):
    for function in prover(name).image.functions:
        for contract in contracts.of(function):
            length = 160 if contract.multiple == 16 else 83
            assert prover(name).prove(function, contract, length, 24, in_place=True).findings == ()


def snippet(body, folder):
    path = folder / "snippet.S"
    lines = body.replace("; ", "\n")
    path.write_text(f".globl f\n.type f, @function\nf:\n{lines}\nret\n")
    return Prover(load(path), limit=1000)


def one_block(call):
    K = call.round_keys()
    block = call.unknown("block", 16)
    target = call.writable("block", block)
    call.arguments(call.readable("key", call.schedule(K)), target)
    call.must(target, call.a.xor(block, K[0]))


ONE = Contract("one", "a block XOR the first round key", one_block, has_length=False)


@pytest.mark.parametrize(
    ("body", "finding"),
    [
        ("movdqu (%rsi), %xmm0; pxor (%rdi), %xmm0; movdqu %xmm0, (%rsi)", None),
        ("movdqu (%rsi), %xmm0; pxor 16(%rdi), %xmm0; movdqu %xmm0, (%rsi)", "byte 0 is not what"),
        ("movdqu 1(%rsi), %xmm0", "read of 16 bytes .* 1 bytes past the end of block"),
        ("movq $0, (%rdi)", "write of 8 bytes .* key permits r only"),
        ("movdqu (%rsi), %xmm1; pxor (%rdi), %xmm0; movdqu %xmm0, (%rsi)", "byte 0 is not what"),
        ("cmpb $0, (%rdi); je 1f; nop; 1:", r"a branch depends on whether a value of K\[0\] is zero"),
        ("movzbl (%rdi), %eax; mov (%rsi,%rax), %al", r"an address depends on K\[0\]"),
        ("movdqu (%rsi), %xmm0; pxor (%rdi), %xmm0; movdqu %xmm0, (%rsi); xor %ebx, %ebx", "rbx is not what"),
        ("movdqu (%rsi), %xmm0; pxor (%rdi), %xmm0; movdqu %xmm0, (%rsi); push %rax; lea 8(%rsp), %rsp; "
         "movq $0, 128(%rsp)", "caller's part of the stack"),
        ("vmovdqu8 (%rsi), %xmm0{%k1}{z}", "a mask register is used that was never set"),
        ("vpgatherdd %xmm0, (%rsi,%xmm1), %xmm2", "gathers are not known"),
        ("1: jmp 1b", "more than .* steps"),
    ],
)  # fmt: skip
def test_findings(tmp_path, body, finding):
    proof = snippet(body, tmp_path).prove("f", ONE, 0, 16)
    if finding is None:
        assert proof.proved
    else:
        assert re.search(finding, proof.findings[0]), proof.findings
