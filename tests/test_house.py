"""What holds of every file: sizes, no address of a machine or a registry, no outputs in notebooks."""

import json
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def tracked() -> list[Path]:
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True)
    if listed.returncode:
        pytest.skip("needs a git checkout")
    return [ROOT / name for name in listed.stdout.splitlines() if (ROOT / name).is_file()]


def test_no_source_file_is_over_400_lines():
    lengths = {
        str(path.relative_to(ROOT)): len(path.read_text(encoding="utf-8").splitlines())
        for path in tracked()
        if path.suffix in {".py", ".S", ".inc", ".c", ".h", ".js", ".css"}
    }
    assert {name: length for name, length in lengths.items() if length > 400} == {}


def test_no_absolute_path_of_a_machine():
    pattern = re.compile(rb"(?<![\w.])/(work|root|home)/\w")
    found = [
        str(path.relative_to(ROOT))
        for path in tracked()
        if path.name != "test_house.py" and pattern.search(path.read_bytes())
    ]
    assert found == []


def test_notebooks_are_stored_without_outputs():
    notebooks = [path for path in tracked() if path.suffix == ".ipynb"]
    for path in notebooks:
        book = json.loads(path.read_text(encoding="utf-8"))
        code = [cell for cell in book["cells"] if cell["cell_type"] == "code"]
        assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in code), path.name
        assert "widgets" not in book["metadata"], path.name
