"""Files cut short, and files of nothing but space: told, and told at once."""

import re
import subprocess
import sys

import pytest
from vector_samples import CAVP, KERNEL, B, K

from aeskit.vectors import VectorError, read, read_text
from aeskit.vectors.files import text_pieces


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


@pytest.mark.parametrize(
    ("name", "what", "count"),
    [
        ("ECB/ECBGFSbox192.rsp", "GFSbox of AES-192", 6),
        ("ECB/ECBKeySbox256.rsp", "KeySbox of AES-256", 16),
        ("CBC/CBCVarKey192.rsp", "VarKey of AES-192", 192),
        ("CBC/CBCVarTxt128.rsp", "VarTxt of AES-128", 128),
        ("CBC/CBCMMT256.rsp", "MMT of AES-256", 10),
        ("XTS/tweak-128hexstr/XTSGenAES128.rsp", "XTSGen of 5 lengths of data units", 500),
    ],
)
def test_a_response_that_is_cut_between_counts(tmp_path, cavp, name, what, count):
    text = (cavp / name).read_text(encoding="utf-8")
    stem = name.rsplit("/", 1)[-1]
    answers = rf"{stem}:\d+: {what} must have {count} answers, "
    without_last, encryption = text[: text.rindex("COUNT")], text[: text.index("[DECRYPT]")]
    inner = encryption[: encryption.rindex("COUNT")] + text[text.index("[DECRYPT]") :]
    for cut, end in (
        (without_last, rf"\[DECRYPT\] ends after {count - 1} "),
        (encryption, r"\[DECRYPT\] ends after 0 "),
        (inner, rf"\[ENCRYPT\] ends after {count - 1} "),
    ):
        with pytest.raises(VectorError, match=answers + end):
            read(cavp_file(tmp_path, cut, stem))
        assert len(read(cavp_file(tmp_path, cut, "part.txt"))) < 2 * count
    assert len(read(cavp_file(tmp_path, text, stem))) == 2 * count


@pytest.mark.parametrize("space", ["\\n", " ", "\\t", "\\n ", "\\r\\n"])
def test_space_is_recognised_as_nothing_at_once(space):
    """The square of 60,000 would take minutes of CPU time, so the bound need not be tight."""
    program = f'''
import resource
resource.setrlimit(resource.RLIMIT_CPU, (40, 40))
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
    subprocess.run([sys.executable, "-c", program], check=True, timeout=600)


def test_a_monte_carlo_test_has_all_its_answers(tmp_path):
    answer = f"KEY = {K}\nPLAINTEXT = {B}\nCIPHERTEXT = {B}\n\n"  # reading asks for no right answers
    section = "".join(f"COUNT = {number}\n{answer}" for number in range(100))
    text = f"# MCT data for ECB\n\n[ENCRYPT]\n\n{section}[DECRYPT]\n\n{section}"
    assert len(read(cavp_file(tmp_path, text, "ECBMCT128.rsp"))) == 200
    cut = text[: text.rindex("COUNT")]
    with pytest.raises(VectorError, match=r"must have 100 answers, \[DECRYPT\] ends after 99 of them"):
        read(cavp_file(tmp_path, cut, "ECBMCT128.rsp"))
    start = text.index("COUNT = 41")
    lost = text[:start] + text[text.index("COUNT = 42") :]
    for name in ("ECBMCT128.rsp", "part.txt"):
        with pytest.raises(VectorError, match="COUNT 41 of a Monte Carlo test must stand here"):
            read(cavp_file(tmp_path, lost, name))


EMPTY = {
    "aeskit": '{"aeskit_vectors": 1, "source": "here", "vectors": []}',
    "acvp": '{"vsId": 1, "algorithm": "ACVP-AES-ECB", "testGroups": ['
    '{"tgId": 1, "testType": "AFT", "direction": "encrypt", "keyLen": 128, "tests": []}]}',
    "cavp": "# data for CBC\n\n[ENCRYPT]\n",
    "evptest": "Cipher = AES-128-GCM\nKey = 00\n",
    "kernel": 'struct cipher_testvec serpent_tv_template[] = { { .key = "a", .klen = 1, }, };',
}


@pytest.mark.parametrize("form", EMPTY)
def test_a_file_of_no_vectors_is_broken(form):
    with pytest.raises(VectorError, match="has no vectors"):
        read_text(EMPTY[form])


@pytest.mark.parametrize(
    ("end", "message"),
    [
        ("}", ':17: "}" must have its "{"'),
        ("int f(void) {", ':17: "{" must have its "}"'),
        ("\0", ":17: must be text, without a NUL"),
        ("/* \0 */", ":17: must be text, without a NUL"),
        ("struct cipher_testvec x }", ':17: "}" must have its "{"'),
    ],
)
def test_what_stands_after_the_last_array(end, message):
    with pytest.raises(VectorError) as caught:
        read_text(KERNEL.rstrip() + "\n" + end, "header.h")
    assert str(caught.value).endswith(re.sub(r"^:17", f":{len(KERNEL.rstrip().splitlines()) + 1}", message))
    more = "\nstruct other { int a[2]; };\nint f(void) { struct other x = {{1, 2}}; return '}'; }\n"
    assert len(read_text(KERNEL + more)) == 2


@pytest.mark.parametrize("title", ["ECB", "MCT of CFB8", "data for ECB", "a\n[DECRYPT]\nb", "x" * 5000])
def test_a_title_tells_no_mode(title):
    vectors = read_text(CAVP)
    text = "".join(text_pieces(vectors, "cavp", title=title)[0])
    again = read_text(text)
    assert [(item.mode, item.iterations, item.ciphertext) for item in again] == [
        (item.mode, item.iterations, item.ciphertext) for item in vectors
    ]
