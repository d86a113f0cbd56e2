"""`aeskit lab`: loopback only, a free port, a token that no process list shows, an end with Ctrl-C."""

import os
import re
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from aeskit import lab


@pytest.fixture
def taken():
    with socket.socket() as listening:
        listening.bind((lab.HOST, 0))
        listening.listen()
        yield listening.getsockname()[1]


def test_the_first_free_port_is_taken_without_a_wish(monkeypatch, taken):
    monkeypatch.setattr(lab, "PORT", taken)
    assert lab.choose_port({}) in range(taken + 1, taken + lab.PORTS_TRIED)


def test_a_taken_port_is_named(taken):
    message = (
        rf"port {taken} on 127\.0\.0\.1 cannot be used \(taken or reserved\): name another in AESKIT_PORT"
    )
    with pytest.raises(lab.LabError, match=message):
        lab.choose_port({"AESKIT_PORT": str(taken)})


@pytest.mark.parametrize("wish", ["eighty", "0", "65536", "-1", "8888.5", "8" * 40, "８８８８", "²"])
def test_a_port_that_is_none(wish):
    with pytest.raises(
        lab.LabError, match=f"AESKIT_PORT must be a port number from 1 to 65535, not '{wish}'"
    ):
        lab.choose_port({"AESKIT_PORT": wish})


def test_it_listens_on_loopback_and_the_token_is_in_no_argument():
    arguments = lab.command(Path("notebooks"), 8888)
    assert "--ServerApp.ip=127.0.0.1" in arguments
    assert not any("token" in argument.lower() for argument in arguments)
    assert lab.server_environment({}, "secret")["JUPYTER_TOKEN"] == "secret"


def test_settings_of_ours_come_before_those_of_the_user():
    joined = lab.server_environment({"JUPYTER_CONFIG_PATH": "theirs"}, "t")["JUPYTER_CONFIG_PATH"]
    ours, theirs = joined.split(os.pathsep)
    assert (Path(ours) / "labconfig/default_setting_overrides.json").is_file()
    assert theirs == "theirs"


@pytest.mark.skipif(
    sys.platform in ("win32", "darwin"), reason="needs a platform where a screen is a variable"
)
def test_a_screen_is_a_display():
    assert lab.has_screen({"DISPLAY": ":0"})
    assert lab.has_screen({"WAYLAND_DISPLAY": "wayland-0"})
    assert not lab.has_screen({})


def test_an_installed_package_copies_its_notebooks(tmp_path, monkeypatch):
    package = tmp_path / "site/aeskit"
    (package / "notebooks").mkdir(parents=True)
    (package / "notebooks" / lab.FIRST).write_text("{}", encoding="utf-8")
    monkeypatch.setattr(lab, "__file__", str(package / "lab.py"))
    monkeypatch.chdir(tmp_path)
    copy = lab.notebooks()
    assert copy == tmp_path / "aeskit-notebooks"
    (copy / lab.FIRST).write_text("mine", encoding="utf-8")
    assert (lab.notebooks() / lab.FIRST).read_text(encoding="utf-8") == "mine"


def test_a_folder_that_cannot_be_written_is_named(tmp_path, monkeypatch):
    package = tmp_path / "site/aeskit"
    (package / "notebooks").mkdir(parents=True)
    (package / "notebooks" / lab.FIRST).write_text("{}", encoding="utf-8")
    monkeypatch.setattr(lab, "__file__", str(package / "lab.py"))
    (tmp_path / "aeskit-notebooks").write_text("a file in the way")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(
        lab.LabError, match=r"cannot be copied to .*aeskit-notebooks .File exists.: change to a"
    ):
        lab.notebooks()


def test_a_package_without_notebooks(tmp_path, monkeypatch):
    monkeypatch.setattr(lab, "__file__", str(tmp_path / "site/aeskit/lab.py"))
    with pytest.raises(lab.LabError, match="the notebooks must be at"):
        lab.notebooks()


def test_a_server_that_ends_at_once_is_named():
    server = subprocess.Popen([sys.executable, "-c", "raise SystemExit(3)"])
    with pytest.raises(lab.LabError, match="JupyterLab ended with status 3"):
        lab.wait_until_listening(server, 1)


@pytest.mark.skipif(os.name != "posix", reason="needs signals as POSIX has them")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_end_while_the_server_starts_is_silent(number, tmp_path):
    """The whole group is told, as by a terminal; a server that loads would show a traceback."""
    loading = "print('up', flush=True); import time; time.sleep(60)"
    code = f"""
import sys
from pathlib import Path
from aeskit import lab
lab.find_spec = lambda name: True
lab.command = lambda folder, port: [sys.executable, "-c", {loading!r}]
sys.exit(lab.run())
"""
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stdout.readline() == "up\n"
    os.killpg(process.pid, number)
    out, err = process.communicate(timeout=30)  # ends only when the server has closed its end of the pipe
    assert (process.returncode, out, err) == (0, "", "")


@pytest.mark.skipif(os.name != "posix", reason="needs signals as POSIX has them")
def test_it_says_its_address_answers_and_ends_with_ctrl_c(tmp_path):
    pytest.importorskip("jupyterlab", reason="needs the extra lab")
    hidden = {"DISPLAY", "WAYLAND_DISPLAY", "AESKIT_PORT", "JUPYTER_CONFIG_PATH"}
    environment = {name: value for name, value in os.environ.items() if name not in hidden}
    for name in ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "JUPYTERLAB_SETTINGS_DIR"):
        environment[name] = str(tmp_path / name)
    code = "import sys; from aeskit import lab; sys.exit(lab.run())"
    process = subprocess.Popen(
        [sys.executable, "-u", "-c", code],
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        url = next(line.strip() for line in process.stdout if "http://" in line)
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/lab/tree/00_start\.ipynb\?token=[0-9a-f]{48}", url)
        with urllib.request.urlopen(
            url.replace("/lab/tree/00_start.ipynb", "/api/status"), timeout=30
        ) as answer:
            assert answer.status == 200
        with pytest.raises(urllib.error.HTTPError, match="403"):
            urllib.request.urlopen(url.partition("/lab")[0] + "/api/contents", timeout=30)
        os.killpg(process.pid, signal.SIGINT)
        assert process.wait(30) == 0
    finally:
        process.kill()
        process.stdout.close()
