"""One page of plots for a talk: this machine's figures in percent of its limit, published ones beside.

Needs matplotlib: ``pip install 'aeskit[bench]'``.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from aeskit.bench import published
from aeskit.bench.table import Row, Run

KEY_BITS = 256
NEEDS = "plots need matplotlib: pip install 'aeskit[bench]'"
FORMATS = (".svg", ".png", ".pdf")
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00")
"""Told apart by colour-blind eyes (Okabe and Ito)."""
OTHER = "#8c8c8c"
"""Libraries and machines other than ours."""
MARKERS = "osD^vP"
PAGE_INCHES = (16, 9)
LINES = ("xts encrypt", "xts decrypt", "ctr crypt", "cbc decrypt", "ecb encrypt")


class Missing(ValueError):
    """matplotlib is not installed."""


def write(run: Run, title: str, path: Path) -> None:
    """The page as a file, its format by the suffix; ValueError as from `check`."""
    check(path)
    page(run, title).savefig(path)


def check(path: Path) -> None:
    """ValueError where no plot can be written there: another format, or no matplotlib."""
    if path.suffix.lower() not in FORMATS:
        raise ValueError(f"a plot must end in {', '.join(FORMATS)}, not {path.name!r}")
    if find_spec("matplotlib") is None:
        raise Missing(NEEDS)


def svg(run: Run, title: str) -> str:
    """The page as the SVG element of an HTML page."""
    text = io.StringIO()
    page(run, title).savefig(text, format="svg", metadata={"Date": None})
    return text.getvalue()[text.getvalue().index("<svg") :]


def page(run: Run, title: str) -> Any:
    """The matplotlib figure: a panel for each operation that was measured, then the published figures."""
    if find_spec("matplotlib") is None:
        raise Missing(NEEDS)
    from matplotlib.figure import Figure

    drawn = _panels(run)
    columns = max(1, min(3, len(drawn)))
    figure = Figure(figsize=PAGE_INCHES, layout="constrained")
    figure.suptitle(title, fontsize=18, fontweight="bold")
    axes = list(figure.subplots(-(-len(drawn) // columns), columns, squeeze=False).flat)
    for axis, draw in zip(axes, drawn, strict=False):
        draw(axis)
        axis.spines[["top", "right"]].set_visible(False)
    for axis in axes[len(drawn) :]:
        axis.set_visible(False)
    return figure


def _panels(run: Run) -> list[Callable[[Any], None]]:
    measured = {row.operation for row in run.rows if row.key_bits == KEY_BITS}
    lines = [_line_panel(run, name) for name in LINES if name in measured and name != "xts decrypt"]
    figures: list[Callable[[Any], None]] = []
    if "xts encrypt" in measured:
        figures += [lambda axis: _xts_bars(axis, run), lambda axis: _gains(axis, run)]
    if "ctr crypt" in measured:
        figures.append(lambda axis: _ctr_published(axis, run))
    return (lines[: 6 - len(figures)] + figures) if lines else [_nothing]


def _nothing(axis: Any) -> None:
    axis.text(0.5, 0.5, f"no figures for AES-{KEY_BITS}", ha="center", va="center")
    axis.set_axis_off()


def _line_panel(run: Run, operation: str) -> Callable[[Any], None]:
    def draw(axis: Any) -> None:
        rows = _rows(run, operation)
        for number, name in enumerate(dict.fromkeys(row.name for row in rows)):
            mine = [row for row in rows if row.name == name]
            colour = COLOURS[number % len(COLOURS)] if mine[0].ours else OTHER
            style = {"color": colour, "marker": MARKERS[number % len(MARKERS)], "label": name}
            widest = max(row.bytes_a_cycle / (row.percent or 100) for row in rows)
            axis.plot(
                [row.size for row in mine],
                [row.bytes_a_cycle / widest for row in mine],
                **style,
                linestyle="-" if mine[0].ours else "--",
            )
        _sizes(axis, sorted({row.size for row in rows}))
        axis.axhline(100, color="black", linewidth=1)
        axis.set(title=f"{operation}, AES-{KEY_BITS}", ylim=(0, 105), ylabel="% of this CPU's limit")
        axis.legend(framealpha=0.85, edgecolor="none", fontsize=9)

    return draw


def _xts_bars(axis: Any, run: Run) -> None:
    theirs = [(one.label, one.value, OTHER) for one in published.xts_mb_per_s()]
    mine = [
        (f"here, {row.name}", 1000 * row.bytes_a_cycle * run.gigahertz, COLOURS[0 if row.ours else 4])
        for row in _rows(run, "xts encrypt")
        if row.size == 4096
    ]
    _bars(axis, [*theirs, *mine])
    axis.set(title="XTS-256 encrypt, 4,096 bytes", xlabel="MB/s")


def _gains(axis: Any, run: Run) -> None:
    bars = []
    for size in (512, 4096):
        bars += [(f"{one.cpu}, {size}", one.value, OTHER) for one in published.xts_gain_percent(size)]
        rows = {row.name: row.cycles for row in _rows(run, "xts decrypt") if row.size == size and row.ours}
        if "aesni_avx" in rows:
            gain = 100 * (rows["aesni_avx"] / min(rows.values()) - 1)
            bars.append((f"here, over aesni_avx, {size}", gain, COLOURS[0]))
    _bars(axis, bars)
    axis.set(title="XTS-256 decrypt: gain of the widest code", xlabel="% faster, by message bytes")


def _ctr_published(axis: Any, run: Run) -> None:
    theirs = published.ctr_cycles(KEY_BITS)
    for number, label in enumerate(dict.fromkeys(one.label for one in theirs)):
        rows = [one for one in theirs if one.label == label]
        style = {"color": OTHER, "linestyle": "--", "marker": MARKERS[number % len(MARKERS)]}
        axis.plot([one.size for one in rows], [one.value / one.size for one in rows], label=label, **style)
    ours = [row for row in _rows(run, "ctr crypt") if row.ours]
    for number, name in enumerate(dict.fromkeys(row.name for row in ours)):
        mine = [row for row in ours if row.name == name]
        style = {"color": COLOURS[number % len(COLOURS)], "marker": MARKERS[number % len(MARKERS)]}
        axis.plot([row.size for row in mine], [row.cycles / row.size for row in mine], label=name, **style)
    _sizes(axis, sorted({one.size for one in theirs} | {row.size for row in ours}))
    axis.set_yscale("log")
    axis.set(title="CTR-256; 2014: calls in the kernel", ylabel="cycles a byte")
    axis.legend(framealpha=0.85, edgecolor="none", fontsize=9)


def _bars(axis: Any, bars: list[tuple[str, float, str]]) -> None:
    labels, values, colours = zip(*bars, strict=True)
    places = range(len(bars))
    drawn = axis.barh(places, values, color=colours)
    axis.bar_label(drawn, fmt="{:,.0f}", padding=3, fontsize=8)
    axis.set_yticks(places, labels, fontsize=8)
    axis.invert_yaxis()
    axis.margins(x=0.12)


def _sizes(axis: Any, sizes: list[int]) -> None:
    axis.set_xscale("log", base=2)
    axis.set_xticks(sizes, [str(size) for size in sizes], rotation=45, fontsize=8)
    axis.minorticks_off()
    axis.grid(alpha=0.3)
    axis.set_xlabel("bytes a message")


def _rows(run: Run, operation: str) -> list[Row]:
    return [row for row in run.rows if (row.operation, row.key_bits) == (operation, KEY_BITS)]
