"""Cases are data: every length is there, starts do what their names say, the same bytes on every run."""

import pytest

from aeskit import bits
from aeskit.verify import cases, inputs, peer
from aeskit.verify.cases import LEVELS, Case
from aeskit.verify.worker import Chunk

RANDOM = {
    mode: list(cases.cases(mode, direction, "quick"))
    for mode, direction in (("xts", "decrypt"), ("ctr", "crypt"), ("cts", "encrypt"), ("ecb", "encrypt"))
}


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(
    ("mode", "wanted"),
    [
        ("ctr", set(range(601))),
        ("xts", set(range(601))),  # below 16 bytes they must return and change nothing
        ("cts", set(range(601))),
        ("cbc", set(range(0, 601, 16))),
        ("ecb", set(range(0, 601, 16))),
    ],
)
def test_every_length_up_to_600(mode, wanted, level):
    lengths = cases.lengths(mode, level)
    assert wanted == {length for length in lengths if length <= 600}
    assert {case.length for case in cases.cases(mode, "encrypt", level)} == set(lengths)


def test_around_each_stride():
    lengths = set(cases.lengths("ctr", "full"))
    for stride in (64, 80, 128, 256):
        for passes in range(1, 17):
            assert set(range(stride * passes - 47, stride * passes + 48)) <= lengths
    quick = set(cases.lengths("ctr", "quick"))
    for stride in (64, 80, 128, 256):
        assert {16 * stride - 1, 16 * stride, 16 * stride + 1, 16 * stride + 15} <= quick


@pytest.mark.parametrize("level", LEVELS)
def test_all_key_sizes_and_orders_of_stealing(level):
    found = {(case.key_bits, case.stealing) for case in cases.cases("cts", "decrypt", level)}
    assert found == {(size, order) for size in (128, 192, 256) for order in ("CS1", "CS2", "CS3")}


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(("mode", "direction"), [("ctr", "crypt"), ("xts", "encrypt")])
def test_carries_land_on_every_lane(mode, direction, level):
    found = {
        case.start
        for case in cases.cases(mode, direction, level)
        if case.start.startswith("carry") and case.length >= 16 * (int(case.start.split("lane")[1]) + 2)
    }
    lanes = {"ctr": 32, "xts": 16}[mode]  # eight registers of zmm, four of them
    assert found == {f"carry{width}_lane{lane}" for width in (32, 64, 128) for lane in range(lanes)}


@pytest.mark.parametrize("level", LEVELS)
def test_what_is_handed_back_carries_too(level):
    """A message that ends with the lane behind which the carry is, whole or not: 7 bytes of it."""
    found = {(c.length, c.start) for c in cases.cases("ctr", "crypt", level) if c.length <= 48}
    for lane in range(3):
        for width in (32, 64, 128):
            assert {(16 * lane + size, f"carry{width}_lane{lane}") for size in (7, 16)} <= found


@pytest.mark.parametrize("width", [32, 64, 128])
@pytest.mark.parametrize("lane", range(32))
def test_a_counter_carries_after_its_lane(width, lane):
    iv = inputs.of(Case("ctr", "crypt", 128, 600, f"carry{width}_lane{lane}")).iv
    counters = [(bits.from_be(iv) + block) % 2**width for block in range(33)]
    assert counters[lane] == 2**width - 1
    assert counters.count(0) == 1


@pytest.mark.parametrize("width", [32, 64, 128])
@pytest.mark.parametrize("lane", range(16))
def test_a_tweak_crosses_after_its_lane(width, lane):
    made = inputs.of(Case("xts", "encrypt", 192, 600, f"carry{width}_lane{lane}"))
    tweaks = peer.tweak_sequence(peer.block(made.key[24:], made.iv), 17)
    assert bits.from_le(tweaks[lane]) == 1 << (width - 1)
    assert bits.from_le(tweaks[lane + 1]) == (0x87 if width == 128 else 1 << width)


def test_the_first_tweak_has_its_top_bit_as_named():
    for start in ("clear", "set"):
        made = inputs.of(Case("xts", "decrypt", 256, 100, start))
        assert peer.block(made.key[32:], made.iv)[15] >> 7 == (start == "set")


def test_keys_have_every_single_bit():
    found = [case for case in cases.cases("keys", "expand", "brief") if case.start.startswith("bit")]
    assert [case.key_bits for case in found] == [128] * 128 + [192] * 192 + [256] * 256
    assert all(bin(bits.from_le(inputs.of(case).key)).count("1") == 1 for case in found)


@pytest.mark.parametrize("mode", RANDOM)
def test_inputs_are_the_same_again_and_differ_between_cases(mode):
    some = RANDOM[mode][::37]
    made = [inputs.of(case) for case in some]
    inputs._bytes.cache_clear()
    assert made == [inputs.of(case) for case in some]
    assert len({(case.key_bits, case.length, case.start): 0 for case in some}) > 5
    long = [m.data for m in made if len(m.data) > 32]
    assert len({data[:16] for data in long}) == len({len(data) for data in long})


@pytest.mark.parametrize("level", LEVELS)
def test_every_case_passes_its_own_check(level):
    for mode, direction in (("xts", "encrypt"), ("ctr", "crypt"), ("cbc", "decrypt"), ("keys", "expand")):
        for case in cases.cases(mode, direction, level):
            cases.check(case)


@pytest.mark.parametrize(
    ("case", "message"),
    [
        (Case("xts", "encrypt", 512, 33), "key size must be 128, 192 or 256 bits, not 512"),
        (Case("cbc", "encrypt", 128, 33), "cbc with AES-128 does not take 33 bytes"),
        (Case("keys", "expand", 128, 32), "keys with AES-128 does not take 32 bytes"),
        (Case("cts", "encrypt", 128, 33), 'stealing must be CS1, CS2 or CS3 for cts alone, not ""'),
        (Case("xts", "encrypt", 128, 33, stealing="CS1"), 'stealing must be .* not "CS1"'),
        (Case("ctr", "crypt", 128, 33, "set"), 'there is no start "set" for ctr with AES-128'),
        (Case("ecb", "encrypt", 128, 32, "carry32_lane0"), 'no start "carry32_lane0" for ecb'),
        (Case("ctr", "crypt", 128, 33, "carry32_lane32"), 'no start "carry32_lane32"'),
        (Case("keys", "expand", 128, 16, "bit128"), 'no start "bit128"'),
        (Case("keys", "expand", 128, 16, "bit007"), 'no start "bit007"'),
    ],
)
def test_a_case_that_there_is_not_is_refused(case, message):
    with pytest.raises(ValueError, match=message):
        cases.check(case)


@pytest.mark.parametrize("level", ["quick", "full"])
@pytest.mark.parametrize("mode", ["xts", "cts", "cbc", "ecb"])
def test_the_model_answers_for_every_key_size_and_length(mode, level):
    due = set()
    for direction in ("encrypt", "decrypt"):
        chunk = Chunk((), (), (), level)
        found = filter(chunk.model_due, cases.cases(mode, direction, level))
        due |= {(case.key_bits, case.length) for case in found}
    lengths = [length for length in cases.lengths(mode, level) if cases.takes(mode, length)]
    assert due == {(key_bits, length) for key_bits in (128, 192, 256) for length in lengths}
