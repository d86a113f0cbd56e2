"""What a terminal would obey is replaced, all else stays; tables are whole on narrow terminals."""

import os
from io import StringIO

import pytest
from rich.console import Console
from rich.table import Table

from aeskit.printed import fitted, nearest, one_of, printable, say, uncut, write_whole


def test_control_characters_are_replaced():
    assert printable("a\x1b[31m") == "a�[31m"
    assert printable("\x9b\x07\r\n\u202e") == 5 * "�"
    assert printable("naïve – ✓ 漢") == "naïve – ✓ 漢"


def test_a_table_is_whole_on_a_narrow_terminal():
    table = Table("function", "contract")
    table.add_column("steps", justify="right")
    table.add_row("cbc_streams_encrypt_vaes_avx512_256", "cbc_streams_17", "1,234,567")
    console = Console(width=40, file=StringIO())
    console.print(uncut(table))
    printed = console.file.getvalue()
    cells = [[cell.strip() for cell in line.split("│")[1:-1]] for line in printed.splitlines() if "│" in line]
    assert ["".join(column) for column in zip(*cells, strict=True)] == [
        "cbc_streams_encrypt_vaes_avx512_256",
        "cbc_streams_17",
        "1,234,567",
    ]


@pytest.mark.parametrize(("width", "stacked"), [(80, False), (40, True)])
def test_a_table_that_would_cut_its_names_is_told_a_line_a_cell(width, stacked):
    table = Table("function", "bytes")
    table.add_column("result")
    table.add_row("xts_encrypt_vaes_avx512_512\n  xts_encrypt_first", "16 to 64", "[green]proved[/]")
    table.add_row("f", "", "no \\[markup]", style="red")
    console = Console(width=width, file=StringIO())
    console.print(fitted(table, console))
    printed = [line.rstrip() for line in console.file.getvalue().splitlines()]
    assert ("│" not in "".join(printed)) == stacked
    if stacked:
        names = ["xts_encrypt_vaes_avx512_512", "  xts_encrypt_first"]
        assert printed == [*names, "  bytes: 16 to 64", "  result: proved", "f", "  result: no [markup]"]


def test_the_nearest_names_are_told_and_all_below_them():
    known = [f"{mode}_encrypt_{isa}" for mode in ("cbc", "ctr", "xts") for isa in ("avx", "vaes_avx2", "sse")]
    assert nearest("xts_encrypt_vaes_avx", known).startswith("xts_encrypt_vaes_avx2, ")
    assert nearest("xts_encrypt", known).startswith("xts_encrypt_avx, xts_encrypt_vaes_avx2, xts_encrypt_sse")
    assert nearest("poem", known) == ""
    assert "nearest" not in one_of("mode", "poem", known)
    assert nearest("anything", known[:3]) == ", ".join(known[:3])
    assert one_of("mode", "x", ["a", "b"]) == "mode must be one of a, b, not x"
    first, *below = one_of("function", "ctr_avx", known).splitlines()
    assert first.startswith("function must be one of 9, not ctr_avx; nearest: ctr_encrypt_avx")
    assert " ".join(line.strip() for line in below) == ", ".join(known)
    assert max(map(len, below)) <= 78


def test_a_file_is_written_whole_or_stays_as_it_was(tmp_path, monkeypatch):
    file, link = tmp_path / "report", tmp_path / "link"
    file.write_text("old")
    file.chmod(0o640)
    link.symlink_to(file)
    write_whole(link, "new")
    assert (file.read_text(), link.is_symlink(), file.stat().st_mode & 0o777) == ("new", True, 0o640)

    def stop(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", stop)
    with pytest.raises(KeyboardInterrupt):
        write_whole(file, "newer")
    assert file.read_text() == "new"
    assert sorted(os.listdir(tmp_path)) == ["link", "report"]


def test_a_device_is_written_as_it_is():
    write_whole("/dev/null", "text")
    assert not os.path.isfile("/dev/null")


@pytest.mark.parametrize("path", ["/dev/full", "/dev/null/below"])
def test_what_cannot_be_written_is_named(path):
    with pytest.raises(OSError, match=f"{path}'$"):
        write_whole(path, "text")


def test_what_is_said_is_neither_markup_nor_a_command():
    console = Console(width=80, file=StringIO(), force_terminal=True, color_system="truecolor")
    say(console, "[red]a\x1b[2J\nb", wrap=False)
    assert console.file.getvalue() == "[red]a�[2J\nb\n"
