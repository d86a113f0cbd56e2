"""The rule that only a CPU excuses a skip where everything is installed can itself fail."""

import subprocess
import sys
from pathlib import Path

import pytest

CONFTEST = Path(__file__).with_name("conftest.py")
SKIPS = """
import pytest
{module}
def test_it():
    pytest.skip({reason!r})
"""


def run(folder, reason="needs AVX512BW", module="", installed="all"):
    (folder / "conftest.py").write_text(CONFTEST.read_text(encoding="utf-8"), encoding="utf-8")
    (folder / "test_one.py").write_text(SKIPS.format(reason=reason, module=module), encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", "/dev/null", str(folder)]
    environment = {"PATH": "", "AESKIT_INSTALLED": installed}
    return subprocess.run(command, capture_output=True, text=True, timeout=120, env=environment)


@pytest.mark.parametrize(
    "reason", ["needs AVX512BW", "this CPU has no VAES", "silicon: ptrace is not allowed"]
)
def test_a_cpu_excuses_a_skip(tmp_path, reason):
    ran = run(tmp_path, reason)
    assert "1 skipped" in ran.stdout, ran.stdout
    assert ran.returncode == 0


def test_a_thing_that_could_be_installed_does_not(tmp_path):
    ran = run(tmp_path, "browser tests need chromium")
    assert "a skip where everything is installed: Skipped: browser tests need chromium" in ran.stdout
    assert ran.returncode == 1


def test_nor_does_a_missing_module(tmp_path):
    ran = run(tmp_path, module="pytest.importorskip('no_such_module')")
    assert "no_such_module" in ran.stdout
    assert ran.returncode != 0


def test_elsewhere_a_skip_is_a_skip(tmp_path):
    ran = run(tmp_path, "browser tests need chromium", installed="")
    assert "1 skipped" in ran.stdout, ran.stdout
