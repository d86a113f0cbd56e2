"""A wheel has the core, the widgets' files and the vectors, and runs away from this folder."""

import os
import site
import subprocess
import sys
import zipfile
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    tools = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = os.environ | {"PATH": tools}
    subprocess.run([*command, "--wheel-dir", folder, ROOT], check=True, timeout=300, env=environment)
    (wheel,) = folder.glob("aeskit-*.whl")
    zipfile.ZipFile(wheel).extractall(folder / "unpacked")
    return folder / "unpacked"


def test_wheel_has_every_file_of_the_package_the_data_and_the_notebooks(unpacked):
    def kept(path: Path) -> bool:
        return path.is_file() and "__pycache__" not in path.parts

    package = {path.relative_to(ROOT) for path in (ROOT / "aeskit").rglob("*") if kept(path)}
    data = {Path("aeskit") / path.relative_to(ROOT) for path in (ROOT / "data").rglob("*") if kept(path)}
    books = {Path("aeskit") / path.relative_to(ROOT) for path in (ROOT / "notebooks").glob("*.ipynb")}
    assert package | data | books <= {path.relative_to(unpacked) for path in unpacked.rglob("*")}


def test_wheel_runs_away_from_the_sources(unpacked):
    code = "from aeskit import _native; print(_native.__file__, _native.lib.cpu_enabled_state())"
    # -S keeps the editable install of this checkout out; its libraries are added back as plain folders.
    paths = [str(unpacked), *site.getsitepackages()]
    ran = subprocess.run(
        [sys.executable, "-I", "-S", "-c", f"import sys; sys.path[:0] = {paths!r}; " + code],
        capture_output=True,
        text=True,
        timeout=60,
        cwd=unpacked,
    )
    assert ran.stdout.startswith(str(unpacked)), ran.stderr


def test_an_editable_install_keeps_the_ninja_that_it_calls(tmp_path, monkeypatch):
    """Pip's build environment is gone when the package is imported, and its ninja with it."""
    if not find_spec("ninja") or not find_spec("mesonpy"):
        pytest.skip("needs meson-python and ninja")
    backend = module_from_spec(spec := spec_from_file_location("backend", ROOT / "native" / "backend.py"))
    spec.loader.exec_module(backend)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NINJA", "")
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setattr(backend, "_build_editable", lambda *_: os.environ["NINJA"])
    kept = Path(backend.build_editable("wheels"))
    assert kept.is_relative_to(tmp_path)
    assert subprocess.run([kept, "--version"], capture_output=True).returncode == 0
