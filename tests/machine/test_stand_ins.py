"""Functions of others: what stands in for them does what C says, and leaves nothing to rely on."""

import shutil
import subprocess

import numpy as np
import pytest
from elftools.elf.elffile import ELFFile
from engines import NO_EMULATOR, NO_SILICON

from aeskit.contracts import ALL, Contract
from aeskit.machine import events, stand_ins
from aeskit.machine.bochs.steps import Bochs
from aeskit.machine.decode import THREAD
from aeskit.machine.loader import load
from aeskit.machine.lockstep import lockstep
from aeskit.machine.memory import Memory, Region
from aeskit.machine.run import Machine
from aeskit.machine.silicon import Silicon
from aeskit.verify.proving.proof import Prover

DATA = 0x5000_0000


def assembled(folder, text):
    path = folder / "sample.S"
    path.write_text(text)
    return load(path)


def calling(folder, name):
    return assembled(folder, f".text\n.globl f\n.type f, @function\nf: jmp {name}\n")


def test_the_bytes_are_those_of_the_source(tmp_path):
    source, out = tmp_path / "source.S", tmp_path / "out.o"
    source.write_text(stand_ins.SOURCE)
    subprocess.run([shutil.which("gcc") or "cc", "-c", source, "-o", out], check=True)
    with out.open("rb") as file:
        elf = ELFFile(file)
        assert elf.get_section_by_name(".text").data() == stand_ins.CODE
        labels = {s.name: s["st_value"] for s in elf.get_section_by_name(".symtab").iter_symbols()}
    places = {"explicit_bzero": "bzero", "memzero_explicit": "bzero", "OPENSSL_cleanse": "bzero"}
    places |= {"mcount": "traced", "__fentry__": "traced", "__x86_return_thunk": "kept"}
    for name, place in stand_ins.FUNCTIONS.items():
        label = name.replace("__x86_indirect_thunk", "jump")
        assert place == labels[places.get(label, label)], name
    for place in stand_ins.RETURNS:
        assert stand_ins.CODE[place] == 0xC3
        assert stand_ins.CODE[place - 5] == 0xE8
    assert stand_ins.CODE[stand_ins.COPY :][:2] == b"\xf3\xa4"


@pytest.mark.parametrize(
    ("name", "arguments", "after"),
    [
        ("memcpy", (DATA, DATA + 8, 5), b"ijklmfghijklmnop"),
        ("memmove", (DATA, DATA + 2, 9), b"cdefghijkjklmnop"),
        ("memmove", (DATA + 2, DATA, 9), b"ababcdefghilmnop"),
        ("memmove", (DATA + 2, DATA, 0), b"abcdefghijklmnop"),
        ("memset", (DATA + 3, 0x1278, 4), b"abcxxxxhijklmnop"),
        ("bzero", (DATA + 3, 4), b"abc\0\0\0\0hijklmnop"),
        ("OPENSSL_cleanse", (DATA + 15, 1), b"abcdefghijklmno\0"),
        ("__memcpy_chk", (DATA, DATA + 8, 5, 16), b"ijklmfghijklmnop"),
        ("__memset_chk", (DATA, 0x2E, 3, 3), b"...defghijklmnop"),
        ("__fentry__", (), b"abcdefghijklmnop"),
    ],
)
def test_they_do_what_c_says(tmp_path, name, arguments, after):
    data = Region("data", DATA, np.frombuffer(b"abcdefghijklmnop", np.uint8).copy())
    machine = Machine(calling(tmp_path, name), Memory([data]))
    for number, value in zip((7, 6, 2, 1), arguments, strict=False):
        machine.state.gpr[number] = value
    machine.call("f")
    assert bytes(data.data) == after
    assert name.startswith(("b", "O", "__f")) or machine.state.gpr[0] == arguments[0]


def test_more_than_fits_is_refused(tmp_path):
    machine = Machine(calling(tmp_path, "__memcpy_chk"))
    for number, value in zip((7, 6, 2, 1), (DATA, DATA, 9, 8), strict=True):
        machine.state.gpr[number] = value
    with pytest.raises(Exception, match="ud2"):
        machine.call("f")


def test_a_jump_through_a_thunk_goes_where_its_register_says(tmp_path):
    image = assembled(
        tmp_path,
        ".text\n.globl f\nf: lea g(%rip), %r13\ncall __x86_indirect_thunk_r13\nadd $1, %rax\n"
        "jmp __x86_return_thunk\ng: mov $41, %eax\njmp __x86_return_thunk\n",
    )
    machine = Machine(image)
    machine.call("f")
    assert machine.state.gpr[0] == 42


def copy_of_16(call):
    target, block = call.writable("target", call.unknown("old", 16)), call.unknown("block", 16)
    call.arguments(target, call.readable("source", block), 16)
    call.must(target, block)


COPY = Contract("copy", "16 bytes copied", copy_of_16, key_sizes=(16,), has_length=False)


def test_a_copy_of_which_the_file_chooses_the_code_when_it_is_loaded(tmp_path):
    """As a program that is linked with its C library has it: the slot is the chooser's, IRELATIVE."""
    source, out = tmp_path / "chosen.S", tmp_path / "chosen.so"
    source.write_text(
        ".globl f\n.type f, @function\nf: call memcpy@PLT\nret\n.globl memcpy\n.hidden memcpy\n"
        ".type memcpy, @gnu_indirect_function\nmemcpy: lea g(%rip), %rax\nret\ng: ud2\n"
    )
    subprocess.run(["gcc", "-shared", "-nostdlib", source, "-o", out], check=True)
    data = Region("data", DATA, np.frombuffer(b"abcdefghijklmnop", np.uint8).copy())
    machine = Machine(load(out), Memory([data]))
    machine.state.gpr[7], machine.state.gpr[6], machine.state.gpr[2] = DATA, DATA + 8, 3
    machine.call("f")
    assert bytes(data.data) == b"ijkdefghijklmnop"
    proof = Prover(load(out)).prove("f", COPY, 0, 16)
    assert proof.proved, proof.findings
    assert proof.stand_ins == ("memcpy",)


# ---- In a proof


def one_block(call):
    old, block = call.unknown("old", 16), call.unknown("block", 16)
    target = call.writable("target", old)
    call.arguments(target, call.readable("source", block))
    call.must(target, block)


ONE = Contract("one", "16 bytes copied", one_block, key_sizes=(16,), has_length=False)
FRAME = "push %rbx; push %r12; sub $8, %rsp; mov %rdi, %rbx; mov %rsi, %r12; mov $16, %edx; "
END = "; add $8, %rsp; pop %r12; pop %rbx; ret"


def prove(folder, body):
    text = f".text\n.globl f\n.type f, @function\nf: {FRAME}{body}{END}\n".replace("; ", "\n")
    return Prover(assembled(folder, text)).prove("f", ONE, 0, 16)


def test_a_copy_is_proved_and_told(tmp_path):
    proof = prove(tmp_path, "call memcpy@PLT")
    assert proof.proved, proof.findings
    assert proof.stand_ins == ("memcpy",)
    assert prove(tmp_path, "movups (%rsi), %xmm0; movups %xmm0, (%rdi)").stand_ins == ()


@pytest.mark.parametrize(
    "body",
    [
        "mov $15, %edx; call memcpy",
        "movups (%rsi), %xmm9; call memcpy; movups %xmm9, (%rbx)",  # a callee may change xmm9
        "mov %rdi, %r11; call memcpy; movups (%r12), %xmm0; movups %xmm0, (%r11)",
        "call memcpy; mov %rcx, %rax; xor %rcx, %rax; xor %edx, %eax; mov %eax, (%rbx)",
        "call memcpy; cmp %ecx, %edx; je 1f; 1:",
        "mov %rdi, %rsi; lea 1(%rsi), %rdi; mov $15, %edx; call memcpy; movups (%r12), %xmm0; "
        "movups %xmm0, (%rbx)",  # the two overlap
        "call memcpy; mov %rbx, %rdi; mov $1, %esi; call bzero",
        # what two calls leave is not the same
        "call memcpy; mov %rcx, (%rsp); mov $16, %edx; mov %rbx, %rdi; mov %r12, %rsi; call memcpy; "
        "xor (%rsp), %rcx; xor %cl, (%rbx)",
        "sub $16, %rsp; call memcpy; movups %xmm3, (%rsp); mov $16, %edx; mov %rbx, %rdi; mov %r12, %rsi; "
        "call memcpy; movups (%rsp), %xmm0; pxor %xmm3, %xmm0; add $16, %rsp; movups (%rbx), %xmm1; "
        "pxor %xmm1, %xmm0; movups %xmm0, (%rbx)",
        # a callee's stack lies where the red zone was
        "movb $0, -40(%rsp); call memcpy; mov -40(%rsp), %al; xor %al, (%rbx)",
        "movb $0, -9(%rsp); call memcpy; mov -9(%rsp), %al; xor %al, (%rbx)",
        "movb $0, -40(%rsp); call mcount; call memcpy; mov -40(%rsp), %al; xor %al, (%rbx)",
        "call memcpy; movb $0, -40(%rsp); call __fentry__; mov -40(%rsp), %al; xor %al, (%rbx)",
        # bzero gives nothing back
        "call memcpy; sub $16, %rsp; mov %rsp, %rdi; mov $8, %esi; call bzero; sub %rsp, %rax; "
        "lea 16(%rsp), %rsp; xor %al, (%rbx)",
    ],
)
def test_what_a_callee_may_do_otherwise_is_not_proved(tmp_path, body):
    assert not prove(tmp_path, body).proved


# ---- The stack protector

PROTECTED = (
    "mov %fs:0x28, %rax; mov %rax, (%rsp); call memcpy; mov (%rsp), %rdx; sub %fs:0x28, %rdx; "
    "je 1f; call __stack_chk_fail; 1:"
)


def test_the_stack_protectors_word_is_one_that_nobody_knows(tmp_path):
    proof = prove(tmp_path, PROTECTED)
    assert proof.proved, proof.findings
    told = prove(tmp_path, PROTECTED.replace("(%rsp), %rdx", "%rbx, %rdx"))
    assert not told.proved
    written = prove(tmp_path, PROTECTED + "; mov %fs:0x28, %rax; mov %al, (%rbx)")
    assert "target: block 0 byte 0" in written.findings[0]
    assert "fs and gs are not known, but" in prove(tmp_path, "mov %fs:0x30, %rax").findings[0]


@pytest.mark.parametrize(
    "engine",
    [
        pytest.param(Silicon, marks=pytest.mark.skipif(bool(NO_SILICON), reason=NO_SILICON or "-")),
        pytest.param(Bochs, marks=pytest.mark.skipif(bool(NO_EMULATOR), reason=NO_EMULATOR or "-")),
    ],
)
def test_it_is_the_same_in_every_engine(tmp_path, engine):
    image = assembled(tmp_path, ".text\n.globl f\nf: mov %fs:0x28, %rax\nxor %fs:0x28, %rax\nret\n")
    result = lockstep(Machine(image), "f", engine)
    assert result.difference is None, str(result)
    assert any(section.address == THREAD + 0x28 for section in image.sections)


# ---- Signs


def test_a_tweak_doubled_with_its_sign_spread_by_cqo(tmp_path):
    """As gcc makes it of (int64_t)high >> 63; the contract's update of one block is the doubling."""
    image = assembled(
        tmp_path,
        """
        .text
        .globl f
        .type f, @function
f:      movups (%rdi), %xmm1
        movups (%rsi), %xmm0
        movups (%r8), %xmm2
        pxor %xmm2, %xmm0
        pxor %xmm1, %xmm0
        mov 480(%rdi), %eax
        lea 24(%rax), %r9d
        shr $2, %r9d
        mov %rdi, %r10
1:      add $16, %r10
        aesenc (%r10), %xmm0
        dec %r9d
        cmp $1, %r9d
        jne 1b
        aesenclast 16(%r10), %xmm0
        pxor %xmm2, %xmm0
        movups %xmm0, (%rdx)
        mov 8(%r8), %rax
        mov (%r8), %rcx
        cqo
        and $0x87, %edx
        add %rcx, %rcx
        adc %rax, %rax
        xor %rdx, %rcx
        mov %rcx, (%r8)
        mov %rax, 8(%r8)
        ret
        """,
    )
    proof = Prover(image).prove("f", ALL["xts_encrypt_tweak"], 16, 32)
    assert proof.proved, proof.findings


# ---- Repeated instructions, told by every engine

COPIES = (
    ".text\n.globl f\nf: mov $5, %ecx\nrep movsb\nmov $3, %ecx\nxor %eax, %eax\nrep stosl\nmovsw\n"
    "mov %fs:0x28, %rax\nret\n"
)


@pytest.mark.skipif(bool(NO_SILICON), reason=NO_SILICON or "-")
def test_a_repeated_instruction_is_told_by_silicon_as_by_the_lane_machine(tmp_path):
    """Each byte that it touches: else a copy in another run seems to be one from another place."""
    told = []
    for run in (events.lanes, lambda machine, name: events.engine(machine, name, Silicon)):
        data = Region("data", DATA, np.arange(64, dtype=np.uint8))
        machine = Machine(assembled(tmp_path, COPIES), Memory([data]))
        machine.state.gpr[7], machine.state.gpr[6] = DATA, DATA + 32
        told.append([sorted(event.accesses) for event in run(machine, "f").events])
    assert told[0] == told[1]
    copied = [(kind, at) for kind, at, _ in told[0][1]]
    assert [access[:2] for access in told[1][-2]] == [("r", THREAD + 0x28)]
    assert copied == [("r", DATA + 32 + n) for n in range(5)] + [("w", DATA + n) for n in range(5)]
