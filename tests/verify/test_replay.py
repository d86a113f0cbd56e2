"""The line that replays a check: every one is read back, nothing else is read."""

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from aeskit import implementations
from aeskit.verify import cases, known, layouts, replay

ROWS = {(row.mode, row.direction): row for row in implementations.ALL}


@pytest.mark.parametrize("row", ROWS.values(), ids=lambda row: row.name)
def test_every_line_is_read_back(row):
    some = [*cases.cases(row.mode, row.direction, "brief")][::29]
    problems = [*some, *known.every(row.mode, row.direction)]
    for problem in problems:
        for layout in layouts.of(row.mode, problem.length, "brief", problem.length):
            line = replay.identity(row.name, problem, layout)
            assert replay.parse(line) == (row.name, problem, layout)
            assert "'" not in line


GOOD = "xts_decrypt_vaes_avx2:256:33:in_place:random:0"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("", "there is no implementation ''"),
        ("xts_decrypt_sse2:256:33:in_place:random:0", "there is no implementation 'xts_decrypt_sse2'"),
        (
            "xts_decrypt_vaes_avx2",
            "a case of xts must be FUNCTION:KEY_BITS:LENGTH:LAYOUT:START:SEED, not 1 fields",
        ),
        (GOOD + ":CS1", "a case of xts must be .* not 7 fields"),
        (
            "cts_decrypt_vaes_avx2:256:33:in_place:random:0",
            "a case of cts must be .*:SEED:STEALING, not 6 fields",
        ),
        (
            "cts_decrypt_vaes_avx2:256:33:in_place:random:0:CS4",
            'stealing must be CS1, CS2 or CS3 .* not "CS4"',
        ),
        (GOOD.replace("256", "512"), 'key size must be a number up to 256, not "512"'),
        (GOOD.replace("256", "200"), "key size must be 128, 192 or 256 bits, not 200"),
        (GOOD.replace("33", "-1"), 'length must be a number up to 1048576, not "-1"'),
        (GOOD.replace("33", "٣٣"), 'length must be a number up to 1048576, not "٣٣"'),
        (GOOD.replace("33", "9" * 5000), "length must be a number up to 1048576"),
        (GOOD.replace("33", "033"), f'"{GOOD.replace("33", "033")}" must be written {GOOD}'),
        (GOOD.replace("random", "carry7_lane0"), 'there is no start "carry7_lane0" for xts'),
        (GOOD.replace("in_place", "split_32"), 'there is no layout "split_32" for 33 bytes of xts'),
        ("xts_decrypt_vaes_avx2:known:x", "a known answer must be FUNCTION:known:FILE:VECTOR:LAYOUT"),
        ("xts_decrypt_vaes_avx2:known:sp800_38a.json:F.1.1 ECB-AES128:in_place", "there is no vector"),
        ("xts_decrypt_vaes_avx2:known:../x:vector 1:in_place", "there is no vector"),
    ],
)
def test_anything_else_is_refused(line, message):
    with pytest.raises(ValueError, match=message):
        replay.parse(line)


@settings(derandomize=True, max_examples=200)
@given(st.text(max_size=60) | st.lists(st.text(max_size=8), max_size=7).map(":".join))
@example(GOOD + "\n")
@example(GOOD + " ")
def test_noise_is_refused_in_words(text):
    with pytest.raises(ValueError, match=r"there is no|must be"):
        replay.parse(text)
    with pytest.raises(ValueError, match=r"there is no|must be"):
        replay.parse("xts_decrypt_vaes_avx2:" + text)
