"""What each format's fields become."""

import pytest
from vector_samples import ACVP, ACVP_ANSWERS, CAVP, EVPTEST, FILES, KERNEL, WYCHEPROOF

from aeskit.vectors import VectorError, read_text
from aeskit.vectors.files import stream
from aeskit.vectors.registry import formats, recognise
from aeskit.vectors.source import Source


@pytest.mark.parametrize("name", FILES)
def test_a_format_is_recognised_by_its_beginning(name):
    assert recognise(Source(text=FILES[name])).name == name
    assert recognise(Source(text="\ufeff" + FILES[name].replace("\n", "\r\n"))).name == name


@pytest.mark.parametrize("name", FILES)
def test_line_ends_and_a_byte_order_mark_change_nothing(name):
    marked = "\ufeff" + FILES[name].replace("\n", "\r\n")
    assert read_text(marked).vectors == read_text(FILES[name]).vectors != ()


def test_every_format_reads_or_writes():
    assert {name for name, entry in formats().items() if entry.read and not entry.answers} == FILES.keys()
    assert all(entry.read or entry.write for entry in formats().values())


def test_an_unknown_file_is_refused():
    with pytest.raises(VectorError, match=r"must be of a known format \(acvp-expected, acvp, aeskit, cavp, "):
        read_text("hello")


def test_wycheproof_pads_short_ivs_and_keeps_flags():
    found = read_text(WYCHEPROOF)
    (vector,) = found
    assert (vector.iv, vector.flags, vector.source) == (b"\x22" * 8 + bytes(8), ("Edge",), "somebody 0.9")
    assert found.flags == {"Edge": "an edge"}
    assert vector.line == 24


def test_acvp_takes_the_answer_from_its_companion():
    (question,) = read_text(ACVP)
    assert (question.asks, question.bits, question.clause) == ("ciphertext", 9, "tgId 1, tcId 2")
    source = Source(text=ACVP)
    source.companions = [Source(text=ACVP_ANSWERS)]
    (vector,) = stream(recognise(source), source)
    assert (vector.asks, vector.ciphertext) == ("", b"\x00\x80")


def test_acvp_answers_alone_are_refused():
    with pytest.raises(VectorError, match="has answers alone; give the file of their questions as well"):
        read_text(ACVP_ANSWERS)


def test_cavp_sections_are_directions_and_the_comment_tells_the_mode():
    first, second = read_text(CAVP)
    assert (first.mode, first.direction, second.direction) == ("cbc", "encrypt", "decrypt")
    assert first.plaintext == second.ciphertext
    with pytest.raises(VectorError, match=r"text:6: a comment or the file's name must tell the mode"):
        read_text(CAVP.replace("CBC", "…"))
    with pytest.raises(VectorError, match="CFB8 is no mode of aeskit"):
        read_text(CAVP.replace("CBC", "CFB8"))


def test_evptest_stealing_next_iv_and_expected_failures():
    stealing, refused = read_text(EVPTEST)
    assert (stealing.stealing, stealing.iv_after) == ("CS3", b"\x11" * 16)
    assert stealing.plaintext == b"0123456789abcdef\x01"
    assert (stealing.source, stealing.comment) == ("A title", "of the stanza")
    assert (refused.valid, refused.expects, refused.direction) == (False, "KEY_SET_ERROR", "encrypt")


def test_evptest_without_a_mode_of_stealing_is_cs1():
    assert read_text(EVPTEST.replace("CTSMode = CS3\n", ""))[0].stealing == "CS1"


def test_kernel_strings_lengths_and_errors():
    found = read_text(KERNEL)
    good, refused = found
    assert (good.mode, good.plaintext, good.iv_after) == ("cbc", b"Single block msg", b"\x22" * 16)
    assert (refused.valid, refused.expects) == (False, "setkey_error -EINVAL")
    assert found.notes == ("serpent_tv_template: no mode of AES, not read",)


def test_kernel_rfc3686_puts_nonce_iv_and_counter_together():
    text = KERNEL.replace("aes_cbc", "aes_ctr_rfc3686").replace(".klen	= 16", ".klen	= 20")
    text = text.replace('\\x00\\x00",', '\\x00\\x00\\x01\\x02\\x03\\x04",', 1)
    vector = read_text(text)[0]
    assert (len(vector.key), vector.iv) == (16, b"\1\2\3\4" + b"\x11" * 8 + b"\0\0\0\1")
