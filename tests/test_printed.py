"""What a terminal would obey is replaced, all else stays."""

from aeskit.printed import printable


def test_control_characters_are_replaced():
    assert printable("a\x1b[31m") == "a�[31m"
    assert printable("\x9b\x07\r\n\u202e") == 5 * "�"
    assert printable("naïve – ✓ 漢") == "naïve – ✓ 漢"
