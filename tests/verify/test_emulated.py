"""AVX-512 code really runs in these tests, whatever CPU they run on; and what the emulator sees besides."""

import shutil
import subprocess
from functools import cache

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
STRIDE = {"xts": 11, "ctr": 7, "cts": 3, "cbc": 1, "cbc_streams": 1, "ecb": 1}
"""Of the brief level's cases every so many-th is run here, in two layouts."""

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
    return runner.call(Call("f", mode, bytes(992), bytes(size), size, bytes(16), layout, 3))


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
