"""A function that is wrong in several ways at once, stepped: all is told, at the step where it shows."""

import re
from pathlib import Path

import pytest
from click.testing import CliRunner
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from engines import NO_EMULATOR, NO_SILICON

from aeskit.cli import main
from aeskit.trace import Trace
from aeskit.verify.calls import Given
from aeskit.verify.stepping import trace
from aeskit.views.steps import picture

FAULTY = Path(__file__).with_name("faulty_ecb.S")

SAMPLES = Path(__file__).with_name("samples")

WIDE_LENGTH = """
def setup(call):
    from aeskit.contracts import UInt32
    source, destination = call.data()
    call.arguments(source, destination, UInt32(call.length))
    call.must(destination, call.source_data)

from aeskit.contracts import Contract
COPY = Contract("copy", "source to destination, a 32-bit length", setup)
"""


@pytest.fixture(scope="module")
def made():
    return trace(f"{FAULTY}:faulty_ecb", "ecb_encrypt", Given(32))


def test_every_fault_is_told_at_its_step(made):
    texts = [str(finding) for finding in made.findings]
    for text in (
        "a read of 16 bytes at source+32, 16 past its end",
        "rbx must be kept and is changed at the return",
        "destination: block 0 byte 0 is",
        "a branch depends on the key: with other bytes the run goes elsewhere",
        "a branch depends on the data: with other bytes the run goes elsewhere",
        "the first of the model's states that no lane held is P_1.round[10].start",
    ):
        assert any(text in line for line in texts), text
    branch = next(f.step for f in made.findings if "depends on the data" in f.text)
    assert made.steps[branch].text.startswith("je")
    read = next(f.step for f in made.findings if "past its end" in f.text)
    assert made.steps[read].text == "movdqu 0x10(%rsi),%xmm2"


def test_lanes_are_known_up_to_the_fault_and_not_behind_it(made):
    skipped = next(i for i, s in enumerate(made.steps) if s.names.get("xmm1[0]") == "K[9]")
    assert made.steps[skipped - 4].names == {"xmm0[0]": "P_1.round[9].start"}
    after = [s for s in made.steps[skipped:] if s.text.startswith("aesenc ")]
    assert after[0].names == {}


def test_bytes_are_told_apart_by_where_they_come_from(made):
    kinds = {name: s.origins[name] for s in made.steps for name in s.origins}
    assert kinds["xmm0"] == "d"
    assert kinds["xmm1"] == kinds["xmm15"] == "k"
    stealing = trace("xts_encrypt_aesni_avx", None, Given(20))
    mixed = {letters for step in stealing for letters in step.origins.values() if len(letters) == 16}
    assert "dddd" + "c" * 12 in mixed


def test_a_length_read_as_64_bits(tmp_path):
    source, contract = tmp_path / "copy.S", tmp_path / "contract.py"
    contract.write_text(WIDE_LENGTH)
    body = "movb (%rdi),%al\nmovb %al,(%rsi)\ninc %rdi\ninc %rsi\ndec {0}\njnz copy\nret\n"
    for register, wrong in (("%edx", False), ("%rdx", True)):
        source.write_text(
            f".globl copy\n.type copy,@function\ncopy:\n{body.format(register)}.size copy,.-copy\n"
        )
        found = trace(str(source), "COPY", Given(5), contract_file=str(contract)).findings
        assert bool(found) is wrong


def test_a_fault_that_these_inputs_do_not_show_is_met_with_others():
    target = f"{SAMPLES / 'wrong_at_33.S'}:wrong_at_33_xts_encrypt"
    found = trace(target, "xts_encrypt_library", Given(33)).findings
    told = next(re.fullmatch(r"with --start (\w{32}), destination: block 1 .*", f.text) for f in found)
    again = trace(target, "xts_encrypt_library", Given(33, start=bytes.fromhex(told[1]))).findings
    assert any(f.text.startswith("destination: block 1") for f in again)


def doubled(block):
    """Times x in GF(2^128) of IEEE 1619, in Python's integers."""
    value = int.from_bytes(block, "little") << 1
    return (value ^ (value >> 128) * (1 << 128 | 0x87)).to_bytes(16, "little")


def test_the_first_lane_that_differs_is_told_with_what_it_must_be():
    sample, start = SAMPLES / "wrong_at_33.S", bytes.fromhex("48f6d03925462e853abfbfb4e6c5e2f1")
    key = bytes(range(64))
    made = trace(f"{sample}:wrong_at_33_xts_encrypt", "xts_encrypt_library", Given(33, key=key, start=start))
    t0 = Cipher(algorithms.AES(key[32:]), modes.ECB()).encryptor().update(start)
    told = [(n, step, *item) for n, step in enumerate(made) for item in step.wanted.items()]
    number, step, place, must = told[0]
    assert (step.text, place, must.data) == ("mov $0x86,%r11d", "r11", b"\x87" + bytes(7))
    finding = next(f for f in made.findings if "first lane that differs from the model" in f.text)
    assert finding.step == number
    assert finding.text.endswith("model: r11: byte 0 is 86, must be 87")
    texts = [(step.text, place, must.name, must.data) for _, step, place, must in told]
    assert ("xor %rbx,%r8", "r8", "bytes 0 to 7 of T_1", doubled(t0)[:8]) in texts
    assert ("punpcklqdq %xmm3,%xmm2", "xmm2[0]", "T_1", doubled(t0)) in texts
    assert {"PP_1", "T_2", "PP_2.round[14].start", "C_1"} <= {must.name for *_, must in told}
    shown = picture(made)
    assert f"≠ xmm2[0] must be T_1: {doubled(t0).hex(' ', 4)}" in shown
    assert f"≠ r8 must be bytes 0 to 7 of T_1: {doubled(t0)[:8].hex(' ', 4)}" in shown


CARRIES, KEPT = bytes.fromhex("48f6d03925462e853abfbfb4e6c5e2f1"), bytes(16)
"""IVs; under the key of these tests the tweak of the first has bit 127."""


@pytest.mark.parametrize(
    ("old", "new", "text", "place", "must"),
    [
        ("movl\t$0x87, %r11d", "movl\t$0x86, %r11d", "mov $0x86,%r11d", "r11", lambda t: word(0x87)),
        ("movl\t$0x87, %r11d", "xorl\t%r11d, %r11d", "xor %rbx,%r8", "r8", lambda t: doubled(t)[:8]),
        ("adcq\t%r9, %r9", "addq\t%r9, %r9", "add %r9,%r9", "r9", lambda t: doubled(t)[8:]),
        ("addq\t%r8, %r8", "shlq\t$2, %r8", "shl $2,%r8", "r8", lambda t: word(2 * low(t))),
        ("psrldq\t$8, %xmm0", "psrldq\t$9, %xmm0", "psrldq $9,%xmm0", "xmm0[0]", lambda t: t[8:]),
        ("movq\t%r8, %xmm2", "movq\t%r9, %xmm2", "punpcklqdq %xmm3,%xmm2", "xmm2[0]", lambda t: t),
        ("movq\t%r9, %xmm3", "movq\t%r8, %xmm3", "punpcklqdq %xmm3,%xmm2", "xmm2[0]", lambda t: t),
    ],
)  # fmt: skip
def test_a_fault_in_scalar_tweak_arithmetic_is_found_where_it_stands(tmp_path, old, new, text, place, must):
    sample, key = (SAMPLES / "library_sse.inc").read_text(), bytes(range(64))
    assert old in sample
    head = "#define NAME sibling\n#define NAME_BLOCK sibling_block\n"
    (tmp_path / "sibling.S").write_text(head + sample.replace(old, new))
    made = trace(f"{tmp_path}/sibling.S:sibling", "xts_encrypt_library", Given(48, key=key, start=CARRIES))
    tweak = Cipher(algorithms.AES(key[32:]), modes.ECB()).encryptor().update(CARRIES)
    assert tweak[15] >> 7
    step, wanted = next((step, step.wanted) for step in made if step.wanted)
    assert (step.text, list(wanted)) == (text, [place])
    right = must(tweak)
    assert wanted[place].data[: len(right)] == right


def word(value):
    return (value % (1 << 64)).to_bytes(8, "little")


def low(block):
    return int.from_bytes(block[:8], "little")


def test_a_byte_of_the_tail_blames_no_load(tmp_path):
    """One byte tells too little: what was loaded may be right, and the address or the store wrong."""
    sample = (SAMPLES / "library_sse.inc").read_text()
    head = "#define NAME sibling\n#define NAME_BLOCK sibling_block\n"
    wrong = sample.replace("movb\t\\n - 17(%rsi), %bl", "movb\t\\n - 16(%rsi), %bl")
    assert wrong != sample
    (tmp_path / "sibling.S").write_text(head + wrong)
    given = Given(39, key=bytes(range(64)), data=bytes(range(39)), start=KEPT)
    made = trace(f"{tmp_path}/sibling.S:sibling", "xts_encrypt_library", given)
    assert any(finding.text.startswith("destination: block") for finding in made.findings)
    assert not any(step.wanted for step in made if step.text.startswith("mov "))


def test_a_sum_with_itself_is_found_where_it_is_made_zero(tmp_path):
    """Both sources are the keystream, and the result that must be there has a name."""
    sample = (SAMPLES / "counter_sse.S").read_text()
    old = "movdqu\t(%rsi), %xmm1\n\tpxor\t%xmm1, %xmm0"
    assert sample.count(old) == 1
    (tmp_path / "zero.S").write_text(sample.replace(old, old.replace("pxor\t%xmm1", "pxor\t%xmm0")))
    key, data, counter = bytes(range(16)), bytes(range(32)), bytes(range(100, 116))
    made = trace(f"{tmp_path}/zero.S:counter_sse", "ctr", Given(32, key=key, data=data, start=counter))
    right = Cipher(algorithms.AES(key), modes.CTR(counter)).encryptor().update(data)
    step, wanted = next((step, step.wanted) for step in made if step.wanted)
    assert (step.text, wanted["xmm0[0]"].data) == ("pxor %xmm0,%xmm0", right[:16])


def test_a_blend_the_wrong_way_round_is_found_at_the_blend(tmp_path):
    native = Path(__file__).parents[2] / "native"
    for path in native.glob("*"):
        if path.suffix in (".S", ".inc"):
            old, new = "vpblendvb xdata1, xdata1, xdata0,", "vpblendvb xdata1, xdata0, xdata1,"
            (tmp_path / path.name).write_text(path.read_text().replace(old, new))
    key, data, tweak = bytes(range(64)), bytes(range(39)), bytes(range(16))
    given = Given(39, key=key, data=data, start=tweak)
    made = trace(f"{tmp_path}/xts.S:xts_encrypt_vaes_avx2", "xts_encrypt_piece", given)
    start = Cipher(algorithms.AES(key[32:]), modes.ECB()).decryptor().update(tweak)
    cipher = Cipher(algorithms.AES(key), modes.XTS(start)).encryptor()
    stolen = (cipher.update(data[:32]) + cipher.finalize())[16:]
    step = next(step for step in made if step.wanted)
    assert step.text.startswith("vpblendvb")
    assert [must.data for must in step.wanted.values()] == [data[32:] + stolen[7:]]


@pytest.mark.parametrize("engine", ["silicon", "emulator"])
def test_every_engine_shows_the_same_lane(engine):
    if reason := NO_SILICON if engine == "silicon" else NO_EMULATOR:
        pytest.skip(reason)
    target, given = f"{FAULTY}:faulty_ecb", Given(32)
    ours, theirs = (trace(target, "ecb_encrypt", given, one) for one in ("lanes", engine))
    assert [step.wanted for step in theirs] == [step.wanted for step in ours]
    assert any(step.wanted for step in ours)


def test_right_code_has_no_lane_that_differs():
    assert not any(step.wanted for step in trace("xts_encrypt_aesni_avx", None, Given(33)))


def run(*arguments):
    return CliRunner().invoke(main, ["step", *map(str, arguments)])


def test_the_command_shows_writes_and_says_by_its_status(tmp_path):
    page, file = tmp_path / "run.html", tmp_path / "run.json"
    shown = run(FAULTY, "--contract", "ecb_encrypt", "--bytes", 16, "--text", "--html", page, "--json", file)
    assert shown.exit_code == 1
    assert "✗ a read of 16 bytes at source+16" in shown.output
    assert "faulty_ecb" in page.read_text()
    assert Trace.from_json(file.read_text()).steps[-1].text == "ret"
    clean = run("ecb_encrypt_aesni_avx", "--data", "00" * 16, "--key", "11" * 16)
    assert clean.exit_code == 0
    assert "ecb_encrypt_aesni_avx, AES-128, 16 bytes" in clean.output


def test_the_key_is_the_longest_that_the_contract_has(tmp_path):
    (tmp_path / "f.S").write_text(".globl f\n.type f, @function\nf: ret\n.size f, .-f\n")
    text = (
        "from aeskit.contracts import Contract\n\ndef setup(call):\n"
        "    call.arguments(call.readable('key', call.schedule(call.round_keys())))\n\n"
        "C = Contract('c', 'reads', setup, key_sizes=(16,), has_length=False)\n"
        "D = Contract('d', 'reads', setup, key_sizes=(16, 24), has_length=False)\n"
    )
    (tmp_path / "contract.py").write_text(text)
    asked = (f"{tmp_path}/f.S:f", "--contract-file", tmp_path / "contract.py", "--contract")
    assert "f, AES-128" in run(*asked, "C").output
    assert "f, AES-192" in run(*asked, "D").output
    assert "f, AES-128" in run(*asked, "D", "--key-bits", "128").output
    assert "a key must have 128, 192 bits, not 256" in run(*asked, "D", "--key-bits", "256").output
    assert "AES-256" in run("ecb_encrypt_aesni_avx", "--bytes", "16").output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([FAULTY], "--contract must say what faulty_ecb promises:\n  xts_iv, ctr"),
        ([f"{FAULTY}:other", "--contract", "ecb_encrypt"], "faulty_ecb.S has no symbol other"),
        (["missing.o:f", "--contract", "ecb_encrypt"], "missing.o cannot be read"),
        (["ecb_encrypt_aesni_avx", "--key", "xyz"], "key must be hexadecimal, two digits a byte, not 'xyz'"),
        (["ecb_encrypt_aesni_avx", "--bytes", "17"], "a multiple of 16"),
        (["ecb_encrypt_aesni_avx", "--input", "00"], "input must be NAME=HEX, not '00'"),
        (
            ["ecb_encrypt_aesni_avx", "--input", "a=0"],
            "input a must be hexadecimal, two digits a byte, not '0'",
        ),
        (["ecb_encrypt_aesni_avx", "--input", "a=00"], "ecb_encrypt has no input 'a'; it has data, old"),
        (["cbc_encrypt_aesni_avx", "--input", "iv=00"], "iv must be 16 bytes, not 1"),
    ],
)
def test_bad_input_is_one_line(arguments, message):
    refused = run(*arguments)
    assert refused.exit_code == 2
    assert message in refused.output
    assert "Traceback" not in refused.output


def test_a_run_that_cannot_go_on_ends_with_the_instruction(tmp_path):
    source = tmp_path / "wild.S"
    source.write_text(".globl wild\n.type wild,@function\nwild:\nnop\nmov 64,%rax\nret\n.size wild,.-wild\n")
    made = trace(str(source), "ecb_encrypt", Given(16))
    assert [step.text for step in made] == ["nop", "mov 0x40,%rax"]
    assert made.findings[0].step == 1
    assert "read of 8 bytes at 0x40" in made.findings[0].text
