"""The text of a run, line by line, and that it fits."""

from textwrap import dedent

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aeskit.trace import Access, Buffer, Finding, Step, Trace
from aeskit.views.steps import joined, picture

ONES = bytes.fromhex("01" * 16)
LONG = bytes(range(16))
RUN = Trace(
    "f, AES-256, 32 bytes",
    "lanes",
    (
        Step("cmp $0x10,%rcx", "f", "entry", {"flags": b"\x41\0"}),
        Step("jb +0x20", "f+0x4", "entry"),
        Step("lea (%rdi),%r10", "f+0x6", "entry", {"r10": bytes(8)}, {"r10": "key+16"}),
        Step(
            "vmovdqu (%rsi),%ymm1",
            "f+0x9",
            "main: blocks 0–1",
            {"ymm1": LONG + ONES},
            {"ymm1[0]": "P_0", "ymm1[1]": "P_1", "source+0": "P_0", "source+16": "P_1"},
            (Access("source", 0, 32),),
        ),
        Step("vpsrld $1,%ymm1,%ymm2", "f+0xd", "main: blocks 0–1", {"ymm2": LONG + bytes(16)}),
        Step(
            "vmovdqu %xmm2,(%rdx)",
            "f+0x12",
            "main: blocks 0–1",
            accesses=(Access("destination", 16, 16, LONG),),
        ),
        Step("mov (%r9),%rax", "f+0x16", "tail", {"rax": b"\x10" + bytes(7)}, {}, (Access("", 4096, 8),)),
    ),
    (Finding("a read of 8 bytes at 0x1000, in no buffer", 6), Finding("rbx must be kept")),
    (Buffer("source", 0, bytes(33)), Buffer("destination", 0, bytes(32), True)),
)


def test_a_run_line_by_line():
    assert picture(RUN) == dedent("""\
        f, AES-256, 32 bytes
        7 instructions run by lanes; 2 findings

        ── entry ───────────────────────────────────────────────────────────── 0 to 2 ──
            0    +0x0  cmp $0x10,%rcx                   flags CF ZF
            1    +0x4  jb +0x20                         not taken
            2    +0x6  lea (%rdi),%r10                  r10 = key+16

        ── main: blocks 0–1 ────────────────────────────────────────────────── 3 to 5 ──
            3    +0x9  vmovdqu (%rsi),%ymm1             ymm1 = P_0–1
            4    +0xd  vpsrld $1,%ymm1,%ymm2
                       ymm2[0]   00010203 04050607 08090a0b 0c0d0e0f
            5   +0x12  vmovdqu %xmm2,(%rdx)
                       destination+16 to 31 = 00010203 04050607 08090a0b 0c0d0e0f

        ── tail ─────────────────────────────────────────────────────────────────── 6 ──
            6   +0x16  mov (%r9),%rax                   rax = 0x10
            ✗ a read of 8 bytes at 0x1000, in no buffer

        ── memory ─────────── 16 bytes a letter: r read, w written, b both, · neither ──
        source           33 bytes  rr·
        destination      32 bytes  ·w

        ── findings ─────────────────────────────────────────────────────────────── 2 ──
        ✗ step 6: a read of 8 bytes at 0x1000, in no buffer
        ✗ rbx must be kept""")


def test_a_taken_branch_and_the_bytes_of_lanes_on_request():
    steps = (
        Step("jne +0x10", "f+0x2"),
        Step("vmovdqa %xmm1,%xmm0", "f+0x10", values={"xmm0": LONG}, names={"xmm0[0]": "T_1"}),
    )
    text = picture(Trace("t", "silicon", steps), full=True)
    assert "jne +0x10                        taken" in text
    assert "xmm0      00010203 04050607 08090a0b 0c0d0e0f  T_1" in text
    assert "nothing found" in text


def test_only_lanes_that_changed_are_told():
    steps = (
        Step("a", values={"zmm3": LONG + ONES * 3}),
        Step("b", values={"zmm3": LONG + ONES + bytes(16) + ONES}, names={"zmm3[0]": "T_0"}),
    )
    last = picture(Trace("t", "lanes", steps)).splitlines()[-1]
    assert last.split("b", 1)[1].strip() == "zmm3[2] = 0"


@pytest.mark.parametrize(
    ("names", "text"),
    [
        (["T_8", "T_9", "T_10"], "T_8–10"),
        (["PP_0.round[2].start", "PP_1.round[2].start"], "PP_0–1.round[2].start"),
        (["K1[3]", "K1[4]"], "K1[3–4]"),
        (["K[0]"] * 4, "4 × K[0]"),
        (["T_0", "T_8"], "T_0, T_8"),
        (["C_1", "PP"], "C_1, PP"),
    ],
)
def test_names_that_count_up_are_one(names, text):
    assert joined(names) == text


def test_a_narrow_terminal_is_refused():
    with pytest.raises(ValueError, match="width must be at least 40 columns, not 39"):
        picture(RUN, 39)


words = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Zl", "Zp", "Cs"]), max_size=120)


@settings(max_examples=60, derandomize=True, deadline=None)
@given(words, words, words, st.sampled_from([40, 71, 72, 80, 100, 120]), st.booleans())
def test_every_run_fits(text, name, phase, width, full):
    names = {"zmm31[0]": name, "zmm31[1]": name, "destination+0": name}
    write = Access("destination", 0, 64, ONES * 4)
    step = Step(text, text, phase, {"zmm31": LONG + ONES * 3, "rax": bytes(8)}, names, (write,))
    made = Trace(text, "lanes", (step,), (Finding(text, 0),), (Buffer("b" * 20, 0, bytes(2000)),))
    assert max(map(len, picture(made, width, full).split("\n"))) <= width
