"""`aeskit vectors`: what the commands print, write and return."""

import json
import re

import pytest
from click.testing import CliRunner
from vector_samples import ACVP, CAVP, EVPTEST

from aeskit import data
from aeskit.cli import main
from aeskit.vectors import read, write

FOLDER = data.folder("vectors")


def run(*arguments):
    done = CliRunner().invoke(main, ["vectors", *map(str, arguments)])
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done.exit_code, re.sub(r"\s+", " ", done.output)


def test_check_passes_and_reports(tmp_path):
    report = tmp_path / "report.json"
    status, output = run("check", FOLDER / "rfc_3962_cts.json", FOLDER / "fips_197.json", "--json", report)
    assert status == 0
    assert "unsupported, fips_197.json: shows no round keys: 3 by cryptography" in output
    found = json.loads(report.read_text())
    assert found["status"] == 0
    assert {row["failed"] for row in found["rows"]} == {0}
    assert {row["implementation"] for row in found["rows"]} >= {"model", "cryptography"}


def test_check_tells_where_a_vector_fails(tmp_path):
    path = tmp_path / "wrong.json"
    text = (FOLDER / "sp800_38a.json").read_text(encoding="utf-8")
    path.write_text(re.sub(r'("ciphertext": ")..', r"\g<1>ff", text, count=1))
    status, output = run("check", path, "--implementation", "model", "--json", tmp_path / "r.json")
    assert status == 1
    first = read(path)[0]
    assert (
        f"wrong.json:{first.line}: {first.name}, model: encrypt: block 0 byte 0 is 3a, must be ff" in output
    )
    (failure,) = json.loads((tmp_path / "r.json").read_text())["rows"][0]["failures"]
    assert failure["line"] == first.line


def test_check_of_what_cannot_be_checked(tmp_path):
    questions, broken = tmp_path / "questions.json", tmp_path / "broken.rsp"
    questions.write_text(ACVP)
    broken.write_text(CAVP + "stray")
    status, output = run("check", questions)
    assert status == 2
    assert "the file asks for the ciphertext: nothing to compare with: 1 by model" in output
    status, output = run("check", broken, FOLDER / "rfc_3962_cts.json")
    assert status in (1, 2)
    assert "broken.rsp:19: must be a comment, a section or a field, not 'stray'" in output
    status, output = run("check", broken, "--implementation", "vaes_avx1024")
    assert status == 2
    assert "there is no implementation 'vaes_avx1024'" in output
    status, output = run("check", broken, "--from", "xml")
    assert status == 2
    assert "format must be one of acvp-expected, acvp-response, acvp, aeskit, cavp, evptest," in output


def test_check_of_expected_failures(tmp_path):
    path = tmp_path / "failures.txt"
    path.write_text(
        EVPTEST[EVPTEST.index("\n\n\nCipher") if "\n\n\nCipher" in EVPTEST else EVPTEST.rindex("\n\n") :]
    )
    status, output = run("check", path, "--implementation", "aesni_avx")
    assert (status, "aesni_avx │ 1 │ 0 │ 0" in output) == (0, True)


def test_convert_tells_what_is_left_out(tmp_path):
    out = tmp_path / "out.json"
    status, output = run("convert", FOLDER / "ours" / "xts.json", out, "--to", "wycheproof")
    assert status == 0
    assert "246 of 256 vectors as Wycheproof JSON" in output
    assert "not written, lengths are whole bytes: bits 0, bits 1," in output
    assert "left out, no place for it: pieces of 8 vectors" in output
    assert len(read(out)) == 246
    status, output = run("convert", FOLDER / "fips_197.json", tmp_path / "none", "--to", "evptest")
    assert status == 0  # the three key schedules are left out
    status, output = run("convert", out, tmp_path / "none", "--to", "xml")
    assert (status, 'not "xml"' in output) == (2, True)


def test_show_ends_at_the_vectors_answer(tmp_path):
    trace, page = tmp_path / "trace.json", tmp_path / "page.html"
    status, output = run("show", FOLDER / "ieee_1619_xts.json", "vector 15", "--json", trace, "--html", page)
    assert status == 0
    assert "PP = P_1 | CP [IEEE 1619-2018, 5.3.2, 4d)]" in output
    assert "steps within AES are left out: --rounds shows them" in output
    assert output.endswith("model and vector: equal ")
    assert json.loads(trace.read_text())["title"] == "vector 15: xts, encrypt"
    assert "<title>vector 15: xts, encrypt</title>" in page.read_text()
    status, output = run("show", FOLDER / "ieee_1619_xts.json", "0", "--decrypt", "--rounds")
    assert status == 0
    assert "round[1].istart" in output or "round 1" in output
    status, output = run("show", FOLDER / "ieee_1619_xts.json", "99")
    assert (status, "N must be a name or from 0 to 18, not 99" in output) == (2, True)
    status, output = run("show", FOLDER / "ours" / "xts.json", "bits 0")
    assert (status, "only one message of whole bytes" in output) == (2, True)


def test_a_files_text_is_no_command_to_the_terminal(tmp_path):
    text = EVPTEST.replace("# of the stanza", "# \x1b[31m red").replace("A title", "\x1b]0;title\x07")
    text = text.replace("AES-128-XTS", "\x1b[2J\x9b1m")
    path = tmp_path / "escapes.txt"
    path.write_text(text, encoding="utf-8")
    broken = tmp_path / "broken\x1b[31m.txt"
    broken.write_text("none", encoding="utf-8")
    for arguments in (
        ("show", path, "0"),
        ("check", path, broken),
        ("check", path, "--implementation", "model"),
        ("show", broken, "0"),
        ("convert", path, tmp_path / "out\x1b[31m", "--to", "python"),
    ):
        output = run(*arguments)[1]
        assert "�" in output, arguments
        assert not set(output) & set("\x1b\x07\x9b"), arguments


def test_answer_makes_the_response_of_a_validation_server(tmp_path):
    questions, out = tmp_path / "questions.json", tmp_path / "response.json"
    questions.write_text(ACVP)
    status, output = run("answer", questions, out)
    assert (status, "1 questions answered by model" in output) == (0, True)
    header, body = json.loads(out.read_text())
    assert (header, body["vsId"]) == ({"acvVersion": "1.0"}, 7)
    assert body["testGroups"][0]["tests"][0].keys() == {"tcId", "ct"}
    status, output = run("check", questions, out)
    assert (status, "model │ 1 │ 0 │ 0" in output) == (0, True)
    status, output = run("answer", questions, out, "--implementation", "aesni_avx")
    assert (status, "aesni_avx a length that is no whole number of bytes" in output) == (2, True)


def test_make(tmp_path):
    out = tmp_path / "made.json"
    status, output = run("make", "keys", "--minimise", "--out", out)
    assert status == 0
    assert "they kill 61 mutants, no set is smaller" in output
    assert len(read(out)) == 3
    status, output = run("make", "cts", "--edges", "order", "--stealing", "CS2", "--to", "evptest")
    assert (status, output.count("CTSMode = CS2")) == (0, 32)
    for arguments, message in (
        (["gcm"], "mode must be one of xts, "),
        (["xts", "--edges", "tails"], "edge must be one of remainder, "),
        (["xts", "--key-bits", "big"], 'key size must be one of 128, 192, 256, not "big"'),
        (["keys", "--sample", 0], "0 is not in the range x>=1"),
        (["xts", "--to", "xml"], "format must be one of "),
    ):
        status, output = run("make", *arguments)
        assert (status, message in output) == (2, True)


def test_compare():
    status, output = run(
        "compare", FOLDER / "fips_197.json", FOLDER / "ours" / "keys.json", "--mode", "keys", "--list"
    )
    assert status == 0
    assert "│ keys │ key schedule │ 61 │ 54 │ 61 │" in output
    assert "keys.json: 7 that no other set finds, 0 missed that another finds" in output
    assert "only here: keys: " in output


def test_compare_of_a_mode_that_has_no_faults_here():
    status, output = run("compare", FOLDER / "fips_197.json", "--mode", "xts")
    assert status == 2
    assert "mode must be one that the files hold and that has faults, ecb, keys" in output


def test_compare_takes_a_folder_as_one_set(tmp_path):
    parts = read(FOLDER / "ours" / "keys.json").vectors
    (tmp_path / "in" / "more").mkdir(parents=True)
    write(tmp_path / "in" / "keys.json", parts[:12], "aeskit")
    write(tmp_path / "in" / "more" / "keys.json", parts[12:], "aeskit")
    (tmp_path / "in" / "README.md").write_text("nothing to read")
    single = tmp_path / "in" / "keys.json"
    status, output = run("compare", single, tmp_path / "in", FOLDER / "ours" / "keys.json", "--mode", "keys")
    assert status == 0
    assert "README.md: must be of a known format" in output
    assert re.search(r"(C,|finds) in: 0 that no other set finds, 0 missed", output)
    assert "in/keys.json: 0 that no other set finds" in output
    assert "ours/keys.json: 0 that no other set finds, 0 missed" in output


def test_many_sets_have_letters_for_columns(tmp_path):
    names = [tmp_path / f"a_long_name_of_set_{number}.json" for number in range(5)]
    for name in names:
        write(name, read(FOLDER / "fips_197.json").vectors[:3], "aeskit")
    status, output = run("compare", *names, "--mode", "keys")
    assert status == 0
    assert "┃ A " in output
    assert "E, a_long_name_of_set_4.json: 0 that no other set finds" in output


def test_files_of_one_name_are_told_apart(tmp_path):
    """Each with its own count: the reasons of one do not take the place of the other's."""
    bits = [item for item in read(FOLDER / "ours" / "xts.json") if item.bits is not None]
    for folder, count in (("a", 2), ("b", 3)):
        (tmp_path / folder).mkdir()
        write(tmp_path / folder / "x.json", bits[:count], "aeskit")
    files = [tmp_path / folder / "x.json" for folder in "ab"]
    _, output = run("check", *files, "--implementation", "aesni_avx")
    told = " ".join(output.split())
    for folder, count in (("a", 2), ("b", 3)):
        assert f"unsupported, {folder}/x.json: a length that is no whole number of bytes" in told
        assert f"{count} by aesni_avx" in told


def test_help_loads_nothing_slow():
    status, output = run("--help")
    assert status == 0
    for command in ("check", "convert", "show", "make", "answer", "compare"):
        assert f" {command} " in output
    with pytest.raises(AssertionError):
        assert run("check")[0] == 0
