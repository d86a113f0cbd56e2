"""A run recorded: what it says of our own code, the same from every engine; inputs that are refused."""

import os

import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from aeskit.machine.bochs import EmulatorMissing
from aeskit.machine.silicon import unavailable
from aeskit.trace import Trace
from aeskit.verify.calls import Given
from aeskit.verify.stepping import trace

XTS = "xts_encrypt_aesni_avx"


def phases(made):
    return list(dict.fromkeys(step.phase for step in made))


def recognised(made):
    return {name for step in made for name in step.names.values()}


@pytest.fixture(scope="module")
def xts():
    return trace(XTS, None, Given(33))


def test_the_steps_of_xts_are_named_by_the_standard(xts):
    assert xts.findings == ()
    assert {"T_0", "T_1", "T_2", "PP_0.round[1].start", "PP", "C_0", "C_1"} <= recognised(xts)
    assert phases(xts)[0] == "entry: tweak"
    assert any("block 0" in phase or "blocks 0" in phase for phase in phases(xts))
    last = next(step for step in xts if "T_0" in step.names.values())
    assert last.text.startswith("vaesenclast")


def test_the_trace_goes_through_json(xts):
    assert Trace.from_json(xts.to_json()) == xts


def test_ten_thousand_steps_of_zmm_code_are_less_than_5_mb_of_json():
    made = trace("xts_encrypt_vaes_avx512_512", None, Given(1024))
    assert len(made.steps) > 400
    assert len(made.to_json()) / len(made.steps) * 10_000 < 5_000_000


@pytest.mark.parametrize("in_place", [False, True])
def test_the_bytes_are_those_of_cryptography(in_place):
    key, tweak, data = os.urandom(64), os.urandom(16), os.urandom(50)
    made = trace(XTS, None, Given(50, key=key, start=tweak, data=data, in_place=in_place))
    encryptor = Cipher(algorithms.AES(key), modes.XTS(tweak)).encryptor()
    wanted = encryptor.update(data) + encryptor.finalize()
    name = "data" if in_place else "destination"
    memory = bytearray(next(b.data for b in made.buffers if b.name == name))
    for access in (a for step in made for a in step.accesses if a.buffer == name and a.written is not None):
        memory[access.offset : access.offset + access.size] = access.written
    assert bytes(memory) == wanted
    assert made.findings == ()


ENGINES = [
    pytest.param(
        "silicon", marks=pytest.mark.skipif(bool(unavailable()), reason=f"silicon: {unavailable()}")
    ),
    "emulator",
]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", [XTS, "cts_decrypt_aesni_avx", "ctr_crypt_aesni_avx"])
def test_every_engine_gives_the_same_trace(engine, name):
    try:
        made = trace(name, None, Given(149), engine)
    except EmulatorMissing as error:
        pytest.skip(str(error))
    lanes = trace(name, None, Given(149))
    assert made.source == engine
    assert made.steps == lanes.steps
    assert made.findings == lanes.findings == ()


@pytest.mark.parametrize(
    ("name", "length", "value"),
    [
        ("ctr_crypt_vaes_avx512_512", 500, "T_33"),
        ("cbc_decrypt_vaes_avx2", 256, "C_9.round[5].istart"),
        ("cts_encrypt_aesni_avx", 40, "C_3"),
        ("ecb_decrypt_vaes_avx512_256", 64, "P_4"),
        ("keys_expand_aesni", 0, "K[14]"),
        ("xts_decrypt_vaes_avx512_512", 1031, "T_63"),
    ],
)
def test_every_mode_is_recognised_and_clean(name, length, value):
    made = trace(name, None, Given(length))
    assert value in recognised(made)
    assert made.findings == ()


@pytest.mark.parametrize(
    ("target", "contract", "given", "message"),
    [
        ("nothing", None, Given(), "nothing must be one of our own functions, FILE:SYMBOL or a file"),
        (XTS, "poem", Given(), "contract must be one of 36, not poem\n  xts_iv, ctr"),
        (XTS, None, Given(15), "bytes must be at least 16 for xts_encrypt_first, not 15"),
        (
            XTS,
            None,
            Given(16, key=bytes(31)),
            "key must be 32 or 48 or 64 bytes for xts_encrypt_first, not 31",
        ),
        (XTS, None, Given(1 << 30), "bytes must be at most 262144 to be told step by step"),
        (XTS, None, Given(16, start=bytes(15)), "tweak must be 16 bytes, not 15"),
        ("ecb_encrypt_aesni_avx", None, Given(17), "bytes must be at least 0, a multiple of 16"),
        (XTS, None, Given(16, 17), "a key must have 128, 192, 256 bits, not 136"),
    ],
)
def test_bad_input_is_refused_in_words(target, contract, given, message):
    with pytest.raises(ValueError, match=message):
        trace(target, contract, given)


@pytest.mark.parametrize(
    ("stealing", "length", "names"),
    [
        ("cs1", 45, {0: ("C_1", 16), 16: ("C*_2", 13), 29: ("C_3", 16)}),
        ("cs2", 45, {0: ("C_1", 16), 16: ("C_3", 16), 32: ("C*_2", 13)}),
        ("cs3", 32, {0: ("C_2", 16), 16: ("C_1", 16)}),
        ("cs1", 32, {0: ("C_1", 16), 16: ("C_2", 16)}),
    ],
)
def test_blocks_of_stolen_ciphertext_go_by_their_names(stealing, length, names):
    made = trace("cts_decrypt_aesni_avx", f"cts_decrypt_{stealing}", Given(length))
    source = next(buffer.data for buffer in made.buffers if buffer.name == "source")
    given = {name: data for step in made.model if "given" in step.text for name, data in step.values.items()}
    assert {at: (name, len(given[name])) for at, (name, _) in names.items()} == names
    assert all(given[name] == source[at : at + size] for at, (name, size) in names.items())
