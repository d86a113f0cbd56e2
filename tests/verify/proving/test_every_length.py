"""The main loop closed by induction, on our own functions and on loops that must not close."""

import re
from pathlib import Path

import pytest

from aeskit import contracts
from aeskit.machine.loader import load
from aeskit.verify.proving.every_length import EveryLength
from aeskit.verify.proving.proof import Prover

NATIVE = Path(__file__).parents[3] / "native"


@pytest.mark.parametrize(
    ("file", "function", "contract", "stride"),
    [
        ("ecb", "ecb_encrypt_aesni_avx", "ecb_encrypt", 128),
        ("ctr", "ctr_crypt_aesni_avx", "ctr", 128),
        ("cbc", "cbc_encrypt_aesni_avx", "cbc_encrypt", 16),
        ("cbc", "cbc_decrypt_vaes_avx2", "cbc_decrypt", 256),
        ("xts", "xts_decrypt_vaes_avx512_256", "xts_decrypt_update", 128),
    ],
)
def test_a_main_loop_closes_and_the_lengths_below_it_are_proved(file, function, contract, stride):
    prover, promise = Prover(load(NATIVE / f"{file}.S")), contracts.ALL[contract]
    every = EveryLength(prover, function, promise, 16, False)
    closed = every.close()
    assert closed.findings == ()
    assert closed.stride == stride
    for length in promise.lengths(closed.base(), closed.first - 1)[:: 9 if promise.multiple == 1 else 3]:
        assert prover.prove(function, promise, length, 16, head=closed.head).findings == ()
        assert every.model_agrees(length, stride)


@pytest.mark.parametrize(
    ("name", "contract", "stride"),
    [("library_sse", "xts_encrypt_library", 16), ("kernel_vaes_avx2", "xts_encrypt_first_update", 32)],
)
def test_a_loop_of_rounds_or_a_callee_is_not_taken_for_the_main_loop(name, contract, stride):
    samples = Path(__file__).parents[1] / "samples"
    prover, promise = Prover(load(samples / f"{name}.S")), contracts.ALL[contract]
    closed = EveryLength(prover, f"{name}_xts_encrypt", promise, 16, False).close()
    assert closed.findings == ()
    assert closed.stride == stride


# CTR with a 32-bit counter {step} big-endian, a block a pass; the length is a number of blocks.
CTR32 = """
.globl f
f: test %rdx, %rdx
jz 9f
movdqu (%r8), %xmm1
mov 12(%r8), %eax
bswap %eax
mov 240(%rcx), %r10d
1: mov %eax, %r9d
bswap %r9d
pinsrd $3, %r9d, %xmm1
movdqa %xmm1, %xmm0
movdqu (%rcx), %xmm2
pxor %xmm2, %xmm0
lea 16(%rcx), %r11
mov %r10d, %r9d
2: movdqu (%r11), %xmm2
aesenc %xmm2, %xmm0
add $16, %r11
dec %r9d
jnz 2b
movdqu (%r11), %xmm2
aesenclast %xmm2, %xmm0
movdqu (%rdi), %xmm2
pxor %xmm2, %xmm0
movdqu %xmm0, (%rsi)
add $16, %rdi
add $16, %rsi
{step}
dec %rdx
jnz 1b
9: ret
"""


@pytest.mark.parametrize(
    ("step", "closes"), [("inc %eax", True), ("add $1, %ax", False), ("add $2, %eax", False)]
)
@pytest.mark.parametrize("in_place", [False, True])
def test_a_counter_of_32_bits_and_a_length_in_blocks_close(tmp_path, step, closes, in_place):
    path, promise = tmp_path / "ctr32.S", contracts.ALL["ctr32"]
    path.write_text(CTR32.format(step=step))
    prover = Prover(load(path), limit=20_000)
    every = EveryLength(prover, "f", promise, 16, in_place)
    closed = every.close()
    assert (not closed.findings) == closes
    if closes:
        assert closed.stride == 16
        for length in promise.lengths(0, closed.first - 1):
            head = closed.head if closed.base() <= length else None
            assert prover.prove("f", promise, length, 16, in_place, head).findings == ()
            assert length < closed.base() or every.model_agrees(length, 16)


# A block XOR a round key, in a loop: {init} before it, {step} in it.
LOOP = """
.globl ecb_encrypt_aesni
ecb_encrypt_aesni:
{init}
test %rcx, %rcx
jz 2f
1:
movdqu (%rsi), %xmm0
pxor (%rdi), %xmm0
movdqu %xmm0, (%rdx)
{step}
add $16, %rsi
add $16, %rdx
sub $16, %rcx
jnz 1b
2:
ret
"""


def whiten(call):
    K = call.round_keys()
    source, destination = call.data()
    call.arguments(call.readable("key", call.schedule(K)), source, destination, call.length)
    blocks = [call.a.xor(call.a.block(call.source_data, j), K[0]) for j in range(call.length // 16)]
    call.must(destination, call.a.join(*blocks))


WHITEN = contracts.Contract("whiten", "each block XOR the first round key", whiten, multiple=16)


@pytest.mark.parametrize(
    ("init", "step", "finding"),
    [
        ("", "", ""),
        ("lea (%rcx,%rcx), %rax", "sub $32, %rax", ""),
        ("", "movdqu 16(%rsi), %xmm1", "past the end of source|end of source"),
        ("", "movdqu %xmm0, (%rsi)", "source permits r only"),
        ("xor %eax, %eax", "inc %rax; cmp $5, %rax; jne 3f; inc %rdi; 3:", "not closed"),
        ("", "movdqu %xmm0, 1(%rdx)", "byte 1 of a pass is not what the model says"),
        ("lea (%rsi,%rcx), %rax; cmp %rsi, %rax; jb 2f", "", ""),
        ("lea (%rsi,%rcx), %rax; cmp %rax, %rsi; jae 2f", "", ""),
        ("lea (%rsi,%rcx), %rax; cmp %rax, %rsi; jb 2f", "", "not closed|is not what the model says"),
        ("mov $64, %eax; cmp %rcx, %rax; je 2f", "", "is not what the model says"),
        ("lea (%rsi,%rcx), %rax; push %rax; pop %r8; cmp %rax, %r8; jne 2f", "", ""),
        ("lea (%rsi,%rcx), %rax; test $1, %al; jz 2f", "", "depends on the address .* plus length"),
        ("lea (%rsi,%rcx), %rax; js 2f", "", "the flags at entry"),
        ("mov %rsi, %rax; add %rcx, %rax; js 2f", "", "depends on bits of an address"),
        ("lea (%rsi,%rcx), %rax; sub %rcx, %rax; bt $4, %rax; jc 2f", "", "depends on the address"),
    ],
)
def test_what_does_not_hold_for_every_length_does_not_close(tmp_path, init, step, finding):
    path = tmp_path / "loop.S"
    path.write_text(LOOP.format(init=init.replace("; ", "\n"), step=step.replace("; ", "\n")))
    prover = Prover(load(path), limit=20_000)
    closed = EveryLength(prover, "ecb_encrypt_aesni", WHITEN, 16, False).close()
    failed = []
    for length in WHITEN.lengths(0, closed.first):
        head = closed.head if closed.stride and closed.base() <= length < closed.first else None
        failed += prover.prove("ecb_encrypt_aesni", WHITEN, length, 16, head=head).findings
    found = [*closed.findings, *failed]
    assert bool(found) == bool(finding), found
    assert not finding or any(re.search(finding, text) for text in found), found


# The same by blocks and then by bytes; {rest} is what is done with the bytes.
TAILS = """
.globl f
f:
movdqu (%rdi), %xmm1
1:
cmp $16, %rcx
jb 2f
movdqu (%rsi), %xmm0
pxor %xmm1, %xmm0
movdqu %xmm0, (%rdx)
add $16, %rsi
add $16, %rdx
sub $16, %rcx
jmp 1b
2:
{rest}
3:
ret
"""
BYTES = """
test %rcx, %rcx
jz 3f
movd %xmm1, %eax
xor (%rsi), %al
mov %al, (%rdx)
psrldq $1, %xmm1
inc %rsi
inc %rdx
dec %rcx
jmp 2b
"""


def whiten_bytes(call):
    K = call.round_keys()
    source, destination = call.data()
    call.arguments(call.readable("key", call.schedule(K)), source, destination, call.length)
    key = call.a.part(call.a.join(*[K[0]] * -(-call.length // 16)), 0, call.length)
    call.must(destination, call.a.xor(call.source_data, key))


def everything(folder, source, contract):
    """The findings of a proof for every length."""
    path = folder / "loop.S"
    path.write_text(source)
    prover = Prover(load(path), limit=20_000)
    closed = EveryLength(prover, "f", contract, 16, False).close()
    found = list(closed.findings)
    for length in contract.lengths(0, closed.first - 1):
        head = closed.head if closed.stride and length >= closed.base() else None
        found += prover.prove("f", contract, length, 16, head=head).findings
    return found


@pytest.mark.parametrize(("rest", "finding"), [(BYTES, ""), ("", "not what the model says")])
def test_a_rest_below_the_contract_s_minimum_is_proved_as_a_part_of_longer_messages(tmp_path, rest, finding):
    contract = contracts.Contract("bytes", "", whiten_bytes, minimum=16)
    found = everything(tmp_path, TAILS.format(rest=rest), contract)
    assert bool(found) == bool(finding), found
    assert all(finding in text for text in found), found


@pytest.mark.parametrize(("multiple", "finding"), [(32, ""), (48, "a step does 16 bytes, but")])
def test_a_step_leaves_a_rest_of_an_allowed_length(tmp_path, multiple, finding):
    contract = contracts.Contract("blocks", "", whiten_bytes, multiple=multiple)
    found = everything(tmp_path, TAILS.format(rest=""), contract)
    assert bool(found) == bool(finding), found
    assert all(finding in text for text in found), found


# Four blocks a pass; {init} before it, which may set xmm2, and that is added to each first block.
FOUR = """
.globl f
f:
movdqu (%rdi), %xmm1
pxor %xmm2, %xmm2
mov %rdi, %r11
mov %rsi, %r9
{init}
mov %r11, %rdi
mov %r9, %rsi
test %rcx, %rcx
jz 2f
1:
movdqu (%rsi), %xmm0
pxor %xmm2, %xmm0
pxor %xmm1, %xmm0
movdqu %xmm0, (%rdx)
.irp at, 16, 32, 48
movdqu \\at(%rsi), %xmm0
pxor %xmm1, %xmm0
movdqu %xmm0, \\at(%rdx)
.endr
add $64, %rsi
add $64, %rdx
sub $64, %rcx
jnz 1b
2:
ret
"""
LAST = "test %rcx, %rcx; jz 2f; lea -1(%rdx,%rcx), %rdi; mov %rdi, %rsi; movsb"
FAR = "lea {at}(%rdx), %rax; cmp %rax, %rdi; seta %al; movzbl %al, %eax; movd %eax, %xmm3; pxor %xmm3, %xmm2"


@pytest.mark.parametrize(
    ("init", "finding"),
    [
        (LAST, ""),
        # the end lies more than 4 KiB away, or no more than 64 bytes
        (f"{LAST}; {FAR.format(at=4096)}; {FAR.format(at=66)}", "not what the model says"),
        (f"{LAST}; mov %rdi, %rax; shr $40, %rax; movd %eax, %xmm2", "not what the model says"),
    ],
)
def test_a_pointer_that_a_string_instruction_moves_still_hangs_on_the_length(tmp_path, init, finding):
    contract = contracts.Contract("fours", "", whiten_bytes, multiple=64)
    found = everything(tmp_path, FOUR.format(init=init.replace("; ", "\n")), contract)
    assert bool(found) == bool(finding), found
    assert all(finding in text for text in found), found
