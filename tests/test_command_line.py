"""What all commands share: files tried before the run, missing extras, and output that cannot be written."""

import json
import os
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from aeskit.cli import main
from aeskit.command_line import EXTRAS, MISUSED, OUTPUT, Commands

ENVIRONMENT = os.environ | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}

NEED_EXTRAS = """
step ctr_crypt_aesni_avx
prove ctr_crypt_aesni_avx --lengths 16 --workers 1 --no-cache
lockstep ctr_crypt_aesni_avx
lockstep --table
"""


def options_that_write(command, path=()):
    """Name and command of every option or argument that is a file to write."""
    for name, sub in getattr(command, "commands", {}).items():
        yield from options_that_write(sub, (*path, name))
    for parameter in command.params:
        if isinstance(parameter.type, click.Path) and not parameter.type.exists and parameter.type.file_okay:
            yield path, parameter


def test_every_file_that_a_command_writes_is_tried_before_it_runs():
    found = list(options_that_write(main))
    assert {("verify",), ("prove",), ("bench",), ("step",), ("vectors", "check")} <= {
        path for path, _ in found
    }
    written = [
        (path, p) for path, p in found if p.opts[-1] in ("--json", "--html", "--page", "--plot", "--out")
    ]
    assert written
    assert [path for path, parameter in written if parameter.type is not OUTPUT] == []


@pytest.mark.parametrize("command", ["verify keys", "prove ctr_crypt_aesni_avx", "bench", "step x"])
def test_a_file_that_cannot_be_written_costs_no_run(command, tmp_path):
    file = tmp_path / "no" / "report.json"
    result = CliRunner().invoke(main, [*command.split(), "--json", str(file)])
    assert result.exit_code == MISUSED
    assert f"{file} cannot be written: No such file or directory" in " ".join(result.output.split())


def test_ctrl_c_is_no_result(monkeypatch, tmp_path):
    def stop(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr("aeskit.views.review_command.review", stop)
    (tmp_path / "f.S").write_text("f: ret")
    (tmp_path / "report.json").write_text("an old one")
    json_file = str(tmp_path / "report.json")
    result = CliRunner().invoke(main, ["review", str(tmp_path / "f.S"), "--json", json_file])
    assert result.exit_code == MISUSED
    assert result.output.strip() == "Error: stopped before its end: there is no result"
    assert (tmp_path / "report.json").read_text() == "an old one"


def test_a_file_of_a_hostile_name_is_no_command_to_the_terminal(tmp_path):
    (tmp_path / "f.S").write_text('.globl "a\\033[31mb"\n.type "a\\033[31mb",@function\n"a\\033[31mb": ret\n')
    result = CliRunner().invoke(main, ["review", str(tmp_path / "f.S"), "--function", "\x1b[2J"])
    assert result.exit_code == MISUSED
    assert "has no symbol �[2J; it has a" in result.output
    assert "\x1b" not in result.output


def test_trying_a_file_leaves_what_there_was(tmp_path):
    old, new, link = tmp_path / "old", tmp_path / "new", tmp_path / "link"
    old.write_text("kept")
    link.symlink_to(tmp_path / "elsewhere")
    for path in (old, new, link):
        assert OUTPUT.convert(str(path), None, None) == str(path)
    assert old.read_text() == "kept"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link", "old"]


@pytest.mark.parametrize(
    "command",
    [
        "vectors convert {file} {file} --to wycheproof",
        "vectors convert {file} {link} --to wycheproof",
        "vectors check {file} --json {file}",
        "vectors show {file} 0 --json {file}",
        "vectors show {file} 0 --json {new} --html {new}",
        "vectors answer {file} {hard}",
        "review {file} --html {file}",
        "prove {file}:f --json {file}",
        "prove ecb_encrypt_aesni_avx --json {file} --contract-file {file}",
    ],
)
def test_no_file_is_written_that_is_read_or_written_otherwise(command, tmp_path):
    file, link, hard = tmp_path / "file", tmp_path / "link", tmp_path / "hard"
    file.write_text("kept")
    link.symlink_to(file)
    hard.hardlink_to(file)
    words = command.format(file=file, link=link, hard=hard, new=tmp_path / "new").split()
    result = CliRunner().invoke(main, words)
    assert result.exit_code == MISUSED
    assert "must be another file than" in " ".join(result.output.split())
    assert file.read_text() == "kept"
    assert not (tmp_path / "new").exists()


def test_two_reports_may_go_to_one_device():
    file = Path(__file__).parents[1] / "data/vectors/rfc_3686_ctr.json"
    words = ["vectors", "show", str(file), "0", "--json", os.devnull, "--html", os.devnull]
    result = CliRunner().invoke(main, words)
    assert result.exit_code == 0, result.output


def test_a_missing_extra_is_one_line():
    """In a process of its own, where the modules are not loaded yet."""
    commands = [line.split() for line in NEED_EXTRAS.split("\n") if line]
    script = f"""
import json, sys
sys.modules["elftools"] = sys.modules["iced_x86"] = None
from click.testing import CliRunner
from aeskit.cli import main
told = [CliRunner().invoke(main, command) for command in {commands!r}]
print(json.dumps([(one.exit_code, one.output) for one in told]))
"""
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=ENVIRONMENT)
    assert ran.returncode == 0, ran.stderr
    for command, (status, output) in zip(commands, json.loads(ran.stdout), strict=True):
        assert status == MISUSED, (command, output)
        (line,) = output.strip().splitlines()
        assert line.startswith("Error: this command needs "), command
        assert line.endswith(": pip install 'aeskit[disasm,emulators]'"), command


def test_extras_are_those_of_the_package():
    text = (Path(__file__).parents[1] / "pyproject.toml").read_text()
    assert all(f"\n{extra} = [" in text for extras in EXTRAS.values() for extra in extras.split(","))


@click.group(cls=Commands)
def sample():
    """Commands that go wrong."""


@sample.command()
def wrong():
    """Import what no extra has."""
    import no_such_module  # noqa: F401


@sample.command()
def full():
    """Write to a disk without room."""
    raise OSError(28, "No space left on device", "report.json")


def test_what_goes_wrong_while_a_command_runs():
    assert isinstance(CliRunner().invoke(sample, ["wrong"]).exception, ModuleNotFoundError)
    result = CliRunner().invoke(sample, ["full"])
    assert (result.exit_code, result.output) == (MISUSED, "Error: report.json: No space left on device\n")


@pytest.mark.parametrize("command", ["step", "mutants", "prove"])
def test_a_full_disk_is_told_with_the_file(command):
    more = {"step": [], "mutants": ["--sample", "1"], "prove": ["--lengths", "16"]}[command]
    result = CliRunner().invoke(main, [command, "ecb_encrypt_aesni_avx", *more, "--json", "/dev/full"])
    last = result.output.splitlines()[-1]
    assert (result.exit_code, last) == (MISUSED, "Error: /dev/full: No space left on device")


def test_a_terminal_without_columns_is_written_as_any(monkeypatch):
    monkeypatch.delenv("COLUMNS", raising=False)
    said = CliRunner().invoke(main, ["info"]).output
    monkeypatch.setenv("COLUMNS", "0")
    assert CliRunner().invoke(main, ["info"]).output == said


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("arguments", [["info"], ["info", "--json"]])
def test_output_that_cannot_be_written_is_one_line(arguments):
    with Path("/dev/full").open("w") as nowhere:
        ran = subprocess.run(
            [sys.executable, "-m", "aeskit.cli", *arguments],
            stdout=nowhere,
            stderr=subprocess.PIPE,
            text=True,
            env=ENVIRONMENT,
        )
    assert (ran.returncode, ran.stderr) == (MISUSED, "Error: No space left on device\n")
