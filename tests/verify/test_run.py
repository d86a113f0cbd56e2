"""A whole run: what is selected, skipped, required; progress, interruption; table, JSON and exit status."""

import io
import json
import subprocess
import sys

import faulty
import pytest
from click.testing import CliRunner
from rich.console import Console

from aeskit import implementations
from aeskit.cli import main
from aeskit.cpu import CPU, detect
from aeskit.implementations import ALL
from aeskit.verify import command, inputs, run
from aeskit.verify.cases import Case
from aeskit.verify.engine import EngineError
from aeskit.verify.report import FAILED, INCOMPLETE, PASSED, Finding, Report, Row

POOR = CPU(name="an old CPU", features=frozenset({"AES", "AVX"}))


def test_cbc_means_its_stealing_too():
    assert {row.mode for row in run.select(["cbc"], [])} == {"cbc", "cts", "cbc_streams"}
    assert {row.mode for row in run.select([], [])} == {row.mode for row in ALL}


def test_names_of_implementations_and_instruction_sets():
    assert [row.name for row in run.select([], ["ctr_crypt_vaes_avx2"])] == ["ctr_crypt_vaes_avx2"]
    assert {row.instruction_set for row in run.select(["xts"], ["aesni_avx"])} == {"aesni_avx"}
    with pytest.raises(ValueError, match="there is no implementation 'sse'"):
        run.select([], ["sse"])
    with pytest.raises(ValueError, match="ctr_crypt_vaes_avx2 is no implementation of xts"):
        run.select(["xts"], ["ctr_crypt_vaes_avx2"])


def test_requirements(monkeypatch):
    monkeypatch.setenv(run.REQUIRE, "browser VAES, avx512")  # a browser is not for us
    assert run.requirements(["xts_encrypt_aesni_avx"]) == ["xts_encrypt_aesni_avx", "VAES", "avx512"]
    for wrong in ("sve2", "", "AVX51", "xts", "browser"):
        text = f'nothing is called "{wrong}": require a CPU feature or an implementation'
        with pytest.raises(ValueError, match=text):
            run.requirements([wrong])


def test_a_name_in_the_environment_that_is_nothing_s_is_an_error(monkeypatch):
    monkeypatch.setenv(run.REQUIRE, "browser,emulator,silicon,gfni,aesni_avx")
    assert run.requirements([]) == [
        "aesni_avx"
    ]  # the tests have the first three, no implementation needs GFNI
    monkeypatch.setenv(run.REQUIRE, "browser,emulater")
    with pytest.raises(ValueError, match='AESKIT_REQUIRE: nothing is called "emulater": require'):
        run.requirements([])


@pytest.mark.parametrize(
    ("name", "required"),
    [("AVX", False), ("AVX2", False), ("avx512f", True), ("AVX512", True), ("BMI2", True)],
)
def test_requirements_are_whole_names(name, required):
    poor = CPU("no AVX-512", features=frozenset({"AES", "AVX", "VAES", "VPCLMULQDQ", "AVX2"}))
    row = implementations.named("xts_encrypt_vaes_avx512_512")
    assert run._row(row, poor, [name]).required is required


def test_a_skip_names_what_is_missing_and_fails_where_it_is_required():
    selected = run.select(["ecb"], ["vaes_avx2"])
    report = run.verify(selected, "brief", cpu=POOR)
    assert report.status == INCOMPLETE  # the model was checked, and no implementation
    assert report.rows[2].cases
    assert report.summary().startswith("no implementation ran: ")
    line = "skipped, needs VAES, VPCLMULQDQ, AVX2: ecb_encrypt_vaes_avx2, ecb_decrypt_vaes_avx2"
    assert report.skips() == [line]
    for required in ("vaes", "ecb_decrypt_vaes_avx2"):
        report = run.verify(selected, "brief", 0, [required], cpu=POOR)
        assert report.status == FAILED
        assert report.rows[1].status == "SKIPPED, required"
        assert "ecb_decrypt_vaes_avx2 (required)" in report.skips()[0]
    assert not run._row(selected[0], POOR, ["avx512"]).required


def test_the_brief_level_passes_on_everything_that_can_run():
    heard = []
    report = run.verify(run.select([], []), "brief", progress=lambda done, of: heard.append((done, of)))
    assert report.findings == []
    assert report.status == PASSED
    for row in report.rows:
        missing = implementations.named(row.name).can(detect()) if "model" not in row.name else ()
        assert row.status == ("skipped" if missing else "passed"), row
    assert heard
    assert all(0 <= done <= of for done, of in heard)
    assert heard[-1][1] == sum(row.cases for row in report.rows)


def test_another_seed_gives_other_keys_and_data():
    selected = run.select(["ecb"], [faulty.needed("ecb_encrypt_aesni_avx")])
    report = run.verify(selected, "brief", 5)
    assert (report.status, report.seed) == (PASSED, 5)
    first, other = (inputs.of(Case("ecb", "encrypt", 128, 48, seed=seed)) for seed in (0, 5))
    assert first.key != other.key
    assert first.data != other.data


def test_an_interruption_gives_a_partial_report():
    faulty.needed("keys_expand_aesni")

    def stop(done, of):
        if done > of // 10:
            raise KeyboardInterrupt

    report = run.verify(run.select(["keys"], []), "full", progress=stop)
    assert report.interrupted
    assert 0 < report.rows[0].cases < 118_000
    assert report.rows[0].status == "stopped"
    assert report.to_json()["rows"][0] | {"stopped": True} == report.to_json()["rows"][0]
    assert "passed" not in {row.status for row in report.rows}
    assert report.status == INCOMPLETE
    assert "interrupted after" in report.summary()


def test_replay_refuses_what_cannot_run(monkeypatch):
    monkeypatch.setattr(run, "detect", lambda: POOR)
    with pytest.raises(ValueError, match="ctr_crypt_vaes_avx2 needs VAES, VPCLMULQDQ, AVX2"):
        run.again("ctr_crypt_vaes_avx2:128:33:in_place:random:0")


FINDING = Finding(
    "xts_encrypt_aesni_avx", "xts_encrypt_aesni_avx, AES-128, …: wrong", "xts_encrypt_aesni_avx:…"
)


def sample(**row):
    failed = Row("xts_encrypt_aesni_avx", cases=1000, failures=1, seconds=1.25, **row)
    return Report("quick", "a CPU", [failed, Row("xts_encrypt_vaes_avx2", skipped="VAES")], 7, [FINDING], 2.5)


def test_the_report_as_json():
    report = json.loads(json.dumps(sample().to_json()))
    assert (report["aeskit_verify"], report["status"], report["level"]) == (1, FAILED, "quick")
    assert report["seed"] == 7
    assert report["rows"][1]["skipped"] == "VAES"
    assert report["findings"][0]["command"] == "aeskit verify --replay 'xts_encrypt_aesni_avx:…'"
    assert sample().summary() == "1,000 checks, 1 failures, 1 skipped, in 2.5 s"


def test_a_run_in_which_nothing_ran_has_not_passed():
    assert Report("quick", "a CPU", [Row("a", skipped="VAES")]).status == INCOMPLETE
    assert Report("quick", "a CPU", [Row("a", cases=1)]).status == PASSED
    assert Report("quick", "a CPU", [Row("a", cases=1)], interrupted=True).status == INCOMPLETE


def test_what_was_finished_before_an_interruption_has_passed():
    done, half = Row("a", cases=9), Row("b", cases=4, stopped=True)
    assert [row.status for row in (done, half)] == ["passed", "stopped"]
    assert Row("c", cases=4, failures=1, stopped=True).status == "FAILED"


@pytest.mark.parametrize("engine", ["native", "emulator"])
@pytest.mark.parametrize("width", [30, 40, 60, 80, 200])
def test_the_table_shows_every_result_at_any_width(width, engine):
    rows = [Row("xts_encrypt_vaes_avx512_256", cases=123_456, failures=7, seconds=99.9)]
    rows += [Row("ecb_encrypt_vaes_avx2", cases=1_234), Row("b", skipped="VAES", required=True)]
    console = Console(width=width, file=io.StringIO())
    console.print(Report("quick", "a CPU", rows, engine=engine).table(width))
    lines = console.file.getvalue().splitlines()
    assert max(map(len, lines)) <= width
    for word in ("FAILED", "passed", "SKIPPED,", "required"):
        assert any(word in line for line in lines), "\n".join(lines)
    assert any("seconds" in line for line in lines) == (width > (60 if engine == "native" else 80))


def test_the_command_prints_a_table_and_writes_the_file(capsys, tmp_path):
    faulty.needed("keys_expand_aesni")
    file = tmp_path / "report.json"
    assert command.verify(["keys"], [], "brief", 0, [], file) == PASSED
    out = capsys.readouterr().out
    assert "keys_expand_aesni" in out
    assert "passed" in out
    assert " 0 failures" in out
    assert json.loads(file.read_text())["rows"][0]["name"] == "keys_expand_aesni"


def test_the_command_shows_findings_with_their_replay(capsys, monkeypatch):
    monkeypatch.setattr(run, "verify", lambda *_, **__: sample(note="left out after repeated crashes"))
    assert command.verify([], [], "quick", 0, [], None) == FAILED
    out = capsys.readouterr().out
    assert FINDING.text in out
    assert f"    {FINDING.command}\n" in out
    assert "FAILED" in out


def test_the_command_told_something_wrong(capsys):
    assert command.verify([], ["sse"], "quick", 0, [], None) == INCOMPLETE
    assert "aeskit verify: there is no implementation 'sse'" in capsys.readouterr().err
    assert command.replay("nonsense", None) == INCOMPLETE
    assert "aeskit verify: there is no implementation 'nonsense'" in capsys.readouterr().err


def test_the_command_replays(capsys):
    faulty.needed("keys_expand_aesni")
    assert command.replay("keys_expand_aesni:128:16:misaligned_3:bit7:0", None) == PASSED
    assert command.replay("keys_expand_aesni:known:fips_197.json:A.2:out_of_place", None) == PASSED
    assert "1 checks, 0 failures" in capsys.readouterr().out


def test_the_command_line(tmp_path):
    faulty.needed("keys_expand_aesni")
    runner, file = CliRunner(), tmp_path / "report.json"
    passed = runner.invoke(main, ["verify", "keys", "--level", "brief", "--json", str(file)])
    assert passed.exit_code == PASSED, passed.output
    assert json.loads(file.read_text())["level"] == "brief"
    again = runner.invoke(main, ["verify", "--replay", "keys_expand_aesni:128:16:misaligned_3:bit7:0"])
    assert again.exit_code == PASSED, again.output
    for wrong in ("gcm", "--level most", "--require sve2", "--replay x", "xts --replay x", "--json no/where"):
        assert runner.invoke(main, ["verify", *wrong.split()]).exit_code == INCOMPLETE, wrong


def test_the_help_says_that_no_choice_narrows_the_run():
    assert "AESKIT_IMPLEMENTATION" in CliRunner().invoke(main, ["verify", "--help"]).output


def test_processes_that_cannot_start_are_one_line(capsys, monkeypatch):
    def verify(*_, **__):
        raise EngineError("a checking process cannot be started: Resource temporarily unavailable")

    monkeypatch.setattr(run, "verify", verify)
    assert command.verify(["keys"], [], "brief", 0, [], None) == INCOMPLETE
    assert capsys.readouterr().err.splitlines()[-1].startswith("aeskit verify: a checking process cannot be")


def test_a_script_without_a_guard_is_told(tmp_path):
    script = tmp_path / "unguarded.py"
    script.write_text("from aeskit.verify import run\nrun.verify(run.select(['keys'], []), 'brief')\n")
    ran = subprocess.run([sys.executable, script], capture_output=True, text=True)
    assert ran.returncode == 1
    *_, last = ran.stderr.splitlines()
    assert last.startswith("aeskit.verify.engine.EngineError: 3 checking processes ended before their first")
    assert 'must call this under if __name__ == "__main__":' in last
