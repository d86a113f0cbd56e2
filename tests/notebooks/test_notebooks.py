"""Each notebook runs from top to bottom in a kernel of its own, and is stored without outputs."""

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

nbformat = pytest.importorskip("nbformat", reason="notebooks need the extra lab")
nbclient = pytest.importorskip("nbclient", reason="executing notebooks needs nbclient")

FOLDER = Path(__file__).parents[2] / "notebooks"
BOOKS = sorted(FOLDER.glob("*.ipynb"))
SECONDS = 60

TABLES = {"00_start.ipynb": 2, "01_tweak.ipynb": 7}
"""Widgets of lanes that are shown by themselves, each with a table and a picture in text beside."""


def executed(path: Path):
    """In a thread without an event loop: another test's browser may have one running here."""
    book = nbformat.read(path, as_version=4)
    client = nbclient.NotebookClient(book, timeout=SECONDS, kernel_name="python3")
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(client.execute, cwd=str(path.parent)).result()


def test_the_notebooks_that_are_described_exist():
    assert {path.name for path in BOOKS} >= {"00_start.ipynb", "01_tweak.ipynb"}


@pytest.mark.parametrize("path", BOOKS, ids=lambda path: path.name)
def test_every_cell_runs(path, monkeypatch, tmp_path):
    for name in ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR"):
        monkeypatch.setenv(name, str(tmp_path / name))
    book = executed(path)
    outputs = [output for cell in book.cells if cell.cell_type == "code" for output in cell.outputs]
    assert [output for output in outputs if output.output_type == "error"] == []
    shown = [output.data for output in outputs if output.output_type == "execute_result"]
    tables = [data for data in shown if "<table" in data.get("text/html", "")]
    assert all("application/vnd.jupyter.widget-view+json" in data for data in tables)
    if path.name in TABLES:
        assert len(tables) == TABLES[path.name]
    text = "".join(output.get("text", "") for output in outputs)
    assert "False" not in text
    assert "Traceback" not in text


@pytest.mark.parametrize("path", BOOKS, ids=lambda path: path.name)
def test_stored_without_outputs_or_traces_of_a_run(path):
    book = json.loads(path.read_text(encoding="utf-8"))
    for cell in book["cells"]:
        assert cell.get("outputs", []) == []
        assert cell.get("execution_count") is None
    assert set(book["metadata"]) == {"kernelspec", "language_info"}
    assert book["metadata"]["kernelspec"]["name"] == "python3"


@pytest.mark.parametrize("path", BOOKS, ids=lambda path: path.name)
def test_code_cells_are_short(path):
    book = json.loads(path.read_text(encoding="utf-8"))
    code = ["".join(cell["source"]) for cell in book["cells"] if cell["cell_type"] == "code"]
    assert max(len(source.splitlines()) for source in code) <= 20
