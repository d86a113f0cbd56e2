"""The checks can fail: each kind of fault is found, in the layouts where it shows, in exactly these words."""

from functools import partial

import faulty
import pytest

from aeskit.verify import engine, inputs, oracle, run
from aeskit.verify.cases import Case
from aeskit.verify.differential import Expected
from aeskit.verify.worker import Chunk

DECRYPT = "xts_decrypt_aesni_avx"
CASE = Case("xts", "decrypt", 256, faulty.LENGTH)
DATA, ANSWER = inputs.of(CASE).data, oracle.expected(inputs.of(CASE)).text

MISALIGNED = [f"misaligned {n}" for n in range(1, 16)]
OUT_OF_PLACE = ["out of place", "ends at guard page", "begins at guard page", *MISALIGNED]
IN_PLACE = ["in place", "in place ends at guard page", "in place begins at guard page"]
IN_PLACE += [f"in place misaligned {n}" for n in range(1, 16)]
WHOLE = len(OUT_OF_PLACE) + len(IN_PLACE)
AT_THE_END = ("ends at guard page", "in place ends at guard page")
AT_THE_BEGINNING = ("begins at guard page", "in place begins at guard page")


def found(added, function=DECRYPT, *problems):
    return {finding.text for finding in faulty.report(added, function, *problems).findings}


def lines(what, *layouts, function=DECRYPT, case="AES-256, 33 bytes"):
    return {f"{function}, {case}, {layout}: {what}" for layout in layouts}


def test_a_flipped_byte_is_named_with_the_line_that_replays_it():
    report = faulty.report(faulty.flip, DECRYPT)
    good = ANSWER[20]
    in_place = next(finding for finding in report.findings if ", in place: " in finding.text)
    what = f"block 1 byte 4 is {good ^ 0x43:02x}, must be {good:02x}"
    assert in_place.text == f"{DECRYPT}, AES-256, 33 bytes, in place: {what}"
    assert in_place.command == f"aeskit verify --replay '{DECRYPT}:256:33:in_place:random:0'"
    assert report.rows[0].failures == WHOLE  # in pieces no call has 33 bytes
    assert report.rows[0].cases > WHOLE
    assert report.status == 1


def test_a_byte_written_past_the_end():
    texts = found(faulty.past)
    assert lines("byte 1 past the destination was written: is 5a", "out of place", *MISALIGNED[:9]) <= texts
    assert lines("killed by SIGSEGV", *AT_THE_END) <= texts


def test_a_byte_written_before_the_beginning():
    texts = found(faulty.before)
    assert lines("byte 3 before the destination was written: is 5a", "in place", "out of place") <= texts
    assert lines("killed by SIGSEGV", *AT_THE_BEGINNING) <= texts


def test_a_read_past_the_end_shows_at_the_guard_page_alone():
    assert found(faulty.read_past) == lines("killed by SIGSEGV", *AT_THE_END)


def test_a_read_before_the_beginning_shows_at_the_guard_page_alone():
    assert found(faulty.read_before) == lines("killed by SIGSEGV", *AT_THE_BEGINNING)


def test_a_wrong_counter_written_back():
    case = Case("ctr", "crypt", 128, faulty.LENGTH)
    good = oracle.expected(inputs.of(case)).iv[15]
    what = f"written-back counter byte 15 is {good ^ 1:02x}, must be {good:02x}"
    texts = found(faulty.wrong_iv, "ctr_crypt_aesni_avx", case)
    where = {"function": "ctr_crypt_aesni_avx", "case": "AES-128, 33 bytes"}
    assert lines(what, "out of place", "in place", **where) <= texts


def test_a_tweak_that_nobody_asked_to_write():
    good = inputs.of(CASE).iv[15]
    what = f"tweak, not to be written, byte 15 is {good ^ 1:02x}, must be {good:02x}"
    assert found(faulty.wrong_iv) == lines(what, *IN_PLACE)


def test_a_changed_source():
    what = f"source block 1 byte 0 was changed to {DATA[16] ^ 0xFF:02x}"
    assert found(faulty.change_source) == lines(what, *OUT_OF_PLACE)


def test_a_changed_key_schedule():
    case = Case("cts", "encrypt", 192, faulty.LENGTH, stealing="CS2")
    texts = found(faulty.change_key, "cts_encrypt_aesni_avx", case)
    where = {"function": "cts_encrypt_aesni_avx", "case": "AES-192, CS2, 33 bytes"}
    assert lines("key schedule byte 7 was changed", "in place", **where) <= texts


def test_a_tail_overwritten_before_it_is_read_shows_in_place_alone():
    texts = found(faulty.aliased)
    assert texts
    assert all(", in place" in text for text in texts)


def test_a_function_that_does_nothing():
    what = f"block 0 byte 0 is {DATA[0]:02x}, must be {ANSWER[0]:02x}"
    report = faulty.report(faulty.nothing, DECRYPT)
    assert report.rows[0].failures == WHOLE
    assert lines(what, "in place") <= {finding.text for finding in report.findings}


def test_a_fault_that_an_engine_tells_itself():
    assert lines("read of 1 byte at source + 33", "in place") <= found(faulty.fault)


def test_a_function_that_crashes_again_and_again_is_left_out():
    problems = [Case("xts", "decrypt", bits, faulty.LENGTH) for bits in (128, 192, 256)] * 2
    report = faulty.report(faulty.read_past, DECRYPT, *problems)
    assert report.rows[0].failures == len(report.findings) == engine.CRASHES
    assert report.rows[0].status == "FAILED (left out after repeated crashes)"


def test_a_function_that_leaves_the_process_is_named():
    assert lines("killed by its own exit with status 3", "out of place") <= found(faulty.leave)


def test_a_function_that_never_returns_is_named():
    work = engine.Engine(2, 1, partial(faulty.FaultyRunner, faulty.hang), patience=0.5)
    chunk = Chunk((CASE,), (faulty.needed(DECRYPT),), (0, 1), "quick")
    (event,) = filter(None, work.run([chunk]))
    row, (function, problem, layout, text) = event
    assert (row, function, problem, layout.name) == (0, 0, CASE, "out_of_place")
    assert text == "did not return in 0.5 s"


def test_an_error_of_the_checks_is_no_finding():
    with pytest.raises(RuntimeError, match="ZeroDivisionError: an error of the checks themselves"):
        faulty.report(faulty.raise_error, DECRYPT)


def test_the_sound_function_passes():
    report = run.again(f"{faulty.needed(DECRYPT)}:256:33:in_place:random:0")
    assert (report.status, report.findings, report.rows[0].cases) == (0, [], 1)


def test_a_wrong_model_is_found():
    wrong = Expected(ANSWER[:32] + bytes([ANSWER[32] ^ 1]), None)
    text = oracle.difference(inputs.of(CASE), wrong)
    assert text == f"block 2 byte 0 is {ANSWER[32]:02x}, must be {ANSWER[32] ^ 1:02x}"
