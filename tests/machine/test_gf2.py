"""The GF(2) domain: canonical forms, the linear rows against random numbers, counters and their questions."""

import numpy as np
import pytest
from evaluating import evaluate
from hypothesis import given, settings
from hypothesis import strategies as st

import aeskit.machine.bind  # noqa: F401  (fills the table)
from aeskit.machine.counters import Predicate
from aeskit.machine.errors import OutsideDomain, SecretDependence
from aeskit.machine.gf2 import Expressions, keep
from aeskit.machine.memory import Memory, Region
from aeskit.machine.run import Machine
from aeskit.machine.semantics import TABLE, Kind
from aeskit.machine.splits import Split
from aeskit.machine.symbolic import Symbolic
from aeskit.machine.symbols import Symbols

LINEAR = sorted(name for name, row in TABLE.items() if row.kind is Kind.LINEAR and not row.sized)


@pytest.mark.parametrize("name", LINEAR)
def test_a_row_that_says_linear_is_linear(name):
    """f(x ⊕ y) ⊕ f(x) ⊕ f(y) ⊕ f(0) = 0 on random lanes, whatever the control."""
    row, random = TABLE[name], np.random.default_rng(1)
    takes_immediate = any(word in name for word in ("immediate", "prol", "pror", "keygen", "affine")) or (
        name.startswith(("pshld", "pshrd")) and "v" not in name
    )
    takes_immediate = takes_immediate and name not in ("prolvd", "prolvq", "prorvd", "prorvq")
    for _ in range(8):
        immediates = (int(random.integers(1, 80)),) if takes_immediate else ()
        control = random.integers(0, 64, (1, 16), np.uint8)
        x, y = (random.integers(0, 256, (row.arity, 4, 16), np.uint8) for _ in range(2))
        zero = np.zeros_like(x)

        def f(sources, immediates=immediates, control=control):
            given = [control if p in row.control else s for p, s in enumerate(sources)]
            return row.body(*given, *immediates).astype(np.uint8)

        assert not (f(x ^ y) ^ f(x) ^ f(y) ^ f(zero)).any()


def symbolic_machine(assembled, source, public=frozenset(), assumed=None):
    domain = Symbolic(public=public, assumed=assumed)
    memory = Memory([Region("data", 0x10000, domain.expressions.inputs("data", 64))])
    machine = Machine(assembled(source), memory, domain)
    machine.state.gpr[7] = 0x10000
    return machine


SNIPPETS = [
    "vmovdqu (%rdi), %xmm0; vpshufd $0x13, %xmm0, %xmm1; vpsrad $31, %xmm1, %xmm1; "
    "vpaddq %xmm0, %xmm0, %xmm0; vpxor %xmm0, %xmm1, %xmm0; vmovdqu %xmm0, (%rdi)",
    "movdqu (%rdi), %xmm0; movdqu 16(%rdi), %xmm1; aesenc %xmm1, %xmm0; aesdec %xmm1, %xmm0; "
    "aesimc %xmm0, %xmm0; aeskeygenassist $0x1b, %xmm0, %xmm0; movdqu %xmm0, (%rdi)",
    "mov (%rdi), %rax; mov 8(%rdi), %rdx; add %rax, %rax; adc %rdx, %rdx; sbb %ecx, %ecx; "
    "and $0x87, %ecx; xor %rcx, %rax; mov %rax, (%rdi); mov %rdx, 8(%rdi)",
    "mov (%rdi), %rax; mov 8(%rdi), %rdx; mov $0x87, %ecx; xor %esi, %esi; shld $1, %rax, %rdx; "
    "cmovc %ecx, %esi; shl %rax; xor %rsi, %rax; mov %rax, (%rdi); mov %rdx, 8(%rdi)",
    "mov (%rdi), %rax; bt $63, %rax; setc %cl; movzx %cl, %ecx; imul $0x87, %rcx, %rcx; "
    "lea (%rax,%rax), %rax; xor %rcx, %rax; bswap %rax; ror $13, %rax; mov %rax, (%rdi)",
    "vmovdqu64 (%rdi), %zmm0; vpclmulqdq $0x01, %zmm0, %zmm1, %zmm2; "
    "vpternlogq $0x96, %zmm0, %zmm0, %zmm0; vpsrldq $3, %zmm0, %zmm3; vpxorq %zmm3, %zmm2, %zmm0; "
    "vmovdqu64 %zmm0, (%rdi)",
    "pxor %xmm1, %xmm1; movdqu (%rdi), %xmm0; pcmpgtd %xmm0, %xmm1; pmovmskb %xmm0, %eax; "
    "mov %eax, 16(%rdi); movdqu %xmm1, (%rdi)",
    "movdqu (%rdi), %xmm0; mov $0x8040201008040201, %rax; movq %rax, %xmm1; movlhps %xmm1, %xmm1; "
    "movdqa %xmm0, %xmm2; gf2p8affineinvqb $0x63, %xmm1, %xmm0; gf2p8affineqb $1, %xmm1, %xmm2; "
    "gf2p8mulb %xmm1, %xmm2; pxor %xmm2, %xmm0; movdqu %xmm0, (%rdi)",
    "mov (%rdi), %rax; cqo; mov %rdx, (%rdi); mov 8(%rdi), %eax; cltd; mov %edx, 8(%rdi); "
    "movss 16(%rdi), %xmm0; movsd 24(%rdi), %xmm1; movss %xmm0, %xmm1; insertps $0xd1, %xmm0, %xmm1; "
    "movsd %xmm1, 16(%rdi)",
    "mov (%rdi), %al; mov %al, %bl; shr $4, %bl; and $15, %al; shl $4, %al; or %bl, %al; mov %al, 3(%rdi)",
]


@pytest.mark.parametrize("source", SNIPPETS, ids=range(len(SNIPPETS)))
def test_an_expression_has_the_value_that_the_numbers_have(assembled, source):
    if "zmm1, %zmm2" in source:
        source = "vpxorq %zmm1, %zmm1, %zmm1; mov $0x87, %eax; vmovq %rax, %xmm1; " + source
    machine = symbolic_machine(assembled, source)
    machine.call("f")
    ids = machine.memory.find("read", 0x10000, 64)[0].data
    random = np.random.default_rng(2)
    for _ in range(4):
        data = random.integers(0, 256, 64, np.uint8)
        numbers = Machine(assembled(source), Memory([Region("data", 0x10000, data.copy())]))
        numbers.state.gpr[7] = 0x10000
        numbers.call("f")
        expected = numbers.memory.find("read", 0x10000, 64)[0].data.tolist()
        inputs = {"data": data.tobytes()}
        assert [evaluate(machine.domain.expressions, byte, inputs) for byte in ids.tolist()] == expected


@settings(max_examples=60, deadline=None, derandomize=True)
@given(a=st.integers(0, 255), b=st.integers(0, 255), mask=st.integers(0, 255), table=st.integers(0, 255))
def test_logic_with_constants_is_exact(a, b, mask, table):
    expressions = Expressions()
    x, y = (Symbols(expressions.inputs(name, 1), expressions) for name in "xy")
    m = Symbols(np.array([mask]), expressions)
    row = TABLE["pternlogd"].body
    out = row(x, m, m, table) ^ (x & m | y & ~m)
    expected = row(np.uint8(a), np.uint8(mask), np.uint8(mask), table) ^ (a & mask | b & ~mask & 0xFF)
    inputs = {"x": bytes([a]), "y": bytes([b])}
    assert evaluate(expressions, int(out.ids[0]), inputs) == int(expected)


def test_the_substitution_undoes_itself_and_equal_means_one_id():
    expressions = Expressions()
    x, y = expressions.inputs("x", 2).tolist()
    assert expressions.substitute(expressions.substitute(x, "forward"), "inverse") == x
    assert expressions.xor(expressions.xor(x, y), y) == x
    assert expressions.substitute(expressions.xor(x, y), "forward") == expressions.substitute(
        expressions.xor(y, x), "forward"
    )


def test_counters_fold_and_ask(assembled):
    source = "mov (%rdi), %rax; add $3, %rax; sub $5, %rax; inc %rax; inc %rax; mov %rax, 8(%rdi)"
    machine = symbolic_machine(assembled, source)
    machine.call("f")
    data = machine.memory.find("read", 0x10000, 64)[0].data
    assert data[:8].tolist() == data[8:16].tolist()


@pytest.mark.parametrize(
    "more", ["lea 5(%rax), %eax", "lea 5(%eax), %eax", "lea 2(%rax), %eax; add $3, %eax", "add $5, %rax"]
)
def test_32_bits_of_a_sum_are_the_sum_of_32_bits(assembled, more):
    source = f"mov (%rdi), %eax; mov %eax, %edx; add $6, %edx; mov %edx, 8(%rdi); inc %eax; {more}"
    machine = symbolic_machine(assembled, source + "; mov %eax, 16(%rdi)")
    machine.call("f")
    data = machine.memory.find("read", 0x10000, 64)[0].data
    assert data[8:12].tolist() == data[16:20].tolist()
    for x in (0, 5, 0xFA, 0xFFFA, 0xFFFF_FFFA, 0xFFFF_FFFF, 0x1234_56FF):
        inputs = {"data": x.to_bytes(64, "little")}
        low = bytes(evaluate(machine.domain.expressions, int(b), inputs) for b in data[16:20])
        assert int.from_bytes(low, "little") == (x + 6) % (1 << 32)


def test_a_carry_of_a_public_counter_splits_and_of_a_secret_one_stops(assembled):
    source = "mov (%rdi), %rax; xor %ecx, %ecx; add $3, %rax; setc %cl; mov %rcx, 8(%rdi)"
    with pytest.raises(SecretDependence, match="depends on data"):
        symbolic_machine(assembled, source).call("f")
    with pytest.raises(Split) as found:
        symbolic_machine(assembled, source, public=frozenset({"data"})).call("f")
    assert found.value.at == (1 << 64) - 3
    low, high = found.value.halves
    for interval, carry in ((low, 0), (high, 1)):
        assumed = {found.value.word: interval}
        machine = symbolic_machine(assembled, source, public=frozenset({"data"}), assumed=assumed)
        machine.call("f")
        assert machine.memory.find("read", 0x10000, 64)[0].data[8] == carry


def test_a_counter_of_two_words_carries_undecided_and_every_value_is_right(assembled):
    source = (
        "mov (%rdi), %rax; mov 8(%rdi), %rdx; add $3, %rax; adc $0, %rdx; mov %rax, 16(%rdi); "
        "mov %rdx, 24(%rdi); add $250, %rax; adc $0, %rdx; mov %rax, 32(%rdi); mov %rdx, 40(%rdi)"
    )
    machine = symbolic_machine(assembled, source, public=frozenset({"data"}))
    machine.call("f")
    ids = machine.memory.find("read", 0x10000, 64)[0].data.tolist()
    for counter in (
        0,
        (1 << 64) - 3,
        (1 << 64) - 4,
        (1 << 64) - 253,
        (1 << 64) - 254,
        (1 << 128) - 1,
        7 << 64,
    ):
        inputs = {"data": counter.to_bytes(16, "little") + bytes(48)}
        values = bytes(evaluate(machine.domain.expressions, byte, inputs) for byte in ids)
        for at, step in ((16, 3), (32, 253)):
            assert int.from_bytes(values[at : at + 16], "little") == (counter + step) % (1 << 128)


@settings(max_examples=100, deadline=None, derandomize=True)
@given(
    offset=st.integers(0, 255), low=st.integers(0, 255), high=st.integers(0, 255), value=st.integers(0, 63)
)
def test_questions_about_a_multiple_of_four_are_answered_right(offset, low, high, value):
    """A byte 4·value + offset: between low and high? Asked under the assumption that fixes it."""
    domain = Symbolic(public=frozenset({"x"}))
    counters = domain.counters
    base = (domain.expressions.map(keep(0xFC), int(domain.expressions.inputs("x", 1)[0])),)
    counters.assumed = {base: (4 * value, 4 * value)}
    question = counters.between(counters.add(base, offset), low, high)
    expected = low <= (4 * value + offset) % 256 <= high
    assert (question if isinstance(question, bool) else counters.decide(question)) == expected


def test_what_leaves_the_domain_names_instruction_and_operand(assembled):
    with pytest.raises(OutsideDomain, match=r"vpand of the product of two unknown bits.*vpand.*0x2c5b"):
        symbolic_machine(assembled, "vmovdqu (%rdi), %xmm0; vpand 16(%rdi), %xmm0, %xmm1").call("f")
    with pytest.raises(SecretDependence, match=r"a branch depends on data.*jz|je"):
        symbolic_machine(assembled, "testb $1, (%rdi); jz 1f; 1:").call("f")
    with pytest.raises(SecretDependence, match="an address depends on data"):
        symbolic_machine(assembled, "mov (%rdi), %rax; mov (%rax), %rcx").call("f")
    with pytest.raises(OutsideDomain, match="pmuludq"):
        symbolic_machine(assembled, "movdqu (%rdi), %xmm0; pmuludq %xmm0, %xmm0").call("f")


@pytest.mark.parametrize(
    ("source", "who"),
    [
        ("imul %ecx, %eax; jz 1f; 1:", "imul"),
        ("mul %ecx; js 1f; 1:", "mul"),
        ("bt $3, %eax; js 1f; 1:", "bt"),
        ("shl $3, %eax; jo 1f; 1:", "shl"),
        ("bextr %ecx, %eax, %eax; setp %al", "bextr"),
        ("andn %ecx, %eax, %eax; jp 1f; 1:", "andn"),
        ("tzcnt %ecx, %eax; js 1f; 1:", "tzcnt"),
        ("shl $8, %al; jc 1f; 1:", "shl"),
        ("shr $31, %al; jc 1f; 1:", "shr"),
        ("mov $17, %ecx; shr %cl, %ax; jc 1f; 1:", "shr"),
        ("mov (%rdi), %rax; shl $16, %ax; jc 1f; 1:", "shl"),
    ],
)
def test_a_flag_that_an_instruction_leaves_undefined_is_refused_for_numbers_too(assembled, source, who):
    with pytest.raises((OutsideDomain, SecretDependence), match=f"a flag that .*{who} leaves undefined"):
        symbolic_machine(assembled, f"mov $3, %eax; mov $5, %ecx; {source}").call("f")


def test_flags_that_stay_defined_can_be_read(assembled):
    source = "mov $3, %eax; mov $5, %ecx; imul %ecx, %eax; jc 1f; bt $0, %eax; jnc 1f; shl $3, %eax; jz 1f"
    shifts = "mov $0x80, %al; sar $9, %al; jnc 1f; mov $1, %al; shr $1, %al; jnc 1f; shl $16, %eax; jc 1f"
    symbolic_machine(assembled, f"{source}; {shifts}; ret; 1: ud2").call("f")


@pytest.mark.parametrize("value", ["mov $3, %eax", "mov (%rdi), %rax"], ids=["number", "unknown"])
@pytest.mark.parametrize(
    "source",
    [".byte 0x66, 0x0f, 0xc8", "shld $17, %cx, %ax", "mov $31, %ecx; shrd %cl, %dx, %ax"],
    ids=["bswap", "shld", "shrd"],
)
def test_a_result_that_an_instruction_leaves_undefined_is_refused_for_numbers_too(assembled, source, value):
    with pytest.raises(OutsideDomain, match="a result that the SDM leaves undefined"):
        symbolic_machine(assembled, f"{value}; {source}").call("f")


def test_a_public_value_of_16_bits_shifted_by_more_is_zero(assembled):
    source = "mov (%rdi), %rax; shr $17, %ax; test %ax, %ax; jne 1f; ret; 1: ud2"
    symbolic_machine(assembled, source, public=frozenset({"data"})).call("f")


def test_shifts_of_16_bits_by_as_many_are_defined(assembled):
    source = "mov $0x1234, %eax; mov $0x5678, %ecx; shld $16, %cx, %ax; cmp $0x5678, %ax; jne 1f"
    symbolic_machine(assembled, f"{source}; ret; 1: ud2").call("f")


def test_a_predicate_is_a_question_about_the_base():
    domain = Symbolic()
    word = tuple(domain.expressions.inputs("x", 8).tolist())
    moved = domain.counters.add(word, 10)
    assert domain.counters.between(moved, 0, 9) == Predicate(word, (1 << 64) - 10, (1 << 64) - 1)
