"""The page of a run in Chromium: keys, clicks, the timeline, a hundred thousand steps; nothing is fetched."""

import json
import time
from dataclasses import replace
from pathlib import Path

import pytest

from aeskit.trace import Finding
from aeskit.verify.calls import Given
from aeskit.verify.stepping import trace
from aeskit.views.page import page as page_of

try:
    from playwright.sync_api import expect
except ImportError:
    expect = None  # the fixture `browser` says what is missing

pytestmark = pytest.mark.xdist_group("browser")


@pytest.fixture(scope="module")
def run():
    made = trace("xts_encrypt_vaes_avx512_512", None, Given(161))
    return replace(made, findings=(Finding("made up for the test", 40),))


@pytest.fixture(scope="module")
def opened(browser, run, tmp_path_factory):
    file = tmp_path_factory.mktemp("page") / "run.html"
    file.write_text(page_of(run), encoding="utf-8")
    made = browser.new_page(viewport={"width": 1400, "height": 900})
    made.requested, made.errors = [], []
    made.on("request", lambda request: made.requested.append(request.url))
    made.on("pageerror", lambda error: made.errors.append(str(error)))
    made.on("console", lambda message: message.type == "error" and made.errors.append(message.text))
    made.goto(file.as_uri())
    yield made
    made.close()


def at(page):
    return int(page.get_by_role("slider", name="step").input_value())


def go(page, step):
    page.get_by_role("slider", name="step").evaluate(
        "(slider, step) => { slider.value = step; slider.dispatchEvent(new Event('input')); }", step
    )
    expect(page.locator(".aeskit-now")).to_contain_text(f"step {step} ")


def test_keys_step_and_jump(opened, run):
    go(opened, 0)
    opened.locator(".aeskit-steps").focus()
    opened.keyboard.press("ArrowRight")
    opened.keyboard.press("ArrowRight")
    expect(opened.locator(".aeskit-now")).to_contain_text("step 2 ")
    opened.keyboard.press("ArrowLeft")
    expect(opened.locator(".aeskit-now strong")).to_have_text(run.steps[1].text)
    opened.keyboard.press("Shift+ArrowRight")
    second = next(i for i, step in enumerate(run.steps) if step.phase != run.steps[0].phase)
    expect(opened.locator(".aeskit-now")).to_contain_text(f"step {second} ")
    opened.keyboard.press("End")
    expect(opened.locator(".aeskit-now strong")).to_have_text("ret")
    opened.keyboard.press("Shift+ArrowLeft")
    opened.keyboard.press("Home")
    expect(opened.locator(".aeskit-now")).to_contain_text("step 0 ")


def test_space_plays_and_stops(opened):
    go(opened, 0)
    opened.locator(".aeskit-steps").focus()
    opened.keyboard.press("Space")
    expect(opened.locator(".aeskit-now")).to_contain_text("step 3 ")
    opened.keyboard.press("Space")
    stood = at(opened)
    time.sleep(0.4)
    assert at(opened) <= stood + 1


def test_lanes_are_named_marked_and_equal_to_the_model(opened, run):
    step = next(i for i, s in enumerate(run.steps) if s.names.get("zmm0[2]") == "PP_2.round[5].start")
    go(opened, step)
    row = opened.locator(".aeskit-registers tr", has=opened.get_by_text("zmm0[2] = PP_2.round[5].start"))
    expect(row.locator("td.aeskit-marked")).to_have_count(16)
    assert row.get_attribute("data-kind") == "data"
    expect(row.locator("td").first).to_have_text(f"{run.steps[step].values['zmm0'][32]:02x}")
    name = row.locator("td").first.get_attribute("aria-label")
    assert name.startswith("zmm0[2] = PP_2.round[5].start, byte 0")
    assert name.endswith("changed")
    expect(opened.locator(".aeskit-fits")).to_contain_text("✓ zmm0[2] = PP_2.round[5].start, equal")
    opened.get_by_label("cell type").select_option("dwords")
    expect(row.locator("td")).to_have_count(4)
    opened.get_by_label("cell type").select_option("bytes")


def test_a_lane_that_differs_is_shown_beside_what_it_must_be(browser, tmp_path):
    sample = Path(__file__).parents[1] / "verify" / "faulty_ecb.S"
    made = trace(f"{sample}:faulty_ecb", "ecb_encrypt", Given(16))
    step = next(i for i, s in enumerate(made.steps) if s.wanted)
    must = made.steps[step].wanted["xmm0[0]"]
    file = tmp_path / "wrong.html"
    file.write_text(page_of(made), encoding="utf-8")
    page = browser.new_page(viewport={"width": 1400, "height": 900})
    page.goto(file.as_uri())
    go(page, step)
    shown = page.locator(".aeskit-fits")
    expect(shown).to_contain_text(f"✗ xmm0[0] is not {must.name}, different")
    expect(shown.locator(".aeskit-hex").first).to_have_text(f"must be {must.data.hex(' ', 4)}")
    same = sum(a == b for a, b in zip(must.data, made.steps[step].values["xmm0"], strict=True))
    expect(shown.locator(".aeskit-hex").first.locator("mark")).to_have_count(16 - same)
    expect(page.locator(".aeskit-registers")).to_contain_text(f"xmm0[0] ≠ {must.name}")
    page.close()


def test_clicks_go_where_they_point(opened, run):
    go(opened, 0)
    opened.get_by_role("option", name="vmovdqu").first.click()
    expect(opened.locator(".aeskit-now strong")).to_contain_text("vmovdqu")
    opened.get_by_role("button", name="finding at step 40").click()
    expect(opened.locator(".aeskit-now")).to_contain_text("✗ made up for the test")
    model = opened.get_by_role("listbox", name="the model's steps")
    model.evaluate("list => { list.scrollTop = list.scrollHeight / 2; }")
    opened.wait_for_timeout(300)  # the list draws after it has scrolled
    row = model.locator(".aeskit-step:not(.aeskit-unseen)").nth(12).get_attribute("data-row")
    seen = model.locator(f'[data-row="{row}"]')
    number = int(seen.locator("span").first.inner_text())
    seen.click()
    expect(opened.locator(".aeskit-now")).to_contain_text(f"step {number} ")


def test_nothing_is_fetched_and_nothing_fails(opened):
    assert [url for url in opened.requested if not url.startswith("file:")] == []
    assert opened.errors == []


def test_a_hundred_thousand_steps_draw_a_screenful(browser, run, tmp_path):
    file = tmp_path / "long.html"
    many = (run.steps * (100_000 // len(run.steps) + 1))[:100_000]
    file.write_text(page_of(replace(run, steps=many)), encoding="utf-8")
    page = browser.new_page(viewport={"width": 1400, "height": 900})
    page.goto(file.as_uri())
    go(page, 99_990)
    assert page.locator(".aeskit-code .aeskit-step").count() < 100
    assert page.locator("*").count() < 12_000
    page.close()


CELL = """\
from aeskit.verify.calls import Given
from aeskit.verify.stepping import trace
from aeskit.views.steps_widget import StepsWidget

StepsWidget(trace("ecb_encrypt_aesni_avx", None, Given(32)))
"""


def test_the_widget_steps_in_a_notebook(notebook, server):
    cell = {
        "cell_type": "code",
        "id": "one",
        "metadata": {},
        "source": CELL,
        "outputs": [],
        "execution_count": None,
    }
    kernel = {"name": "python3", "display_name": "Python 3 (ipykernel)"}
    book = {"cells": [cell], "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}
    (server.folder / "notebooks" / "steps.ipynb").write_text(json.dumps(book), encoding="utf-8")
    page = notebook("steps.ipynb")
    view = page.locator(".aeskit-steps")
    view.focus()
    page.keyboard.press("ArrowRight")
    expect(view.locator(".aeskit-now")).to_contain_text("step 1 ")
    page.keyboard.press("End")
    expect(view.locator(".aeskit-now strong")).to_have_text("ret")
    assert page.locator(".jp-Cell").count() == 1  # no key went to the notebook
    assert page.errors == []
