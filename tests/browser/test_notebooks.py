"""Both notebooks in JupyterLab: all cells run, the widgets take clicks and keys, the kernel answers."""

import re
from urllib.parse import urlsplit

import pytest

try:
    from playwright.sync_api import expect
except ImportError:
    expect = None  # the fixture `browser` says what is missing

pytestmark = pytest.mark.xdist_group("browser")  # one server and one Chromium for all


def lanes(page, number: int):
    return page.locator(".aeskit-lanes").nth(number)


def cell(widget, label: str):
    return widget.locator(f'td[role="gridcell"][aria-label^="{label}"]')


def test_start_compares_what_is_typed(notebook):
    page = notebook("00_start.ipynb")
    verdicts = page.locator("tr", has=page.get_by_role("rowheader", name="cryptography")).first
    expect(verdicts).to_contain_text("equal")
    text = page.get_by_label("text", exact=True)
    text.fill("another text, of 27 letters")
    expect(page.get_by_text("27 bytes, the judge")).to_be_visible()
    page.get_by_label(re.compile("flip a bit")).check()
    expect(verdicts).to_contain_text(re.compile("differs: block 0 byte 5 is .., must be .."))
    expect(lanes(page, 1).locator("td.aeskit-marked")).to_have_count(1)
    text.fill("too short")
    expect(page.get_by_role("alert")).to_contain_text("16")
    text.fill("long enough again.")
    page.get_by_label("key", exact=True).fill("00" * 31)
    expect(page.get_by_role("alert")).to_contain_text("31")
    expect(page.get_by_text("Traceback")).to_have_count(0)
    page.get_by_label("key", exact=True).fill(bytes(range(32)).hex())
    expect(page.get_by_text("18 bytes, the judge")).to_be_visible()


def test_start_edits_a_register(notebook):
    page = notebook("00_start.ipynb")
    widget = page.locator(".aeskit-lanes").last
    cell(widget, "first, byte 15").click()
    page.keyboard.type("40")
    expect(cell(widget, "zmm0[1] = T_1, byte 15")).to_have_text("80")
    expect(cell(widget, "zmm0[2] = T_2, byte 0")).to_have_text("87")
    # Digits and Enter; Escape gives up; what is no digit is refused in words.
    cell(widget, "first, byte 15").click()
    page.keyboard.press("Enter")
    page.keyboard.type("1")
    page.keyboard.press("Enter")
    expect(cell(widget, "first, byte 15")).to_have_text("01")
    expect(cell(widget, "first, byte 15")).to_be_focused()
    page.keyboard.press("f")
    page.keyboard.press("Escape")
    expect(cell(widget, "first, byte 15")).to_have_text("01")
    page.keyboard.press("Enter")
    page.keyboard.type("zz")
    page.keyboard.press("Enter")
    expect(widget.locator(".aeskit-problem")).to_contain_text("1 to 2 hexadecimal digits, not “zz”")
    expect(cell(widget, "zmm0[0] = T_0, byte 15")).to_have_text("01")


def test_start_keys_stay_in_the_widget(notebook):
    page = notebook("00_start.ipynb")
    widget = page.locator(".aeskit-lanes").last
    before = page.locator(".jp-Cell").count()
    cell(widget, "zmm0[2] = T_2, byte 3").click()
    for key in ("x", "d", "d", "b"):  # cut, delete and insert a cell, were they JupyterLab's
        page.keyboard.press(key)
    expect(widget.locator(".aeskit-problem")).to_contain_text("zmm0 is computed")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowRight")
    expect(cell(widget, "zmm0[1] = T_1, byte 4")).to_be_focused()
    expect(widget.locator("td[tabindex='0']")).to_have_count(1)
    page.keyboard.press("]")
    expect(widget.get_by_label("cell type")).to_have_value("words")
    expect(cell(widget, "zmm0[1] = T_1, word 2, bytes 4–5")).to_be_focused()
    page.keyboard.press("[")
    expect(cell(widget, "zmm0[1] = T_1, byte 4")).to_be_focused()
    page.keyboard.press("Home")
    expect(cell(widget, "zmm0[1] = T_1, byte 0")).to_be_focused()
    assert page.locator(".jp-Cell").count() == before


def test_tweak_shows_what_moves(notebook):
    page = notebook("01_tweak.ipynb")
    widget = lanes(page, 1)
    assert widget.locator('[role="gridcell"]').count() == 256
    cell(widget, "T_j, byte 15, bit 127").click()
    said = "Bit 127 of T_j changed, bits 7, 2, 1, 0 of T_{j+1} with it"
    expect(widget.get_by_role("status")).to_contain_text(said)
    expect(widget.locator("td.aeskit-marked")).to_have_count(5)
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Space")
    expect(widget.get_by_role("status")).to_contain_text("Bit 126 of T_j changed, bit 127 of T_{j+1} with it")
    page.keyboard.press("0")
    expect(cell(widget, "T_j, byte 15, bit 125")).to_be_focused()
    expect(cell(widget, "T_{j+1}, byte 15, bit 127: 0, differs")).to_have_count(1)
    cell(widget, "T_j, byte 0, bit 3").hover()
    expect(widget.locator(".aeskit-info")).to_contain_text("T_j, byte 0, bit 3, the coefficient of x³: 0")
    instructions = lanes(page, 2)
    cell(instructions, "t, dword 3").click()
    page.keyboard.press("Enter")
    page.keyboard.type("1")
    page.keyboard.press("Tab")
    expect(cell(instructions, "d, dword 3").last).to_have_text("00000002")


def test_both_themes_are_readable(notebook):
    """Text against its ground by the contrast formula of WCAG 2.1, marked cells too."""
    page = notebook("01_tweak.ipynb")
    widget = lanes(page, 0)
    cell(widget, "T_j, byte 15, bit 127").click()
    expect(widget.locator("td.aeskit-marked")).to_have_count(5)
    for theme, light in (("JupyterLab Dark", "false"), ("JupyterLab Light", "true")):
        page.get_by_role("menuitem", name="Settings", exact=True).click()
        page.locator(".lm-Menu-itemLabel", has_text=re.compile("^Theme$")).click()
        page.locator(".lm-Menu-itemLabel", has_text=re.compile(f"^{theme}$")).click()
        page.locator(f"body[data-jp-theme-light='{light}'][data-jp-theme-name='{theme}']").wait_for(
            state="attached"
        )
        for selector in ("td.aeskit-marked", "td.aeskit-zero", "th.aeskit-title", ".aeskit-info"):
            assert widget.locator(selector).last.evaluate(CONTRAST) >= 4.5, (theme, selector)


@pytest.mark.parametrize("name", ["00_start.ipynb", "01_tweak.ipynb"])
def test_nothing_else_is_asked_and_nothing_goes_wrong(notebook, name):
    page = notebook(name)
    hosts = {urlsplit(url).hostname for url in page.requested if not url.startswith(("data:", "blob:"))}
    assert hosts == {"127.0.0.1"}
    assert page.errors == []


CONTRAST = """(element) => {
  const numbers = (colour) => colour.match(/[\\d.]+/g).map(Number);
  const ground = (node) => {
    const [r, g, b, a = 1] = numbers(getComputedStyle(node).backgroundColor);
    return a > 0.5 || !node.parentElement ? [r, g, b] : ground(node.parentElement);
  };
  const luminance = ([r, g, b]) => [r, g, b].map((c) => c / 255)
    .map((c) => (c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4))
    .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
  const ink = luminance(numbers(getComputedStyle(element).color)), paper = luminance(ground(element));
  return (Math.max(ink, paper) + 0.05) / (Math.min(ink, paper) + 0.05);
}"""
