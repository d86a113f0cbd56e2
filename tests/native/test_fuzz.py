"""The native boundary under anything that Python can hand over; a crash ends a child process alone."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

FUZZ = Path(__file__).parent / "boundary_fuzz.py"


def names() -> list[str]:
    """The tests in the script, read without running it here."""
    tree = ast.parse(FUZZ.read_text(encoding="utf-8"))
    (tests,) = [
        node for node in tree.body if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "TESTS"
    ]
    return [element.id for element in tests.value.elts]


@pytest.mark.parametrize("name", names())
def test_boundary(name):
    done = subprocess.run([sys.executable, FUZZ, name, "150"], capture_output=True, text=True, timeout=240)
    ended = f"signal {-done.returncode}" if done.returncode < 0 else f"status {done.returncode}"
    assert done.returncode == 0, f"{name} ended with {ended}:\n{done.stderr[-4000:]}"
