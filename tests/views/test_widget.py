"""The widget's Python side: what it sends, what it takes from the browser, what stands in for it."""

import subprocess
import sys

import pytest

pytest.importorskip("anywidget", reason="widgets need the extra lab")

import traitlets

from aeskit.models import tweak_registers
from aeskit.views import tweak
from aeskit.views.cells import Lanes, register
from aeskit.views.widget import LanesWidget

TOP = bytes(15) + b"\x80"


def test_it_sends_hexadecimal():
    widget = LanesWidget(register("xmm0", TOP, ["T_0"]).against(bytes(16)), cells="words", high_first=True)
    assert widget.values == [15 * "00" + "80"]
    assert widget.marks == [15 * "00" + "80"]
    assert widget.registers[0]["titles"] == ["xmm0 = T_0"]
    assert not widget.registers[0]["editable"]
    assert (widget.cells, widget.high_first) == ("words", True)


def test_an_edit_is_derived_from():
    def derive(edited):
        return [Lanes("a", edited[0]), Lanes("b", edited[0][::-1])], f"first is {edited[0][0]}"

    widget = LanesWidget(*derive([b"\1\2"])[0], editable=["a"], derive=derive)
    widget.values = ["0708", widget.values[1]]
    assert widget.values == ["0708", "0807"]
    assert widget.caption == "first is 7"
    assert [lanes.data for lanes in widget.shown] == [b"\7\10", b"\10\7"]


@pytest.mark.parametrize(
    "values", [[], ["00"], ["zz" * 16], ["0" * 33], ["00" * 16, "00"], ["00" * 15 + "0G"]]
)
def test_what_the_browser_sends_is_checked(values):
    widget = LanesWidget(register("xmm0", TOP), editable=["xmm0"])
    with pytest.raises(traitlets.TraitError):
        widget.values = values
    assert widget.values == [TOP.hex()]


def test_what_is_computed_stands_whatever_the_browser_sends():
    """Of two quick edits the second is made before the kernel has answered the first."""
    widget = LanesWidget(Lanes("a", b"\1"), Lanes("b", b"\2"), editable=["a"])
    widget.values = ["03", "04"]
    assert widget.values == ["03", "02"]


def test_editable_names_what_is_shown():
    with pytest.raises(ValueError, match="editable must name registers that are shown, not c"):
        LanesWidget(Lanes("a", b"\1"), editable=["c"])


def test_a_table_and_text_stand_in():
    data, _ = LanesWidget(Lanes("<a>", b"\1"), caption="<b>")._repr_mimebundle_()
    assert set(data) == {"application/vnd.jupyter.widget-view+json", "text/html", "text/plain"}
    assert "&lt;a&gt;" in data["text/html"]
    assert "<a>" not in data["text/html"]
    assert data["text/plain"].splitlines()[1:] == ["<a>    01", "<b>"]


def test_flipping_the_top_bit_moves_four():
    widget = tweak.flips(bytes(16), tweak_registers.double)
    widget.values = [TOP.hex(), widget.values[1]]
    assert widget.values[1] == "87" + 15 * "00"
    assert widget.marks == [TOP.hex(), "87" + 15 * "00"]
    assert widget.caption == (
        "Bit 127 of T_j changed, bits 7, 2, 1, 0 of T_{j+1} with it: x · x^127 = x^128 = x^7 + x^2 + x + 1."
    )


def test_marks_are_of_the_last_edit_alone():
    widget = tweak.flips(bytes(16), tweak_registers.double)
    widget.values = [TOP.hex(), widget.values[1]]
    widget.values = ["01" + TOP.hex()[2:], widget.values[1]]
    assert widget.marks == ["01" + 15 * "00", "02" + 15 * "00"]
    assert widget.caption == "Bit 0 of T_j changed, bit 1 of T_{j+1} with it: x · 1 = x."


def test_several_bits_at_once():
    def said(change: int) -> str:
        data = change.to_bytes(16, "little")
        return tweak.moved(data, tweak_registers.double(data))

    assert said(0b101) == "Bits 2, 0 of T_j changed, bits 3, 1 of T_{j+1} with them: x · (x^2 + 1) = x^3 + x."
    assert said(0xFF) == "8 bits of T_j changed, 8 of T_{j+1}."
    assert said(0) == tweak.HINT


def test_instructions_are_shown_with_what_they_set():
    widget = tweak.instructions(TOP, tweak_registers.double)
    assert [item["name"] for item in widget.registers] == ["t", "s", "s", "s", "d", "d"]
    assert [item["heading"].split()[0] for item in widget.registers[1:]] == [
        "vpshufd",
        "vpsrad",
        "vpand",
        "vpaddq",
        "vpxor",
    ]
    widget.values = ["01" + 15 * "00", *widget.values[1:]]
    assert widget.values[-1] == "02" + 15 * "00"


def test_without_anywidget_the_message_says_what_to_install_and_text_still_works():
    code = (
        "import sys; sys.modules['anywidget'] = None\n"
        "from aeskit.views import cells, html, text\n"
        "print(text.picture(cells.Lanes('a', b'1')))\n"
        "import aeskit.views.widget"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert ran.stdout.split()[-2:] == ["a", "31"]
    assert ran.stderr.strip().endswith("the widgets need anywidget: pip install 'aeskit[lab]'")
