"""JupyterLab on a free loopback port with settings of its own, and Chromium that may reach nothing else."""

import os
import shutil
import socket
import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest

from aeskit import lab as aeskit_lab

ROOT = Path(__file__).parents[2]
TOKEN = "of-a-test-server-on-loopback"
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


def missing(what: str) -> None:
    """Skip and name what is missing, or fail where AESKIT_REQUIRE asks for the browser tests."""
    required = "browser" in os.environ.get("AESKIT_REQUIRE", "").replace(" ", "").split(",")
    (pytest.fail if required else pytest.skip)(f"browser tests need {what}")


@pytest.fixture(scope="session")
def browser():
    """Chromium, headless."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if chromium is None:
        missing("chromium")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        missing("playwright")
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        yield opened
        opened.close()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def private_folders(folder: Path) -> dict[str, str]:
    names = {
        "JUPYTER_CONFIG_DIR": "config",
        "JUPYTER_DATA_DIR": "data",
        "JUPYTER_RUNTIME_DIR": "runtime",
        "JUPYTERLAB_SETTINGS_DIR": "settings",
        "JUPYTERLAB_WORKSPACES_DIR": "workspaces",
        "IPYTHONDIR": "ipython",
    }
    return {variable: str(folder / name) for variable, name in names.items()}


@pytest.fixture(scope="session")
def server(tmp_path_factory, browser):
    """The server that `aeskit lab` starts, in a copy of the notebooks."""
    folder = tmp_path_factory.mktemp("lab")
    shutil.copytree(ROOT / "notebooks", folder / "notebooks", ignore=shutil.ignore_patterns(".*"))
    port = free_port()
    environment = aeskit_lab.server_environment(os.environ | private_folders(folder), TOKEN)
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            aeskit_lab.command(folder / "notebooks", port), env=environment, stdout=log, stderr=log
        )
        try:
            aeskit_lab.wait_until_listening(process, port)
            yield SimpleNamespace(url=f"http://127.0.0.1:{port}", folder=folder)
        finally:
            process.terminate()
            process.wait(20)


@pytest.fixture(scope="session")
def notebook(browser, server):
    """Open a notebook once and run it; the page keeps every request and every error."""
    opened = {}

    def page(name: str):
        if name not in opened:
            made = opened[name] = browser.new_page(viewport={"width": 1280, "height": 1000})
            made.set_default_timeout(60_000)
            made.requested, made.errors = [], []
            made.on("request", lambda request: made.requested.append(request.url))
            made.on("pageerror", lambda error: made.errors.append(str(error)))
            open_notebook(made, server, name)
        return opened[name]

    yield page
    for made in opened.values():
        made.close()


def open_notebook(page, server, name: str) -> None:
    """Open a notebook, wait for its cells and its kernel, run every cell, wait until all have run."""
    page.goto(f"{server.url}/lab/workspaces/{name.partition('.')[0]}/tree/{name}?token={TOKEN}&reset")
    page.locator(".jp-Notebook .jp-Cell").first.wait_for()
    page.get_by_text("Python 3 (ipykernel) | Idle").first.wait_for()
    page.get_by_role("menuitem", name="Run", exact=True).click()
    page.get_by_role("menuitem", name="Run All Cells", exact=True).click()
    page.wait_for_function(ALL_RAN, arg=ERRORS)
    assert page.locator(ERRORS).all_inner_texts() == []
    page.get_by_text("Python 3 (ipykernel) | Idle").first.wait_for()


ERRORS = '.jp-OutputArea-output[data-mime-type="application/vnd.jupyter.error"], .jp-mod-error'

ALL_RAN = """(errors) => {
  const cells = [...document.querySelectorAll(".jp-CodeCell .jp-InputArea-prompt")];
  const ran = cells.length > 0 && cells.every((cell) => /\\[\\d+\\]:/.test(cell.textContent));
  return ran || document.querySelector(errors) !== null;
}"""
