"""AVX-512 code really runs in these tests, whatever CPU they run on; and what the emulator sees besides."""

import re
import shutil
import subprocess
from functools import cache
from pathlib import Path

import pytest
from engines import NO_EMULATOR

from aeskit import _native, implementations
from aeskit.machine.bochs import errata
from aeskit.machine.decode import decode
from aeskit.machine.loader import load
from aeskit.verify import cases, command, inputs, layouts, oracle
from aeskit.verify.differential import examine
from aeskit.verify.emulated import EMULATED, EmulatedRunner
from aeskit.verify.layouts import Layout
from aeskit.verify.runner import Call, Fault

pytestmark = pytest.mark.skipif(bool(NO_EMULATOR), reason=NO_EMULATOR or "-")

WIDE = [row for row in implementations.ALL if "AVX512F" in row.needs and row.built]
STRIDE = {"xts": 11, "ctr": 7, "cts": 3, "cbc": 1, "cbc_streams": 1, "ecb": 1, "xts_sectors": 1}
"""Of the brief level's cases every so many-th is run here, in two layouts."""

NATIVE = Path(__file__).parents[2] / "native"
ANYWHERE = Layout("out_of_place")

runner = cache(EmulatedRunner)


@pytest.mark.parametrize("row", WIDE, ids=lambda row: row.name)
def test_avx512_code_computes_what_cryptography_does(row):
    ran = 0
    every = enumerate(cases.cases(row.mode, row.direction, "brief"))
    for number, case in every:
        if number % STRIDE[row.mode] and case.length > 48:
            continue
        made = inputs.of(case)
        expected, context = oracle.expected(made), oracle.context(made.mode, made.key)
        places = layouts.of(case.mode, case.length, "quick", number)
        for layout in (places[number % len(places)], places[number * 7 % 6]):
            assert examine(runner(), row.name, made, context, expected, layout) is None
            ran += 1
    assert ran > 50


def test_every_implementation_can_be_emulated():
    assert [row.name for row in implementations.ALL if row.can(EMULATED)] == []


@pytest.fixture(scope="module")
def faulty(tmp_path_factory):
    """A runner of one function f in AT&T syntax."""
    if not shutil.which("cc"):
        pytest.skip("needs a C compiler")
    folder = tmp_path_factory.mktemp("faulty")

    def make(body):
        source, made = folder / f"{abs(hash(body))}.S", folder / f"{abs(hash(body))}.o"
        source.write_text(f".globl f\nf:\n{body}\nret\n".replace("; ", "\n"))
        subprocess.run(["cc", "-c", "-o", made, source], check=True)
        return EmulatedRunner(made)

    return make


def run(runner, mode="ecb", layout=ANYWHERE, size=64):
    return runner.call(Call("f", mode, bytes(range(248)) * 4, bytes(size), size, bytes(16), layout, 3))


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("mov $1, %ebx", "rbx must be preserved"),
        ("xor %r12d, %r12d; xor %r15d, %r15d", "r12, r15 must be preserved"),
        ("std", "the direction flag must be clear"),
        ("vpcmpeqd %ymm3, %ymm3, %ymm3", "vzeroupper is missing"),
        ("vpternlogd $0xff, %zmm0, %zmm0, %zmm0", "vzeroupper is missing"),
        ("mov 64(%rdi,%r9,1), %eax", "general protection fault"),
        ("ud2", "undefined instruction"),
        ("1: jmp 1b", "no return in"),
        ("syscall", "system call"),
        (
            "movdqu (%rdi), %xmm0; movdqu %xmm0, -32(%rsp)",
            "leaves 0706050403020100 on its stack, 32 bytes below",
        ),
        (
            "sub $96, %rsp; movq (%rdi), %xmm9; movdqu %xmm9, (%rsp); add $96, %rsp",
            "on its stack, 96 bytes below",
        ),
    ],
)
def test_what_breaks_the_abi_is_a_fault(faulty, body, told):
    with pytest.raises(Fault, match=told):
        run(faulty(body), "cts")


def test_upper_halves_of_zmm16_and_above_are_nobodys_business(faulty):
    run(faulty("vmovdqu64 (%rsi), %zmm17"))


@pytest.mark.parametrize("size", [16, 33, 64])
def test_one_byte_past_a_buffer_is_a_fault_at_the_guard_page(faulty, size):
    last = Layout("ends_at_guard_page", edge="end")
    run(faulty("mov -1(%rsi,%rcx,1), %al"), layout=last, size=size)
    with pytest.raises(Fault, match="read of unmapped"):
        run(faulty("mov (%rsi,%rcx,1), %al"), layout=last, size=size)
    first = Layout("begins_at_guard_page", edge="begin")
    with pytest.raises(Fault, match=r"write of unmapped .* in f"):
        run(faulty("mov %al, -1(%rdx)"), layout=first, size=size)


def test_what_is_no_secret_may_stay_on_the_stack(faulty):
    run(faulty("push %rbx; push %rdi; push %rsp; movq $0, -64(%rsp); add $24, %rsp"))


def test_registers_that_held_a_key_are_zero_after_its_expansion(tmp_path):
    """Our own template without its last lines."""
    source = (NATIVE / "keys.S").read_text().replace("pxor \\used, \\used", "nop")
    (tmp_path / "keys.S").write_text(source)
    (tmp_path / "lanes.inc").write_text((NATIVE / "lanes.inc").read_text())
    call = Call("keys_expand_aesni", "keys", b"", bytes(range(32)), 496, b"", ANYWHERE)
    EmulatedRunner(NATIVE / "keys.S").call(call)
    with pytest.raises(
        Fault, match="returns with what is left of the key in zmm0, zmm1, zmm2, zmm3: must be zero"
    ):
        EmulatedRunner(tmp_path / "keys.S").call(call)


@pytest.mark.parametrize(
    ("was", "becomes"),
    [("vmovdqa [\\set + \\i * VL], spare", "nop"), ("each 0, 9, zero_slot", "each 0, 1, zero_slot")],
)
def test_tweaks_on_the_stack_are_zero_on_return(was, becomes, tmp_path):
    """Our own template, and the same without what zeroes them."""
    for path in (NATIVE / "xts.S", *NATIVE.glob("*.inc")):
        (tmp_path / path.name).write_text(path.read_text().replace(was, becomes))
    made = inputs.of(cases.Case("xts", "encrypt", 256, 999))
    given = (made, oracle.context(made.mode, made.key), oracle.expected(made), ANYWHERE)
    assert examine(runner(), "xts_encrypt_vaes_avx2", *given) is None
    told = examine(EmulatedRunner(tmp_path / "xts.S"), "xts_encrypt_vaes_avx2", *given)
    assert re.fullmatch(r"leaves [0-9a-f]{16} on its stack, \d+ bytes below its return address", told)


def test_the_command_runs_in_the_emulator(capsys):
    assert command.verify(["ecb"], ["ecb_encrypt_vaes_avx512_512"], None, 0, [], None, "emulator") == 0
    out = capsys.readouterr().out
    assert "emulator" in out
    assert "0 failures, 0 skipped" in out
    line = "ecb_encrypt_vaes_avx512_512:256:64:in_place:random:0"
    assert command.replay(line, None, "emulator") == 0


def test_the_core_uses_nothing_that_the_emulator_gets_wrong():
    image = load(_native.__file__)
    for name in (row.name for row in implementations.ALL if row.built):
        at = image.symbols[name]
        end = at + image.functions[name]
        assert end > at
        while at < end:
            instruction = decode(image, at)
            assert errata.wrong(instruction) == ""
            assert instruction.mnemonic != "vpsravq"
            at = instruction.following
