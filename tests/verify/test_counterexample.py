"""Of a proof that failed the smallest call is found; what must come out is what `cryptography` gives."""

import re
from dataclasses import asdict
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from engines import NO_SILICON

from aeskit.verify import refuted
from aeskit.verify.proving import proofs
from aeskit.verify.proving.proofs import Target
from aeskit.verify.review import hardware

pytest.importorskip("iced_x86", reason="decoding needs iced-x86")

SAMPLES = Path(__file__).parent / "samples"
COUNTER = str(SAMPLES / "counter_sse.S")
LENGTHS = tuple(range(1, 34))
ZEROS, ONES = bytes(16), bytes(8) + b"\xff" * 8


def shown(target, lengths=LENGTHS):
    """The counterexample of the failed proofs, and its inputs."""
    found = [p for p in proofs.prove([target], lengths, (16,), workers=1) if not p.proved]
    call = refuted.explain(target, found).shown
    return call, {value.name: bytes.fromhex(value.data) for value in call.inputs}


def counter(bug, lengths=LENGTHS):
    return shown(Target(COUNTER, "counter_sse", "ctr", define=(bug,)), lengths)


def crypted(values):
    cipher = Cipher(algorithms.AES(values["K"]), modes.CTR(values["counter"])).encryptor()
    return cipher.update(values["data"])


def test_without_a_fault_it_is_proved():
    found = proofs.prove([Target(COUNTER, "counter_sse", "ctr")], LENGTHS, (16,), workers=1)
    assert all(proof.proved for proof in found)


def test_a_carry_that_is_dropped_needs_a_counter_that_carries():
    call, values = counter("BUG_CARRY")
    assert values == {"K": ZEROS, "counter": ONES, "data": b"\0"}
    after = (int.from_bytes(ONES) + 1).to_bytes(16)
    assert (call.buffer, call.expected, call.got) == ("counter", after.hex(), ZEROS.hex())


def test_the_one_counter_that_goes_wrong_is_taken_from_the_proof_s_case():
    call, values = counter("BUG_COUNTER")
    assert values == {"K": ZEROS, "counter": 0x123456789.to_bytes(16), "data": b"\0"}
    assert bytes.fromhex(call.expected) == crypted(values)
    wrong = values | {"counter": (1 << 64 | 0x123456789).to_bytes(16)}
    assert bytes.fromhex(call.got) == crypted(wrong)


def test_a_tail_needs_its_length_alone():
    call, values = counter("BUG_TAIL")
    assert values == {"K": ZEROS, "counter": ZEROS, "data": bytes(15)}
    assert bytes.fromhex(call.expected) == crypted(values)
    assert call.got == call.expected[:-2] + "00"


def test_a_fault_in_place_is_shown_in_place():
    """Of keystream and data nothing is left but the keystream and itself: zeros."""
    call, values = counter("BUG_IN_PLACE")
    assert values == {"K": ZEROS, "counter": ZEROS, "data": ZEROS}
    assert call.call == "ctr, AES-128, 16 bytes, in place"
    assert call.command.endswith(f"--data {ZEROS.hex()} --in-place")
    assert (call.buffer, bytes.fromhex(call.expected), call.got) == ("data", crypted(values), ZEROS.hex())


def test_a_fault_that_hangs_on_a_bit_of_the_key_shows_with_that_bit():
    call, values = counter("BUG_KEY")
    assert values == {"K": bytes(5) + b"\x10" + bytes(10), "counter": ZEROS, "data": b"\0"}
    assert (bytes.fromhex(call.expected), call.got) == (crypted(values), "ff")


def test_a_fault_that_hangs_on_the_data_is_found_by_the_code_s_own_constants():
    call, values = counter("BUG_DATA", (16,))
    assert values == {"K": ZEROS, "counter": ZEROS, "data": bytes.fromhex("eeffc0") + bytes(13)}
    assert bytes.fromhex(call.expected) == crypted(values)


def test_a_call_that_does_not_end_is_shown_and_the_search_ends():
    call, values = counter("BUG_HANG")
    assert values == {"K": ZEROS, "counter": ZEROS, "data": b"\x40"}
    assert (call.buffer, call.expected) == ("", "")
    assert NO_SILICON or "no return in time" in call.text


def test_without_silicon_the_lane_machine_shows_the_same_call(monkeypatch):
    silicon = {bug: counter(bug)[1] for bug in ("BUG_CARRY", "BUG_COUNTER", "BUG_HANG")}
    monkeypatch.setattr(hardware, "engine", lambda missing: ("", None, "not here"))
    for bug, values in silicon.items():
        call, ours = counter(bug)
        assert ours == values
        assert call.engine == "so it is in the lane machine"


def test_the_answer_is_the_same_every_time():
    assert asdict(counter("BUG_COUNTER")[0]) == asdict(counter("BUG_COUNTER")[0])


# ---- XTS: siblings of the sample in legacy SSE, and of our own


def sibling(folder, *changes):
    """The library's XTS encryption with other text in some places."""
    text = (SAMPLES / "library_sse.inc").read_text()
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    path = folder / "sibling.S"
    path.write_text(f"#define NAME sibling\n#define NAME_BLOCK sibling_block\n{text}")
    return Target(str(path), "sibling", "xts_encrypt_library")


def xts(values):
    keys = algorithms.AES(values["K1"] + values["K2"])
    cipher = Cipher(keys, modes.XTS(values["iv"])).encryptor()
    return cipher.update(values["data"]) + cipher.finalize()


def test_a_tail_with_the_tweak_after_next(tmp_path):
    change = ("one_block -16(%rsi), -16(%rsi)", "double_tweak\n\tone_block -16(%rsi), -16(%rsi)")
    call, values = shown(sibling(tmp_path, change), range(16, 34))
    assert values == {"K1": ZEROS, "K2": b"\x01" + bytes(15), "iv": ZEROS, "data": bytes(17)}
    assert bytes.fromhex(call.expected) == xts(values)
    assert (call.buffer, call.block) == ("destination", 0)


def test_a_tweak_that_is_not_reduced_needs_its_top_bit(tmp_path):
    """The IV is one whose tweak has bit 127; `cryptography` says which have."""
    call, values = shown(sibling(tmp_path, ("movl\t$0x87, %r11d", "xorl\t%r11d, %r11d")), range(16, 49))
    assert (values["K1"], values["data"], len(values["data"])) == (ZEROS, bytes(17), 17)
    tweak = Cipher(algorithms.AES(values["K2"]), modes.ECB()).encryptor().update(values["iv"])
    assert tweak[15] >> 7
    assert bytes.fromhex(call.expected) == xts(values)


@pytest.mark.parametrize("fault", [("sign, 31", "sign, 30"), (".quad 0x87, 1", ".quad 0, 1")])
def test_a_tweak_given_as_such_shows_the_bit_that_is_carried(tmp_path, fault):
    native = Path(__file__).parents[2] / "native"
    for path in native.glob("*"):
        if path.suffix in (".S", ".inc"):
            (tmp_path / path.name).write_text(path.read_text().replace(*fault))
    target = Target(str(tmp_path / "xts.S"), "xts_encrypt_aesni_avx", "xts_encrypt_piece")
    _, values = shown(target, (16, 17))
    top = bytes(15) + b"\x80"
    assert values == {"K1": ZEROS, "K2": values["K2"], "tweak": top, "data": bytes(17)}


def test_a_read_too_far_is_shown_by_the_simplest_call():
    call, values = shown(
        Target(str(SAMPLES / "past_tail.S"), "past_tail_xts_encrypt", "xts_encrypt_library"), (17,)
    )
    assert "a read of 16 bytes at source+16, 15 past its end" in call.text
    assert values["data"] == bytes(17)
    assert NO_SILICON or call.engine == "so it is on this CPU"


def test_the_readme_shows_what_a_failed_proof_shows():
    readme = (SAMPLES.parents[2] / "README.md").read_text(encoding="utf-8")
    shown_there = re.search(r"```\n(counterexample: .*?)```", readme, re.DOTALL)[1].splitlines()
    target = Target(str(SAMPLES / "wrong_at_33.S"), "wrong_at_33_xts_encrypt", "xts_encrypt_library")
    call, _ = shown(target, (33,))
    for told, line in zip(shown_there, call.lines(), strict=False):
        assert line.startswith(told.removesuffix(" …"))
    assert len(shown_there) == len(call.lines()) - 1


def test_the_command_repeats_it(tmp_path):
    """As it stands, with a path that a shell would take apart."""
    import shlex

    from click.testing import CliRunner

    from aeskit.cli import main

    folder = tmp_path / "two words"
    folder.mkdir()
    target = sibling(folder, ("double_tweak\n\taddq\t$16, %rdi", "addq\t$16, %rdi"))
    call, _ = shown(target, range(16, 34))
    program, *words = shlex.split(call.command)
    done = CliRunner().invoke(main, words)
    assert (program, done.exit_code) == ("aeskit", 1)
    place = call.text.partition(" (")[0]
    assert place in re.sub(r"\s+", " ", done.output)
