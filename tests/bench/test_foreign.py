"""Code of any file is measured in a process apart, and what it does there harms nobody."""

import pytest

from aeskit.bench.foreign import Foreign, NotMeasured, measure

HERE = 0x5000_0000


def code(text: str) -> bytes:
    return bytes.fromhex(text)


def test_a_longer_function_takes_longer():
    loop = code("b9 0a 00 00 00 ff c9 75 fc c3")  # mov ecx, 10; dec ecx; jnz; ret
    longer = code("b9 e8 03 00 00 ff c9 75 fc c3")
    call = [Foreign({}, ())]
    (short,) = measure([(HERE, loop)], HERE, call, passes=8)
    (long,) = measure([(HERE, longer)], HERE, call, passes=8)
    assert long.cycles > 20 * short.cycles > 0


def test_buffers_and_numbers_are_the_arguments_in_order():
    # ud2 unless the byte at rdi is 7 and rsi is 9
    checked = code("80 3f 07 75 07 48 83 fe 09 75 01 c3 0f 0b")
    (taken,) = measure([(HERE, checked)], HERE, [Foreign({"source": "07"}, ("source", 9))], passes=5)
    assert taken.cycles > 0
    with pytest.raises(NotMeasured, match="ended with"):
        measure([(HERE, checked)], HERE, [Foreign({"source": "08"}, ("source", 9))], passes=5)


def test_sections_that_cannot_be_mapped_are_told():
    with pytest.raises(NotMeasured, match="cannot be mapped at 0x0"):
        measure([(0, b"\xc3")], 0, [Foreign({}, ())], passes=5)


def test_more_than_six_arguments_are_refused():
    with pytest.raises(NotMeasured, match="up to six arguments"):
        measure([(HERE, b"\xc3")], HERE, [Foreign({}, (1,) * 7)])
