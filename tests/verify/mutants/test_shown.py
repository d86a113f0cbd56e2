"""A report of mutants as a terminal shows it."""

from io import StringIO

import pytest
from rich.console import Console

from aeskit.machine.loader import load
from aeskit.verify.mutants import make as mutants_make
from aeskit.verify.mutants.explain import ABSORBED, REASONS, SAME, UNKNOWN, Reason
from aeskit.verify.mutants.levels import Verdict
from aeskit.verify.mutants.report import Report
from aeskit.verify.mutants.shown import show
from aeskit.verify.mutants.survey import Outcome

SOURCE = """
.globl f
.type f, @function
f:
    test $1, %r9d
    jz 1f
    pxor %xmm1, %xmm0
    call g
1:  ret
.size f, .-f
g:
    movdqu %xmm0, (%rsi)
    ret
"""


@pytest.fixture
def image(tmp_path):
    (tmp_path / "f.S").write_text(SOURCE)
    return load(tmp_path / "f.S")


def shown(image, outcomes, width=80, **more):
    """What the terminal gets."""
    lengths = more.pop("lengths", (16, 17, 18, 19))
    others = more.pop("others", ())
    report = Report("f", others, 4, len(outcomes), 0, len(outcomes), 0, "", lengths, outcomes=outcomes)
    out = StringIO()
    show(report, image, Console(file=out, width=width))
    return out.getvalue()


def alive(mutant, kind, text):
    return Outcome(mutant, None, None, Verdict("", 1), Reason(kind, text))


def test_changes_of_an_instruction_stand_together_and_code_addresses_are_labels(image):
    made = mutants_make.every(image, "f").mutants
    bits = [m for m in made if m.before == "test $1,%r9d" and m.kind == "immediate"]
    jumps = [m for m in made if m.before.startswith("je") and m.kind == "opcode"]
    text = shown(
        image,
        [alive(m, SAME, "the bit does not count") for m in bits]
        + [alive(m, ABSORBED, f"it is read by {m.before}") for m in jumps],
    )
    lines = text.splitlines()
    assert f"same result: {len(bits)}. {REASONS[SAME].capitalize()}." in " ".join(text.split())
    assert lines.count("  the bit does not count:") == 1
    changes = [line for line in lines if "test $1,%r9d → " in line]
    assert len(changes) == 1
    assert all(m.after in text for m in bits)
    assert "  it is read by je +0x12:" in lines
    assert "    je +0x12 → jbe +0x12, at +0x7" in lines


@pytest.mark.parametrize("width", [80, 120])
def test_no_line_is_wider_than_the_terminal(image, width):
    made = mutants_make.every(image, "f").mutants
    text = shown(image, [alive(m, UNKNOWN, "no proof can follow it " * 9) for m in made], width)
    assert max(map(len, text.splitlines())) <= width
    assert f"{len(made)} unexplained" in text


def test_what_a_file_calls_its_symbols_is_no_command_to_the_terminal(tmp_path):
    name = "g\\033[2J"
    source = SOURCE.replace("call g", f'call "{name}"').replace("g:", f'"{name}":')
    (tmp_path / "f.S").write_text(source)
    image = load(tmp_path / "f.S")
    call = next(m for m in mutants_make.every(image, "f").mutants if m.before.startswith("call"))
    text = shown(image, [alive(call, SAME, f"seen in {call.before}")])
    assert "\x1b" not in text


def test_other_functions_are_named_in_one_line(image):
    first = shown(image, [], others=("g",)).splitlines()[0]
    assert first == "f: 0 mutants of 4 instructions, those of g among them"


def test_a_level_that_was_not_run_has_no_number(image):
    row = shown(image, []).splitlines()[-1]
    assert row == "| f | 0 | – | – | 0 more | 0 | 0 | 0 |"


@pytest.mark.parametrize(
    ("lengths", "told"),
    [
        ((16, 17, 18, 20), "Proofs: 16-18, 20 bytes"),
        (tuple(range(0, 1089, 16)), "Proofs: 69 lengths from 0 to 1,088 bytes, where these reach"),
        (
            (*range(16, 161), *range(176, 1100, 31)),
            "Proofs: 175 lengths from 16 to 1,075 bytes, all of 16-160",
        ),
    ],
)
def test_the_lengths_take_one_line(image, lengths, told):
    assert told in " ".join(shown(image, [], lengths=lengths).split())
