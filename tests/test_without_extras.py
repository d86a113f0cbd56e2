"""Where extras are missing the tests are skipped, each by the name of what is missing."""

import os
import re
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
