"""What a terminal would obey is replaced, all else stays; tables are whole on narrow terminals."""

from io import StringIO

from rich.console import Console
from rich.table import Table

from aeskit.printed import printable, uncut


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
