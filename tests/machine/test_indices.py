"""Bits of a public input kept unknown: one form a function, and what comes of them for every value."""

import numpy as np
import pytest
from evaluating import evaluate
from hypothesis import given, settings
from hypothesis import strategies as st

import aeskit.machine.bind  # noqa: F401  (fills the table)
from aeskit.machine import indices
from aeskit.machine.errors import MemoryFault, SecretDependence
from aeskit.machine.gf2 import Expressions, keep
from aeskit.machine.memory import Memory, Region
from aeskit.machine.run import Machine
from aeskit.machine.splits import Choose, Narrow, Split
from aeskit.machine.symbolic import Symbolic

COUNTER = "counter"


def index(expressions, mask=0x1F, low=0, high=None):
    high = (1 << mask.bit_count()) - 1 if high is None else high
    return indices.kept(expressions, COUNTER, 0, mask, low, high)


def counter(domain, mask, size=8, low=0, high=None):
    """A word whose lowest byte has an index in the bits of `mask`."""
    expressions = domain.expressions
    ids = expressions.inputs(COUNTER, size).tolist()
    rest = expressions.map(keep(0xFF & ~mask), ids[0])
    return (expressions.xor(rest, index(expressions, mask, low, high)), *ids[1:])


def number(expressions, word, inputs):
    return int.from_bytes(bytes(evaluate(expressions, byte, inputs) for byte in word), "little")


TABLES = st.lists(st.integers(0, 255), min_size=32, max_size=32)


@given(TABLES, TABLES)
def test_equal_functions_have_one_form(first, second):
    """A function is its table; the sum of two, and their product, are those of their values."""
    expressions = Expressions()
    where = indices.coordinates_of(expressions, (index(expressions),))
    one, two, total, both = indices.function(
        expressions,
        where,
        np.array([first, second, np.bitwise_xor(first, second), np.bitwise_and(first, second)], np.uint8),
    )
    assert indices.values(expressions, one, where).tolist() == first
    assert expressions.xor(one, two) == total
    assert indices.product(expressions, one, two) == both


@given(TABLES, st.binary(min_size=2, max_size=2), st.integers(0, 255), st.integers(0, 255))
def test_a_product_with_a_secret_byte_is_that_of_the_values(table, given_bytes, kept_bits, constant):
    expressions = Expressions()
    where = indices.coordinates_of(expressions, (index(expressions),))
    choice = indices.function(expressions, where, np.array([table], np.uint8))[0]
    secret = expressions.map(keep(kept_bits), int(expressions.inputs("key", 1)[0])) ^ constant
    inputs = {COUNTER: given_bytes[:1], "key": given_bytes[1:]}
    product = indices.product(expressions, choice, secret)
    assert evaluate(expressions, product, inputs) == table[given_bytes[0] & 31] & evaluate(
        expressions, secret, inputs
    )
    assert expressions.inputs_of(product) <= {COUNTER, "key"}


def test_two_secret_bytes_have_no_product():
    expressions = Expressions()
    a, b = expressions.inputs("key", 2).tolist()
    assert indices.product(expressions, a, b) is None


@pytest.mark.parametrize("mask", [0x1F, 0x05, 0xF0])
def test_a_narrowed_index_is_the_nearest_value(mask):
    expressions = Expressions()
    values = [value for value in range(256) if value & ~mask == 0]
    byte = index(expressions, mask, 1, 2)
    for given_value in range(256):
        at = values.index(given_value & mask)
        assert evaluate(expressions, byte, {COUNTER: bytes([given_value])}) == values[min(max(at, 1), 2)]


@settings(deadline=None)
@given(
    st.sampled_from([0x01, 0x0F, 0x3F]),
    st.sampled_from([0, 5, 0xFFFFFFFFFFFFFFF0, 0xFFFFFFFFFFFFFFFF, 0x1F, 0xFFFFFFDF]),
    st.integers(-80, 80).map(lambda n: n % 2**64),
    st.integers(-80, 80).map(lambda n: n % 2**64),
)
def test_a_sum_is_that_of_the_values(mask, value, first, second):
    domain = Symbolic(public=frozenset({COUNTER}))
    counters, expressions = domain.counters, domain.expressions
    word = counter(domain, mask)
    total = counters.add(counters.add(word, first), second)
    inputs = {COUNTER: value.to_bytes(8, "little")}
    assert number(expressions, total, inputs) == (value + first + second) % 2**64
    assert total == counters.add(word, (first + second) % 2**64)
    assert total[:4] == counters.add(word[:4], (first + second) % 2**32)


def test_the_parts_of_a_counter_added_are_the_counter():
    """Its index plus 7, and what is above it: as code adds them that has taken them apart."""
    domain = Symbolic(public=frozenset({COUNTER}))
    word = counter(domain, 0x1F)
    low = domain.counters.indexed.low(word)
    inner = (domain.expressions.map(keep(0x1F), word[0]), *[0] * 7)
    whole = domain.counters.sum(low.upper, domain.counters.add(inner, 7))
    assert whole == domain.counters.add(word, 7)


def every_case(domain, ask):
    """(index bounds, intervals, answer) of a question in each case that it splits into."""
    todo = [(0, 31, {})]
    while todo:
        low, high, assumed = todo.pop()
        domain.counters.assume(assumed)
        try:
            yield low, high, assumed, ask(counter(domain, 0x1F, low=low, high=high))
        except Narrow as narrow:
            todo += [(low, narrow.at - 1, assumed), (narrow.at, high, assumed)]
        except Split as split:
            todo += [(low, high, {**assumed, split.word: half}) for half in split.halves]


@pytest.mark.parametrize("constant", [1, 31, 32, 33, 64, 70])
def test_a_carry_is_that_of_the_values_in_every_case(constant):
    """Of a counter near 2^64: each lies in one case, and the answer there is its own."""
    domain = Symbolic(public=frozenset({COUNTER}))
    counters = domain.counters
    ask = lambda word: counters.decide_either(  # noqa: E731
        counters.between(word, 2**64 - constant, 2**64 - 1)
    )
    cases = list(every_case(domain, ask))
    for value in [*range(2**64 - 130, 2**64), 0, 1, 40]:
        upper = value - value % 32
        answers = [
            answer
            for low, high, assumed, answer in cases
            if low <= value % 32 <= high and all(a <= upper <= b for a, b in assumed.values())
        ]
        assert answers == [value + constant >= 2**64]


def test_an_upper_half_takes_in_the_carry_of_an_index_undecided():
    domain = Symbolic(public=frozenset({COUNTER}))
    counters, expressions = domain.counters, domain.expressions
    word = counter(domain, 0x1F, 16)
    low, high = word[:8], word[8:]
    upper = counters.indexed.low(low).upper
    counters.assume({upper: (2**64 - 32, 2**64 - 32)})
    out = counters.with_carry(high, low, 5)
    for value in range(2**64 - 32, 2**64):
        inputs = {COUNTER: (value + (9 << 64)).to_bytes(16, "little")}
        assert number(expressions, out, inputs) == 9 + (value + 5 >= 2**64)


# ---- Tables in constant memory

TABLE = "; .section .rodata; .p2align 4; .Lt: " + "; ".join(
    f".quad {n * n * 977}, {n + 3}" for n in range(20)
)


def table_machine(assembled, source, mask=0x0F):
    domain = Symbolic(public=frozenset({COUNTER}))
    data = domain.expressions.inputs("data", 64)
    machine = Machine(assembled(source + TABLE + "; .text"), Memory([Region("data", 0x10000, data)]), domain)
    word = (index(domain.expressions, mask), *[0] * 7)
    machine.state.gpr[7], machine.state.gpr[6] = 0x10000, word
    return machine


READS = [
    "lea .Lt(%rip), %rax; shl $4, %esi; add %rax, %rsi; vmovdqu 16(%rsi), %ymm0; vmovdqu %ymm0, (%rdi)",
    "lea .Lt(%rip), %rax; vmovq (%rax,%rsi,8), %xmm0; vmovdqu %xmm0, (%rdi)",
    "lea .Lt(%rip), %rax; movzbl 3(%rax,%rsi,2), %ecx; mov %rcx, (%rdi); mov %rsi, 8(%rdi)",
    "lea .Lt(%rip), %rax; shl $4, %esi; movdqa (%rax,%rsi), %xmm0; movdqu %xmm0, (%rdi)",
]


@pytest.mark.parametrize("source", READS)
def test_a_read_at_an_unknown_index_is_that_at_each_value(assembled, source):
    machine = table_machine(assembled, source)
    machine.call("f")
    written = machine.memory.region("data").data.tolist()
    for value in range(16):
        numbers = Machine(machine.image, Memory([Region("data", 0x10000, np.arange(64, dtype=np.uint8))]))
        numbers.state.gpr[7], numbers.state.gpr[6] = 0x10000, value
        numbers.call("f")
        inputs = {COUNTER: bytes([value]), "data": bytes(range(64))}
        found = [evaluate(machine.domain.expressions, byte, inputs) for byte in written]
        assert found == numbers.memory.region("data").data.tolist()


REFUSED = {
    "beyond the table for some values": (
        "lea .Lt(%rip), %rax; shl $4, %esi; vmovdqu 80(%rax,%rsi), %xmm0",
        MemoryFault,
        "past the end",
    ),
    "aligned for some values alone": (
        "lea .Lt(%rip), %rax; vmovdqa (%rax,%rsi,8), %xmm0",
        MemoryFault,
        "multiple of 16",
    ),
    "written": ("lea .Lt(%rip), %rax; mov %rdi, (%rax,%rsi,8)", MemoryFault, "permits"),
    "an address of 32 bits": (
        "lea .Lt(%rip), %eax; vmovdqu (%eax,%esi,8), %xmm0",
        Choose,
        "choose an address",
    ),
    "far away": ("lea .Lt(%rip), %rax; shl $50, %rsi; mov (%rax,%rsi), %cl", Choose, "choose an address"),
    "twice in one address": (
        "lea .Lt(%rip), %rax; shl $4, %esi; add %rsi, %rax; vmovdqa (%rax,%rsi), %xmm0",
        MemoryFault,
        "multiple of 16",
    ),
    "the stack": ("vmovdqu -64(%rsp,%rsi), %xmm0", MemoryFault, "no memory|before|past"),
    "where to go": ("lea .Lt(%rip), %rax; add %rsi, %rax; jmp *%rax", Choose, "choose an address"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_an_index_may_not_do(assembled, what):
    """The proof then makes a case of each value."""
    source, error, text = REFUSED[what]
    with pytest.raises(error, match=text):
        table_machine(assembled, source).call("f")


def test_a_number_is_no_view_of_a_table(assembled):
    """That a table was read at an index gives no address that a CPU does not have."""
    source = f"{READS[1]}; movabs $0x4000000000000000, %rdx; mov (%rdx,%rax), %rcx"
    with pytest.raises(MemoryFault, match="no CPU has such an address"):
        table_machine(assembled, source).call("f")


@pytest.mark.parametrize("distance", [48, 50, 52, 54, 58, 61, 62, 63])
def test_an_index_far_away_is_not_another_one(assembled, distance):
    """Two indices have been met: no number added to one makes the other of it."""
    source = "lea .Lt(%rip), %rax; mov %esi, %ecx; xor $15, %ecx; mov (%rax,%rsi), %dl; mov (%rax,%rcx), %dl"
    for register in ("rsi", "rcx"):
        far = f"movabs $1 << {distance}, %r9; add %r9, %{register}; mov (%rax,%{register}), %dl"
        with pytest.raises(MemoryFault, match="no CPU has such an address"):
            table_machine(assembled, f"{source}; {far}").call("f")


def test_what_is_unknown_but_always_the_same_is_no_table(assembled):
    """The stack protector's word in a proof: an index reads no number of it."""
    machine = table_machine(assembled, "mov $0x30000, %eax; mov (%rax,%rsi), %cl")
    word = machine.domain.expressions.inputs("a word", 32)
    machine.memory.add(Region("a word", 0x30000, word, "r", constant=True))
    with pytest.raises(Choose):
        machine.call("f")


def test_a_secret_chooses_no_entry(assembled):
    machine = table_machine(assembled, READS[1])
    machine.state.gpr[6] = (int(machine.domain.expressions.inputs("key", 1)[0]), *[0] * 7)
    with pytest.raises(SecretDependence, match="key"):
        machine.call("f")
