"""The table of vectors in Chromium: filters, rows that open, keys, and text that stays text."""

import base64
import json
from dataclasses import replace
from pathlib import Path

import pytest

from aeskit import data
from aeskit.vectors import read
from aeskit.views import vector_table

try:
    from playwright.sync_api import expect
except ImportError:
    expect = None  # the fixture `browser` says what is missing

pytestmark = pytest.mark.xdist_group("browser")

VIEWS = Path(vector_table.__file__).parent
SET = read(data.folder("vectors") / "ours" / "xts.json")
ODD = replace(SET[0], name="<img src=x onerror=alert(1)>", comment="<script>x</script>", flags=("Odd",))
VECTORS = (*SET, ODD)

MOUNT = """async ([source, data]) => {
  const module = await import("data:text/javascript;base64," + source);
  window.chosen = [];
  module.mount(document.querySelector("main"), JSON.parse(data), (number) => window.chosen.push(number));
}"""


@pytest.fixture
def page(browser):
    made = browser.new_page()
    made.errors = []
    made.on("pageerror", lambda error: made.errors.append(str(error)))
    style = (VIEWS / "vector_table.css").read_text(encoding="utf-8")
    made.set_content(f"<style>{style}</style><main></main>")
    sent = {
        "columns": vector_table.COLUMNS,
        "rows": vector_table.data(VECTORS),
        "flags": vector_table.flags_of(VECTORS, SET.flags),
        "total": len(VECTORS),
    }
    source = base64.b64encode((VIEWS / "vector_table.js").read_bytes()).decode()
    made.evaluate(MOUNT, [source, json.dumps(sent)])
    yield made
    assert made.errors == []
    made.close()


def test_filters(page):
    expect(page.locator("tbody tr")).to_have_count(len(VECTORS))
    page.get_by_label("flag", exact=True).select_option("TweakMsb")
    count = sum("TweakMsb" in vector.flags for vector in VECTORS)
    expect(page.locator("tbody tr")).to_have_count(count)
    expect(page.locator(".aeskit-meaning")).to_contain_text("top bit is set at a known step")
    page.get_by_label("filter by text").fill("t_17 bit")
    expect(page.locator("tbody tr")).to_have_count(1)
    expect(page.get_by_text(f"1 of {len(VECTORS)} vectors")).to_be_visible()


def test_a_row_opens_and_tells_the_kernel(page):
    page.get_by_role("button", name=VECTORS[1].name, exact=True).click()
    shown = page.locator(".aeskit-details")
    expect(shown).to_contain_text(f"key ({len(VECTORS[1].key)} bytes)")
    expect(shown).to_contain_text(VECTORS[1].iv[:4].hex())
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(shown).to_contain_text(VECTORS[2].iv[:4].hex())
    page.keyboard.press("Enter")
    expect(shown).to_have_count(0)
    assert page.evaluate("window.chosen") == [1, 2, -1]


def test_text_stays_text(page):
    page.get_by_label("flag", exact=True).select_option("Odd")
    expect(page.get_by_role("button", name=ODD.name)).to_be_visible()
    assert page.locator("main img, main script").count() == 0
