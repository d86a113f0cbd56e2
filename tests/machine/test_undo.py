"""What a source must have been for a result: each instruction beside Python's own bytes and integers."""

import random

import numpy as np
import pytest

from aeskit.machine import decode as d
from aeskit.machine.again import Place
from aeskit.machine.equations import solve
from aeskit.machine.events import lanes
from aeskit.machine.memory import Memory, Region
from aeskit.machine.run import Machine
from aeskit.machine.undo import History, Must, all_of

DATA = 0x9000_0000
WIDE = (1 << 64) - 1
ALL = bytes([0xFF]) * 16


def made(assembled, code, seed=1):
    """One instruction run over random registers and memory, which rdi points at."""
    drawn = random.Random(seed)
    memory = Memory([Region("data", DATA, np.frombuffer(drawn.randbytes(256), np.uint8).copy())])
    machine = Machine(assembled(code), memory)
    machine.state.v[...] = np.frombuffer(drawn.randbytes(32 * 64), np.uint8).reshape(32, 64)
    machine.state.gpr[:4] = [drawn.getrandbits(64) for _ in range(4)]
    machine.state.gpr[8:] = [drawn.getrandbits(64) for _ in range(8)]
    machine.state.gpr[7], machine.state.k[1], machine.state.cf = DATA, 0x00F0, 1
    return lanes(machine, "f")


def before(run, name):
    if name[1:3] == "mm":
        return run.start.v[int(name[3:])].tobytes()
    return run.start.gpr[d.GPR_NAMES.index(name)].to_bytes(8, "little")


def number(data):
    return int.from_bytes(data, "little")


def word(value, size=8):
    return (value % (1 << 8 * size)).to_bytes(size, "little")


def lane(name, n=0):
    return Place(name, 16 * n, 16)


def of(name):
    return Place(name, 0, 8)


def blended(x, run):
    mask, other = before(run, "zmm3"), before(run, "zmm1")
    return bytes(x[i] if mask[i] >> 7 else other[i] for i in range(16))


def by_words(x, shift):
    return b"".join(word(shift(number(x[at : at + 8]))) for at in (0, 8))


KEEP = (1 << 57) - 1

VECTORS = [
    ("vmovdqa %ymm1, %ymm0", lane("zmm0", 1), lane("zmm1", 1), lambda x, run: x, ALL),
    ("vpalignr $5, %xmm2, %xmm1, %xmm0", lane("zmm0"), lane("zmm2"),
     lambda x, run: (x + before(run, "zmm1")[:16])[5:21], bytes(5) + ALL[5:]),
    ("vpalignr $5, %xmm2, %xmm1, %xmm0", lane("zmm0"), lane("zmm1"),
     lambda x, run: (before(run, "zmm2")[:16] + x)[5:21], ALL[:5] + bytes(11)),
    ("vpblendvb %xmm3, %xmm2, %xmm1, %xmm0", lane("zmm0"), lane("zmm2"), blended, None),
    ("vpblendd $6, %xmm2, %xmm1, %xmm0", lane("zmm0"), lane("zmm2"),
     lambda x, run: before(run, "zmm1")[:4] + x[4:12] + before(run, "zmm1")[12:16],
     bytes(4) + ALL[:8] + bytes(4)),
    ("pblendw $0xf0, %xmm1, %xmm0", lane("zmm0"), lane("zmm0"),
     lambda x, run: x[:8] + before(run, "zmm1")[8:16], ALL[:8] + bytes(8)),
    ("vpermq $0x4e, %ymm1, %ymm0", lane("zmm0", 1), lane("zmm1", 0), lambda x, run: x, ALL),
    ("vperm2i128 $0x21, %ymm2, %ymm1, %ymm0", lane("zmm0", 0), lane("zmm1", 1), lambda x, run: x, ALL),
    ("vperm2i128 $0x21, %ymm2, %ymm1, %ymm0", lane("zmm0", 1), lane("zmm2", 0), lambda x, run: x, ALL),
    ("vpslldq $3, %xmm1, %xmm0", lane("zmm0"), lane("zmm1"),
     lambda x, run: bytes(3) + x[:13], ALL[:13] + bytes(3)),
    ("psrldq $8, %xmm0", lane("zmm0"), lane("zmm0"), lambda x, run: x[8:] + bytes(8), bytes(8) + ALL[:8]),
    ("vpsllq $7, %xmm1, %xmm0", lane("zmm0"), lane("zmm1"),
     lambda x, run: by_words(x, lambda v: v << 7), word(KEEP) * 2),
    ("vpunpcklqdq %xmm2, %xmm1, %xmm0", lane("zmm0"), lane("zmm2"),
     lambda x, run: before(run, "zmm1")[:8] + x[:8], ALL[:8] + bytes(8)),
    ("vpaddq %xmm2, %xmm1, %xmm0", lane("zmm0"), lane("zmm1"),
     lambda x, run: b"".join(
         word(number(x[i : i + 8]) + number(before(run, "zmm2")[i : i + 8])) for i in (0, 8)
     ), ALL),
    ("vmovdqu8 %xmm1, %xmm0{%k1}", lane("zmm0"), lane("zmm1"),
     lambda x, run: before(run, "zmm0")[:4] + x[4:8] + before(run, "zmm0")[8:16],
     bytes(4) + ALL[:4] + bytes(8)),
    ("valignq $3, %zmm2, %zmm1, %zmm0", lane("zmm0", 0), lane("zmm2", 1),
     lambda x, run: x[8:] + before(run, "zmm2")[32:40], bytes(8) + ALL[:8]),
    ("vpshufb %xmm2, %xmm1, %xmm0", lane("zmm0"), lane("zmm1"),
     lambda x, run: bytes(0 if i >> 7 else x[i & 15] for i in before(run, "zmm2")[:16]), None),
]  # fmt: skip

SCALARS = [
    ("movq %r8, %xmm0", lane("zmm0"), of("r8"), lambda x, run: x + bytes(8), ALL[:8]),
    ("vpinsrq $1, %r8, %xmm1, %xmm0", lane("zmm0"), of("r8"),
     lambda x, run: before(run, "zmm1")[:8] + x, ALL[:8]),
    ("vpextrq $1, %xmm1, %rax", of("rax"), lane("zmm1"), lambda x, run: x[8:], bytes(8) + ALL[:8]),
    ("bswap %r9", of("r9"), of("r9"), lambda x, run: x[::-1], ALL[:8]),
    ("xor %r8, %r9", of("r9"), of("r8"),
     lambda x, run: word(number(x) ^ number(before(run, "r9"))), ALL[:8]),
    ("shl $3, %r9", of("r9"), of("r9"), lambda x, run: word(number(x) << 3), word(WIDE >> 3)),
    ("shr $60, %r9", of("r9"), of("r9"), lambda x, run: word(number(x) >> 60), word(0xF << 60)),
    ("rol $9, %r9", of("r9"), of("r9"),
     lambda x, run: word(number(x) << 9 | number(x) >> 55), ALL[:8]),
    ("adc %r9, %r9", of("r9"), of("r9"), lambda x, run: word(2 * number(x) + 1), word(WIDE >> 1)),
    ("add $0x87, %r9", of("r9"), of("r9"), lambda x, run: word(number(x) + 0x87), ALL[:8]),
    ("sub %r8, %r9", of("r9"), of("r8"),
     lambda x, run: word(number(before(run, "r9")) - number(x)), ALL[:8]),
    ("adc %r8, %r9", of("r9"), of("r8"),
     lambda x, run: word(number(before(run, "r9")) + number(x) + 1), ALL[:8]),
    ("shld $1, %r8, %r9", of("r9"), of("r8"),
     lambda x, run: word(number(before(run, "r9")) << 1 | number(x) >> 63), word(1 << 63)),
    ("mov %r8d, %r9d", of("r9"), of("r8"), lambda x, run: x[:4] + bytes(4), ALL[:4] + bytes(4)),
    ("movb %r8b, %r9b", of("r9"), of("r8"), lambda x, run: x[:1] + before(run, "r9")[1:], ALL[:1] + bytes(7)),
    ("cmovc %r8, %r9", of("r9"), of("r8"), lambda x, run: x, ALL[:8]),
    ("mov 8(%rdi), %r9", of("r9"), Place("", DATA + 8, 8), lambda x, run: x, ALL[:8]),
    ("mov %r9, 8(%rdi)", Place("", DATA + 8, 8), of("r9"), lambda x, run: x, ALL[:8]),
    ("movb %r9b, 3(%rdi)", Place("", DATA + 3, 1), of("r9"), lambda x, run: x[:1], ALL[:1] + bytes(7)),
    ("movups %xmm1, 16(%rdi)", Place("", DATA + 16, 16), lane("zmm1"), lambda x, run: x, ALL),
]  # fmt: skip


@pytest.mark.parametrize(
    ("code", "target", "source", "function", "known"),
    VECTORS + SCALARS,
    ids=[row[0] for row in VECTORS + SCALARS],
)
def test_what_the_source_must_have_been_is_found(assembled, code, target, source, function, known):
    """Another value of the source gives another result; from that result as much of the value is told."""
    run, right = made(assembled, code), random.Random(2).randbytes(source.size)
    held = History(run)
    if source.name:
        there = before(run, source.name)[source.at : source.at + source.size]
        assert function(there, run)[: target.size] == held.written(0, target)
    found = held.ways(0, target, all_of(function(right, run)[: target.size])).sources
    must = next(must for one, must in found if one.place == source)
    assert (must.data & must.known).tobytes() == (np.frombuffer(right, np.uint8) & must.known).tobytes()
    assert must.known.tobytes() == known[: source.size] if known else must.known.any()


def test_what_no_source_can_make_right_has_no_way(assembled):
    """An even number is no 2x + 1, and a zero that a shift brings in is no one."""
    run = made(assembled, "add %r9, %r9")
    assert History(run).ways(0, of("r9"), all_of(word(5))).sources == ()
    run = made(assembled, "vpslldq $3, %xmm1, %xmm0")
    assert History(run).ways(0, lane("zmm0"), all_of(bytes([1]) * 16)).sources == ()


def test_a_constant_and_an_address_are_no_sources(assembled):
    run = made(assembled, "mov $0x86, %r9")
    assert History(run).ways(0, of("r9"), all_of(word(0x87))).sources == ()
    run = made(assembled, "mov 8(%rdi), %r9")
    places = [source.place for source, _ in History(run).ways(0, of("r9"), all_of(word(5))).sources]
    assert places == [Place("", DATA + 8, 8)]


def test_both_sources_of_a_shuffle_are_told_together(assembled):
    run = made(assembled, "vpalignr $5, %xmm2, %xmm1, %xmm0")
    right = random.Random(3).randbytes(32)
    found = History(run).ways(0, lane("zmm0"), all_of(right[5:21]))
    assert found.together
    told = {source.place: (must.data & must.known).tobytes() for source, must in found.sources}
    assert told == {lane("zmm2"): bytes(5) + right[5:16], lane("zmm1"): right[16:21] + bytes(11)}


def test_the_sources_of_a_sum_are_told_as_one_or_the_other(assembled):
    run = made(assembled, "xor %r8, %r9")
    found = History(run).ways(0, of("r9"), all_of(word(5)))
    assert not found.together
    told = {source.place.name: number(must.data.tobytes()) for source, must in found.sources}
    assert told == {"r8": 5 ^ number(before(run, "r9")), "r9": 5 ^ number(before(run, "r8"))}


def test_of_a_store_as_much_is_told_as_is_known(assembled):
    run = made(assembled, "movups %xmm1, 16(%rdi)")
    must = Must(np.arange(16, dtype=np.uint8), np.frombuffer(bytes(4) + ALL[:4] + bytes(8), np.uint8))
    ((source, told),) = History(run).ways(0, Place("", DATA + 16, 16), must).sources
    assert source.place == lane("zmm1")
    assert told.known.tobytes() == must.known.tobytes()
    assert told.data[4:8].tolist() == [4, 5, 6, 7]


def test_equations_over_gf2():
    """x0 + x1 = 1 and x1 + x2 = 1: one x, and that all three may be others together."""
    columns = [0b01, 0b11, 0b10]
    found, loose = solve(columns, 0b11)
    assert found in (0b010, 0b101)
    assert loose == 0b111
    assert solve([0b01, 0, 0b01], 0b10) is None
    assert solve([0b10, 0b01], 0b11) == (0b11, 0)
    assert solve([0b01, 0], 0b01) == (0b01, 0b10)
