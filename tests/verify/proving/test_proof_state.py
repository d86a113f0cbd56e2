"""What a proof must not take for granted: static state, the caller's stack, the red zone, other cases."""

import re

import pytest

from aeskit.contracts import Contract
from aeskit.machine.counters import Counters
from aeskit.machine.gf2 import Expressions
from aeskit.machine.loader import load
from aeskit.verify.proving.proof import Prover

RIGHT = "movdqu (%rsi), %xmm0; pxor (%rdi), %xmm0; movdqu %xmm0, (%rsi)"


def one_block(call):
    K = call.round_keys()
    block = call.unknown("block", 16)
    target = call.writable("block", block)
    call.arguments(call.readable("key", call.schedule(K)), target, 1, 2, 3, 4, 5)
    call.must(target, call.a.xor(block, K[0]))


ONE = Contract("one", "a block XOR the first round key, and a word on the stack", one_block, has_length=False)


def prove(folder, body):
    path = folder / "snippet.S"
    data = ".data\nstate: .quad 7\n.bss\nroom: .space 16\n.section .rodata\nconstant: .quad 7\n"
    data += '.section .data.rel.ro.f,"aw"\npointer: .quad f\n'
    path.write_text(f"{data}.text\n.globl f\n.type f, @function\nf:\n{body}\nret\n".replace("; ", "\n"))
    return Prover(load(path), limit=1000).prove("f", ONE, 0, 16)


@pytest.mark.parametrize(
    ("body", "finding"),
    [
        ("mov constant(%rip), %rax", ""),
        ("mov state(%rip), %rax", r"read of 8 bytes .* \.data is writable"),
        ("cmpl $3, room(%rip); je 1f; incl room(%rip); 1:", r"read of 4 bytes .* \.bss is writable"),
        ("mov %rdi, room(%rip)", r"write of 8 bytes .* \.bss is writable"),
        ("mov pointer(%rip), %rax", ""),
        ("incq pointer(%rip)", r"write of 8 bytes .* \.data\.rel\.ro\.f permits r only"),
        ("mov 8(%rsp), %rax; movq $0, 8(%rsp)", ""),
        ("mov 16(%rsp), %rax", "read of 8 bytes .* the caller's part of the stack"),
        ("mov 9(%rsp), %rax", "read of 8 bytes .* the caller's part of the stack"),
        ("movq $0, 16(%rsp)", "write of 8 bytes .* the caller's part of the stack"),
        ("movq $0, -128(%rsp)", ""),
        ("movq $0, -136(%rsp)", "write of 8 bytes .* more than the red zone's 128 bytes below rsp"),
        ("lea -8(%rsp), %rsp; movq $0, -128(%rsp); lea 8(%rsp), %rsp; mov -136(%rsp), %rax", "below rsp"),
    ],
)
def test_state_that_other_code_owns_is_refused(tmp_path, body, finding):
    proof = prove(tmp_path, f"{body}; {RIGHT}")
    assert bool(proof.findings) == bool(finding), proof.findings
    assert not finding or re.search(finding, proof.findings[0]), proof.findings


@pytest.mark.parametrize(("bytes_", "proved"), [(256, False), (16, True)])
def test_what_rsp_leaves_below_the_red_zone_is_lost_when_it_rises(tmp_path, bytes_, proved):
    """A signal may come between the two falls of rsp."""
    down, up = f"lea -{bytes_}(%rsp), %rsp", f"lea {bytes_}(%rsp), %rsp"
    proof = prove(tmp_path, f"{down}; mov %rsi, (%rsp); {up}; {down}; mov (%rsp), %rsi; {up}; {RIGHT}")
    assert proof.proved == proved, proof.findings


@pytest.mark.parametrize(("bytes_", "proved"), [(256, False), (16, True)])
def test_what_is_lost_twice_is_not_the_same(tmp_path, bytes_, proved):
    down, up = f"lea -{bytes_}(%rsp), %rsp", f"lea {bytes_}(%rsp), %rsp"
    twice = f"mov (%rsp), %rax; {up}; {down}; xor (%rsp), %rax; {up}"
    assert prove(tmp_path, f"{down}; {up}; {down}; {twice}; {RIGHT}; xor %al, (%rsi)").proved == proved


@pytest.mark.parametrize(
    ("body", "finding"),
    [
        ("movzbl (%rdi), %eax; prefetcht0 (%rsi,%rax)", r"an address depends on K\[0\]"),
        ("prefetcht0 4096(%rsi)", ""),
        ("push %rsi; push %rdi; mov %rsi, %rdi; fs movsb; pop %rdi; pop %rsi", "fs and gs are not known"),
        ("cmp %eax, %eax; .byte 0x66; je 1f; 1:", "the semantics table has no je"),
    ],
)
def test_what_an_instruction_does_beside_its_row_is_seen(tmp_path, body, finding):
    proof = prove(tmp_path, f"{body}; {RIGHT}")
    assert bool(proof.findings) == bool(finding), proof.findings
    assert not finding or re.search(finding, proof.findings[0]), proof.findings


CONSTANTS = """
.section .rodata.cst16, "aM", @progbits, 16
.balign 16
one: .quad 1, 2
two: .quad 3, 4
.section .rodata.f, "a"
.balign 8
eight: .quad 5, 6
"""


@pytest.mark.parametrize(
    ("body", "finding"),
    [
        ("movdqa one(%rip), %xmm1; movdqu two(%rip), %xmm1", ""),
        ("vmovdqu one(%rip), %ymm1", r"16 bytes past the end of \.rodata\.cst16"),
        ("lea one(%rip), %rax; movdqu 16(%rax), %xmm1", r": the first bytes past the end of \.rodata\.cst16"),
        ("movdqu eight(%rip), %xmm1", ""),
        ("movdqa eight(%rip), %xmm1", "must be a multiple of 16"),
    ],
)
def test_constants_lie_as_a_linker_may_put_them(tmp_path, body, finding):
    path = tmp_path / "snippet.S"
    path.write_text(f"{CONSTANTS}.text\n.globl f\nf:\n{body}\n{RIGHT}\nret\n".replace("; ", "\n"))
    proof = Prover(load(path)).prove("f", ONE, 0, 16)
    assert bool(proof.findings) == bool(finding), proof.findings
    assert not finding or re.search(finding, proof.findings[0]), proof.findings


def test_code_in_a_writable_section_is_refused(tmp_path):
    path = tmp_path / "snippet.S"
    path.write_text(f'.section .hot,"awx"\n.globl f\nf:\n{RIGHT}\nret\n'.replace("; ", "\n"))
    proof = Prover(load(path)).prove("f", ONE, 0, 16)
    assert re.search(r"\.hot is writable: its code may be other code", proof.findings[0]), proof.findings


@pytest.mark.parametrize(
    "body",
    [
        "mov %esi, %eax; and $0xfff, %eax; cmp $0xff0, %eax; jne 1f; nop; 1:",
        "test $64, %sil; jnz 1f; nop; 1:",
        "test $127, %rsi; jnz 1f; nop; 1:",
        "lea 8(%rsp), %rax; and $31, %rax; jz 1f; nop; 1:",
        "mov %rsi, %rax; sub %rdi, %rax; mov %al, %ah; shr $3, %ax; movzbl (%rdi,%rax), %eax",
        "lea (%rsi,%rsi), %rax; shr $2, %rax; jc 1f; nop; 1:",
        "mov %rsi, -8(%rsp); mov -8(%rsp), %ax; test $256, %ax; jz 1f; nop; 1:",
        "movq %rsi, %xmm1; psrldq $1, %xmm1; movq %xmm1, %rax; test $1, %al; jz 1f; nop; 1:",
        "lea 1(%esi), %eax; cmp $0x7f, %eax; ja 1f; nop; 1:",
        "mov %rsi, %rax; shr $4, %rax; test $1, %al; jz 1f; nop; 1:",
        "cmp $0x10000, %rsi; jb 1f; nop; 1:",
        "bt $4, %rsi; jc 1f; nop; 1:",
        "mov %rsi, %rax; add $16, %rax; jp 1f; nop; 1:",
        "test %rsi, %rsi; jp 1f; nop; 1:",
        "test %rsi, %rsi; js 1f; nop; 1:",
        "cmp %rsi, %rdi; jl 1f; nop; 1:",
        "mov %rsi, %rax; sub %rdi, %rax; jp 1f; nop; 1:",
        "mov %rsi, %rax; sub %rdi, %rax; shr $4, %rax; movzbl (%rdi,%rax), %eax",
        "mov %rsp, %rax; sub %rsi, %rax; test $1, %al; jz 1f; nop; 1:",
        "lea f(%rip), %rax; cmp %rax, %rsi; ja 1f; nop; 1:",
        "movzbl (%rdi), %eax; shl $16, %rax; add %rsi, %rax; test $1, %al; jz 1f; nop; 1:",
        "movzbl (%rdi), %eax; shl $16, %rax; lea (%rsi,%rax), %rax; test $1, %al; jz 1f; nop; 1:",
        "lea constant(%rip), %rax; test $16, %al; jz 1f; nop; 1:",
        "call 1f; 1: pop %rax; test $16, %al; jz 1f; nop; 1:",
        "testb $1, (%rsp); jz 1f; nop; 1:",
        "mov %rsp, %rax; mov %rsp, %rdx; and $-64, %rdx; sub %rdx, %rax; test $32, %al; jz 1f; nop; 1:",
        "mov (%rsp), %rax; shr $47, %rax; jz 1f; nop; 1:",
        "mov elsewhere@GOTPCREL(%rip), %rax; test %rax, %rax; jz 1f; nop; 1: .weak elsewhere",
        # an address that the file holds
        "testb $16, 1+pointer(%rip); jz 1f; nop; 1:",
        "mov 1+pointer(%rip), %ax; test $16, %al; jz 1f; nop; 1:",
        "movq pointer(%rip), %xmm1; pextrb $1, %xmm1, %eax; test $16, %al; jz 1f; nop; 1:",
        "mov here(%rip), %eax; test $16, %ah; jz 1f; nop; 1: .section .rodata; here: .quad f, f, f; .text",
        "mov elsewhere@GOTPCREL(%rip), %eax; test $16, %ah; jz 1f; nop; 1:",
        # a linker decides how far apart sections lie
        "lea constant(%rip), %rax; lea f(%rip), %rdx; cmp %rdx, %rax; ja 1f; nop; 1:",
        "lea constant(%rip), %rax; lea f(%rip), %rdx; sub %rdx, %rax; test $64, %al; jz 1f; nop; 1:",
        "lea constant+1500(%rip), %rax; lea pointer-1500(%rip), %rdx; cmp %rdx, %rax; ja 1f; nop; 1:",
        "lea memcpy(%rip), %rax; lea f(%rip), %rdx; cmp %rdx, %rax; ja 1f; nop; 1:",
        "lea elsewhere+8(%rip), %rax; test $1, %al; jz 1f; nop; 1:",
        "lea elsewhere+0x9000(%rip), %rax; test $1, %al; jz 1f; nop; 1:",
        "lea elsewhere-0x9000(%rip), %rax; lea another(%rip), %rdx; cmp %rdx, %rax; jz 1f; nop; 1:",
        "lea elsewhere+16(%rip), %rax; lea another(%rip), %rdx; cmp %rdx, %rax; jz 1f; nop; 1:",
        "lea elsewhere+0x1000(%rip), %rax; lea another(%rip), %rdx; cmp %rdx, %rax; jz 1f; nop; 1:",
    ],
)
def test_code_that_looks_at_the_bits_of_an_address_is_refused(tmp_path, body):
    proof = prove(tmp_path, f"{body}; {RIGHT}")
    wanted = r"depends on .*(the address|the distance|bits of an address)|the carry|is no linear map"
    assert re.search(wanted, str(proof.findings)), proof


@pytest.mark.parametrize(
    "body",
    [
        "test %rsi, %rsi; jz 1f; nop; 1:",
        "push %rsi; pop %rax; movdqu (%rax), %xmm1",
        "mov %rsi, -8(%rsp); mov -8(%rsp), %rax; movdqu (%rax), %xmm1",
        "mov %rsi, %rax; sub %rdi, %rax; movdqu (%rdi,%rax), %xmm1",
        "lea 16(%rsi), %rax; cmp %rsi, %rax; je 1f; nop; 1:",
        "movq %rsi, %xmm1; movq %xmm1, %rax; movdqu (%rax), %xmm1",
        "push %rbp; mov %rsp, %rbp; and $-64, %rsp; movaps %xmm0, -64(%rsp); mov %rbp, %rsp; pop %rbp",
        "mov %esi, %eax; and $15, %eax; xor %eax, %eax",
        "cmp %rsp, %rsi; ja 1f; nop; 1:",
        "mov %rsi, %rax; xor %edx, %edx; or %rsi, %rdx; jz 1f; nop; 1:",
        "lea constant(%rip), %rax; lea 8(%rax), %rdx; sub %rax, %rdx; cmp $8, %edx; je 1f; jp 1f; 1:",
        "lea 1f(%rip), %rax; lea 2f-1f(%rax), %rax; jmp *%rax; 1: ud2; 2:",
        "call 1f; 1: pop %rax",
        "push (%rsp); pop %rax; push %rax; lea 8(%rsp), %rsp",
        "mov pointer(%rip), %rax; movzbl (%rax), %eax",
        "movq pointer(%rip), %xmm1; movq %xmm1, %rax; lea f(%rip), %rdx; cmp %rax, %rdx; je 1f; ud2; 1:",
    ],
)
def test_an_address_may_be_moved_added_to_and_compared(tmp_path, body):
    assert prove(tmp_path, f"{body}; {RIGHT}").findings == ()


@pytest.mark.parametrize(
    ("body", "finding"),
    [
        ("movdqa (%rdi), %xmm1; vmovdqu (%rdi), %ymm1", ""),
        ("vmovdqa (%rdi), %ymm1", "must be a multiple of 32"),
        ("vmovdqa64 (%rdi), %zmm1", "must be a multiple of 64"),
        ("movdqa (%rsi), %xmm1", "must be a multiple of 16"),
        ("movdqa %xmm0, -24(%rsp)", ""),
        ("movdqa %xmm0, -32(%rsp)", "must be a multiple of 16"),
        ("vmovdqa %ymm0, -56(%rsp)", "nothing has aligned the stack to more than 16"),
        ("vmovdqa64 %zmm0, -120(%rsp)", "nothing has aligned the stack to more than 16"),
        ("push %rbp; mov %rsp, %rbp; and $-32, %rsp; vmovdqa %ymm0, -32(%rsp); leave", ""),
        (
            "push %rbp; mov %rsp, %rbp; and $-32, %rsp; vmovdqa64 %zmm0, -96(%rsp); leave",
            "nothing has aligned",
        ),
        ("mov 480(%rdi), %eax; cmp $16, %eax; je 1f; xor %eax, (%rsi); 1:", ""),
        ("mov 480(%rdi), %rax; cmp $16, %rax; je 1f; xor %eax, (%rsi); 1:", "depends on .*free bytes 3 of K"),
        ("mov 176(%rdi), %eax; xor %eax, (%rsi)", "not what the model says"),
    ],
)
def test_memory_holds_and_is_aligned_as_the_contract_says_and_no_more(tmp_path, body, finding):
    proof = prove(tmp_path, f"{body}; {RIGHT}")
    assert bool(proof.findings) == bool(finding), proof.findings
    assert not finding or re.search(finding, proof.findings[0]), proof.findings


@pytest.mark.parametrize(
    ("mask", "body", "finding"),
    [
        (0x3, "vmovdqu64 (%rsi), %zmm1{%k1}", ""),
        (0x7, "vmovdqu64 (%rsi), %zmm1{%k1}", "read of .*past the end of block"),
        (0x0, "vmovdqu64 64(%rsi), %zmm1{%k1}", ""),
        (0x0, "vmovdqa64 (%rsi), %zmm1{%k1}", "must be a multiple of 64"),
        (0x33, "vbroadcasti64x4 (%rsi), %zmm1{%k1}", "read of .*past the end of block"),
        (0x0, "vbroadcasti64x4 (%rsi), %zmm1{%k1}", ""),
        (0x33, "vbroadcasti64x2 (%rsi), %zmm1{%k1}", ""),
    ],
)
def test_a_mask_spares_what_the_manual_says_and_no_more(tmp_path, mask, body, finding):
    """Both makers' CPUs spare more: an aligned move without elements, the parts that no lane takes."""
    proof = prove(tmp_path, f"mov ${mask}, %eax; kmovw %eax, %k1; {body}; vzeroupper; {RIGHT}")
    assert bool(proof.findings) == bool(finding), proof.findings
    assert not finding or re.search(finding, proof.findings[0]), proof.findings


# Each block is the data XOR its counter, {before} the loop: a cipher is not needed to ask about counters.
COUNT = """
.globl f
f:
mov (%r8), %rax
mov 8(%r8), %r9
{before}
1:
mov %r9, %r10
bswap %r10
movq %r10, %xmm0
mov %rax, %r10
bswap %r10
movq %r10, %xmm1
punpcklqdq %xmm1, %xmm0
movdqu (%rsi), %xmm1
pxor %xmm1, %xmm0
movdqu %xmm0, (%rdx)
add $16, %rsi
add $16, %rdx
inc %rax
sub $16, %rcx
jnz 1b
ret
"""


def counted(call):
    source, destination = call.data()
    given, blocks = call.unknown("counter", 16, public=True), call.length // 16
    call.assume(call.a.part(given, 0, 8), 0, (1 << 64) - blocks)
    counter = call.readable("counter", given)
    call.arguments(call.readable("key", call.a.string(bytes(16))), source, destination, call.length, counter)
    call.must(destination, call.a.xor(call.source_data, call.a.counters(given[::-1], blocks)))


COUNTED = Contract("counted", "each block XOR its counter", counted, multiple=16)
STALE = """
mov $0x8000000000000000, %r11
cmp %rsi, %rdx
je 2f
cmp %r11, %rax
jae 3f
lea 8(%rax), %r10
shr $4, %r10
jmp 3f
2: cmp %r11, %rax
jb 3f
lea 8(%rax), %r10
shr $4, %r10
test %r10, %r10
jnz 3f
xor %eax, %eax
3:
"""
"""Out of place a bound is derived for (rax + 8) >> 4; in place that sum wraps, and rax with it."""


def test_a_contract_that_excludes_counters_is_proved_for_the_others(tmp_path):
    path = tmp_path / "count.S"
    path.write_text(COUNT.format(before=""))
    prover = Prover(load(path))
    for length in (16, 32, 48):
        proof = prover.prove("f", COUNTED, length, 16)
        assert proof.proved, proof.findings
        assert proof.cases > 0


def test_a_bound_of_one_case_does_not_hold_in_another(tmp_path):
    path = tmp_path / "count.S"
    path.write_text(COUNT.format(before=STALE))
    prover = Prover(load(path))
    assert prover.prove("f", COUNTED, 16, 16, in_place=False).proved
    assert not prover.prove("f", COUNTED, 16, 16, in_place=True).proved


def test_a_derived_bound_leaves_its_word_s_constant_out():
    expressions = Expressions()
    counters = Counters(expressions)
    word = tuple(expressions.inputs("n", 8).tolist())
    counters.assume({word: (100, 200)})
    counters._derived[word[::-1]] = (word, 4, 2, 3)
    assert counters.bounds(word[::-1]) == ((104 >> 2) - 3, (204 >> 2) - 3)
    counters.assume({})
    assert counters.bounds(word[::-1]) == (0, (1 << 64) - 1)


def test_two_buffers_of_one_name_are_no_contract(tmp_path):
    """The induction tells them apart by their names."""

    def setup(call):
        call.arguments(
            call.readable("key", call.unknown("a", 16)), call.writable("key", call.unknown("b", 16))
        )

    path = tmp_path / "snippet.S"
    path.write_text(".globl f\nf:\nret\n")
    with pytest.raises(ValueError, match="must have names of their own, not two 'key'"):
        Prover(load(path)).prove("f", Contract("twice", "", setup, has_length=False), 0, 16)


def test_a_contract_that_no_call_meets_proves_nothing(tmp_path):
    def setup(call):
        one_block(call)
        word = call.unknown("word", 8, public=True)
        call.assume(word, 5, 9)
        call.assume(word, 10, 20)

    path = tmp_path / "snippet.S"
    path.write_text(".globl f\nf:\nret\n")
    proof = Prover(load(path)).prove("f", Contract("never", "", setup, has_length=False), 0, 16)
    assert re.search("no case is possible", proof.findings[0])
