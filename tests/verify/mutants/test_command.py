"""`aeskit mutants` on functions of our own core: its levels, its engines, what it counts and writes."""

import json

import pytest
from click.testing import CliRunner
from engines import NO_EMULATOR, NO_SILICON

from aeskit.cli import main

NAME = "ecb_encrypt_aesni_avx"


def run(tmp_path, *options):
    out = tmp_path / "out.json"
    call = ["mutants", NAME, "--lengths", "16-80", "--workers", "1", "--json", str(out), *options]
    result = CliRunner().invoke(main, call)
    assert out.exists(), result.output
    return result, json.loads(out.read_text())


@pytest.mark.skipif(bool(NO_SILICON), reason=NO_SILICON or "")
def test_each_level_meets_what_is_left_and_the_row_says_how_many(tmp_path):
    result, written = run(tmp_path, "--sample", "60", "--seed", "3")
    counts, rows = written["counts"], written["outcomes"]
    assert (written["engine"], written["level"], written["proof_of"]) == ("silicon", "quick", "then")
    answers = [row for row in rows if row["known"]["finding"]]
    verified = [row for row in rows if row["verified"] and row["verified"]["finding"]]
    proved = [row for row in rows if row["proof"]]
    assert (counts["answers"], counts["verification"]) == (len(answers), len(verified))
    assert len(answers) + len(verified) + len(proved) == counts["tested"] == 60
    assert answers
    assert verified
    assert all(not row["known"]["finding"] and not row["verified"]["finding"] for row in proved)
    assert sum(counts["reasons"].values()) == counts["alive"]
    assert counts["proof_only"] + counts["alive"] == len(proved)
    row = f"| {NAME} | 60 of {written['mutants']:,} | {len(answers)} | {len(verified)} more |"
    assert row in result.output
    assert "quick level on this CPU" in " ".join(result.output.split())
    assert result.exit_code == written["status"] == (1 if counts["unexplained"] else 0)
    assert written["cpu_seconds"] > 0


@pytest.mark.skipif(bool(NO_SILICON or NO_EMULATOR), reason=f"{NO_SILICON or NO_EMULATOR}")
def test_engines_and_the_order_of_levels_change_no_verdict(tmp_path):
    asked = ("--sample", "40", "--seed", "5", "--proof", "all")
    _, native = run(tmp_path, *asked, "--level", "brief")
    result, emulated = run(tmp_path, *asked, "--engine", "emulator")
    assert (emulated["engine"], emulated["level"]) == ("emulator", "brief")
    assert "in the emulator" in " ".join(result.output.split())
    for one, other in zip(native["outcomes"], emulated["outcomes"], strict=True):
        assert (one["address"], one["code"]) == (other["address"], other["code"])
        for level in ("known", "verified", "proof"):
            verdicts = [bool(row[level] and row[level]["finding"]) for row in (one, other)]
            assert verdicts[0] == verdicts[1], (one["place"], one["after"], level)
    assert all(row["proof"] for row in native["outcomes"])


def test_an_engine_is_for_functions_of_our_own(tmp_path):
    (tmp_path / "f.S").write_text(".globl f\n.type f, @function\nf: ret\n.size f, .-f\n")
    call = ["mutants", f"{tmp_path}/f.S:f", "--contract", "ecb_encrypt", "--engine", "silicon"]
    result = CliRunner().invoke(main, call)
    assert result.exit_code == 2
    assert "for functions of our own core" in result.output


def test_lengths_that_the_contract_has_not_are_refused():
    result = CliRunner().invoke(main, ["mutants", NAME, "--lengths", "5", "--sample", "1"])
    assert (result.exit_code, result.output) == (
        2,
        "Error: ecb_encrypt takes multiples of 16, in bytes, not 5\n",
    )
