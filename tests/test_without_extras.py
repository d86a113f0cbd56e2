"""Where extras are missing the tests are skipped, each by the name of what is missing."""

import os
import re
import sqlite3
import subprocess
import sys
from pathlib import Path

TESTS = Path(__file__).parent
FILES = ["machine/test_run.py", "machine/bochs"]

SCRIPT = """
import sys
sys.modules["elftools"] = sys.modules["iced_x86"] = None
import pytest
sys.exit(pytest.main(["-q", "-p", "no:cacheprovider", "-p", "no:xdist", *sys.argv[1:]]))
"""


def test_a_test_file_that_needs_an_extra_is_skipped_by_name():
    environment = {name: value for name, value in os.environ.items() if not name.startswith("AESKIT_")}
    command = [sys.executable, "-c", SCRIPT, *(TESTS / name for name in FILES)]
    ran = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=TESTS.parent)
    assert ran.returncode in (0, 5), ran.stdout + ran.stderr  # 5: no test is left
    assert "rror" not in ran.stdout, ran.stdout
    assert re.search(r"needs (elftools|iced_x86): aeskit\[disasm,emulators\]", ran.stdout)


PROVE = """
import sys
sys.modules["iced_x86"] = None
from aeskit.cli import main
main(["prove", sys.argv[1], "--contract", "ecb_encrypt", "--lengths", "16", "--workers", "1"])
"""


def test_without_a_decoder_no_proof_is_told_as_failed_or_remembered(tmp_path):
    (tmp_path / "f.S").write_text(".globl f\nf: ret\n")
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache")}
    command = [sys.executable, "-c", PROVE, f"{tmp_path}/f.S:f"]
    ran = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert ran.returncode == 2, ran.stdout + ran.stderr
    assert "needs iced_x86: pip install 'aeskit[disasm,emulators]'" in ran.stderr
    assert "not proved" not in ran.stdout
    with sqlite3.connect(tmp_path / "cache" / "aeskit" / "proofs.sqlite") as kept:
        tables = [name for (name,) in kept.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        assert tables
        assert not any(kept.execute(f"SELECT count(*) FROM {name}").fetchone()[0] for name in tables)
