"""Files cut short, and files of nothing but space: told, and told at once."""

import subprocess
import sys

import pytest
from vector_samples import CAVP

from aeskit.vectors import VectorError, read


def cavp_file(tmp_path, text, name):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return path


def test_a_response_that_is_cut_asks_nothing(tmp_path, cavp):
    text = (cavp / "CBC" / "CBCMMT128.rsp").read_text(encoding="utf-8")
    last = text.rindex("\n", 0, text.index("CIPHERTEXT", 3 * len(text) // 5))
    cut = text[:last]
    with pytest.raises(VectorError, match=r'CBCMMT128.rsp:\d+: "(CIPHER|PLAIN)TEXT" is missing'):
        read(cavp_file(tmp_path, cut, "CBCMMT128.rsp"))


def test_answers_stand_in_every_record_or_in_none(tmp_path):
    lines = CAVP.splitlines()
    answers = [number for number, line in enumerate(lines) if line.startswith(("CIPH", "PLAIN"))]
    first, last = answers[1], answers[3]
    without_last = "\n".join(lines[:last])
    without_first = "\n".join(line for number, line in enumerate(lines) if number != first)
    questions = "\n".join(line for number, line in enumerate(lines) if number not in (first, last))
    for name in ("cbc.rsp", "cbc.req", "cbc.txt"):
        with pytest.raises(VectorError, match=r':14: "PLAINTEXT" is missing in DECRYPT, COUNT 0'):
            read(cavp_file(tmp_path, without_last, name))
    with pytest.raises(VectorError, match=r':13: "PLAINTEXT" must not be there, as others ask for it'):
        read(cavp_file(tmp_path, without_first, "cbc.req"))
    assert [item.asks for item in read(cavp_file(tmp_path, questions, "cbc.req"))] == [
        "ciphertext",
        "plaintext",
    ]
    with pytest.raises(VectorError, match=r':6: "CIPHERTEXT" is missing in ENCRYPT, COUNT 0'):
        read(cavp_file(tmp_path, questions, "cbc.rsp"))


@pytest.mark.parametrize("space", ["\\n", " ", "\\t", "\\n ", "\\r\\n"])
def test_space_is_recognised_as_nothing_at_once(space):
    """The square of 60,000 would take minutes, so the bound need not be tight."""
    program = f'''
from aeskit.vectors import VectorError, read_text
from aeskit.vectors.registry import formats
for start in ("", "Cipher", "[ENCRYPT]x", "[", "COUNT", "/"):
    text = start + "{space}" * 60000 + "."
    for form in (None, *(entry.name for entry in formats().values() if entry.read)):
        try:
            read_text(text, form=form)
        except VectorError:
            continue
        raise AssertionError((start, form))
'''
    subprocess.run([sys.executable, "-c", program], check=True, timeout=40)
