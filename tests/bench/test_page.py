"""The HTML page, the plots and the published figures: what must be on them."""

import re

import machines
import pytest
from bench_support import XMM, YMM, row

from aeskit.bench import goals, page, plot, published, report
from aeskit.bench.python_calls import PythonRow
from aeskit.bench.table import Run

ROWS = [
    row(operation, size, 3 * size, name)
    for operation in ("xts encrypt", "xts decrypt", "ctr crypt")
    for size in (16, 512, 4096)
    for name in ("aesni_avx", "vaes_avx2", "A <library>")
]
RUN = Run(3.5, [XMM, YMM], ROWS)
PYTHON = [PythonRow("xts encrypt", "aeskit", 512, 1.28, True)]


@pytest.fixture(scope="module")
def html() -> str:
    return page.html(machines.ZEN_3, RUN, goals.judge(RUN), PYTHON, ["A <library>"])


def test_the_page_needs_nothing_else(html):
    text = html
    assert text.startswith("<!DOCTYPE html>")
    assert not re.search(r"<(script|link|img|iframe)\b|@import|(src|href)=.?https?:", text)


def test_the_page_holds_facts_tables_and_goals(html):
    text = html
    for words in (
        "Zen 3",
        "3.50 GHz",
        "VAES",
        "xts encrypt, AES-256: cycles",
        "goals met",
        "not measured",
    ):
        assert words in text
    assert "A &lt;library&gt;" in text
    assert "<library>" not in text
    assert "1.28~" in text
    assert "400" in text, "bytes a microsecond"


def test_a_busy_machine_is_told(html, monkeypatch):
    monkeypatch.setattr(plot, "find_spec", lambda name: None)
    busy = Run(3.5, [goals.Limit("xmm", 16, 4, 1.8)], ROWS)
    assert "This machine was not quiet" in page.html(machines.ZEN_3, busy, [], [], [])
    assert "This machine was not quiet" not in html


def test_the_page_is_written_where_there_was_no_folder(tmp_path, monkeypatch):
    monkeypatch.setattr(plot, "find_spec", lambda name: None)
    path = tmp_path / "new" / "bench.html"
    page.write(path, machines.ZEN_3, RUN, [], [], [])
    assert path.read_text(encoding="utf-8").endswith("</html>\n")


def test_without_matplotlib_the_page_says_what_to_install(monkeypatch):
    monkeypatch.setattr(plot, "find_spec", lambda name: None)
    text = page.html(machines.ZEN_3, RUN, [], [], [])
    assert "pip install &#x27;aeskit[bench]&#x27;" in text
    with pytest.raises(plot.Missing, match=r"pip install 'aeskit\[bench\]'"):
        plot.check(plot.Path("x.svg"))


@pytest.mark.parametrize("suffix", plot.FORMATS)
def test_plots_in_each_format(tmp_path, suffix):
    pytest.importorskip("matplotlib")
    path = tmp_path / f"page{suffix}"
    plot.write(RUN, "title", path)
    start = {".svg": b"<?xml", ".png": b"\x89PNG", ".pdf": b"%PDF"}[suffix]
    assert path.read_bytes().startswith(start)


def test_another_format_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"a plot must end in .svg, .png, .pdf, not 'page.txt'"):
        plot.write(RUN, "title", tmp_path / "page.txt")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(("rows", "panels"), [(ROWS, 5), (ROWS[:9], 3), (ROWS[-9:], 2), ([], 1)])
def test_a_panel_for_each_operation_and_for_the_published_figures(rows, panels):
    pytest.importorskip("matplotlib")
    axes = plot.page(Run(3.5, [XMM, YMM], rows), "title").axes
    assert sum(axis.get_visible() for axis in axes) == panels


def test_published_figures_are_those_of_the_files():
    assert {one.name: one.value for one in published.xts_mb_per_s()}["vaes-avx10_512"] == 10215
    assert {one.cpu: one.value for one in published.xts_gain_percent(512)}["AMD Zen 4"] == 48
    by8 = {(one.label, one.size): one.value for one in published.ctr_cycles()}
    assert by8["Sandybridge, by8", 8192] > by8["Haswell, by8", 8192] > 0
    assert all(one.size and one.value for one in published.ctr_cycles(128))


def test_goals_of_calls_from_python_are_on_the_page():
    python = [PythonRow("xts encrypt", "aeskit", size, 2.4, False) for size in (16, 512)]
    text = page.html(machines.ZEN_3, RUN, goals.judge(RUN), python, [])
    assert "0 of 1 goals of calls from Python met" in text
    assert "16 bytes take 2.40 µs" in text


@pytest.mark.parametrize(("factor", "text"), [(1.13, "× 1.13"), (1.004, "× 1.004"), (1.0004, "× 1.001")])
def test_a_missing_factor_shows_that_it_is_missing(factor, text):
    assert report.missing(factor) == text
