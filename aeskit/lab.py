"""`aeskit lab`: JupyterLab at the first notebook, on loopback, asking nothing of any other host."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import time
import webbrowser
from collections.abc import Callable, Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from types import FrameType
from typing import Any

SETTINGS = Path(__file__).resolve().parent / "jupyter"
HOST = "127.0.0.1"
FIRST = "00_start.ipynb"
PORT = 8888
PORTS_TRIED = 50
START_SECONDS = 60.0

_ENDS = (signal.SIGTERM, signal.SIGHUP) if sys.platform != "win32" else (signal.SIGTERM,)
_OWN_GROUP: dict[str, Any] = {"process_group": 0} if sys.platform != "win32" else {}


class LabError(RuntimeError):
    """JupyterLab cannot be started here; the message says what to do."""


def run(environment: Mapping[str, str] = os.environ, say: Callable[[str], None] = print) -> int:
    """Start JupyterLab, say its address, open a browser where there is a screen, and wait for Ctrl-C.

    Gives JupyterLab's exit status, 0 after Ctrl-C. Raises LabError when it cannot start.
    """
    if find_spec("jupyterlab") is None or find_spec("anywidget") is None:
        raise LabError("the notebooks need JupyterLab and anywidget: pip install 'aeskit[lab]'")
    folder, port, token = notebooks(), choose_port(environment), secrets.token_hex(24)
    with _server(folder, port, server_environment(environment, token)) as server:
        wait_until_listening(server, port)
        url = address(port, token)
        say(f"JupyterLab runs at\n\n    {url}\n\nand ends with Ctrl-C. Notebooks: {folder}")
        if has_screen(environment):
            webbrowser.open(url)
        return server.wait()


def notebooks() -> Path:
    """The notebooks of this source tree; of an installed package, a copy below the current folder."""
    source = Path(__file__).resolve().parent.parent / "notebooks"
    if (source / FIRST).is_file():
        return source
    installed, copy = Path(__file__).resolve().parent / "notebooks", Path.cwd() / "aeskit-notebooks"
    if not (installed / FIRST).is_file():
        raise LabError(f"the notebooks must be at {source} or at {installed}: install aeskit again")
    try:
        copy.mkdir(exist_ok=True)
        for path in installed.glob("*.ipynb"):
            if not (copy / path.name).exists():
                shutil.copyfile(path, copy / path.name)
    except OSError as error:
        raise LabError(
            f"the notebooks cannot be copied to {copy} ({error.strerror}): change to a folder of your own"
        ) from None
    return copy


def choose_port(environment: Mapping[str, str]) -> int:
    """AESKIT_PORT if it is free, else an error; without it the first free port from 8888 on."""
    wanted = environment.get("AESKIT_PORT", "").strip()
    if not wanted:
        for port in range(PORT, PORT + PORTS_TRIED):
            if is_free(port):
                return port
        raise LabError(
            f"ports {PORT} to {PORT + PORTS_TRIED - 1} are all taken: name a free one in AESKIT_PORT"
        )
    if not (wanted.isascii() and wanted.isdecimal() and len(wanted) < 6) or not 0 < int(wanted) < 1 << 16:
        raise LabError(f"AESKIT_PORT must be a port number from 1 to 65535, not {wanted!r}")
    if not is_free(int(wanted)):
        raise LabError(
            f"port {wanted} on {HOST} cannot be used (taken or reserved): name another in AESKIT_PORT"
        )
    return int(wanted)


def is_free(port: int) -> bool:
    """Whether this process could listen at the port."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError:
            return False
    return True


def command(folder: Path, port: int) -> list[str]:
    """The command line of JupyterLab; its token is read from JUPYTER_TOKEN, which no process list shows."""
    options = {
        "ServerApp.ip": HOST,
        "ServerApp.port": port,
        "ServerApp.port_retries": 0,
        "ServerApp.open_browser": False,
        "ServerApp.root_dir": folder,
        "ServerApp.answer_yes": True,
        "Application.log_level": "ERROR",
        "LabApp.default_url": f"/lab/tree/{FIRST}",
        "LabApp.check_for_updates_class": "jupyterlab.NeverCheckForUpdate",
        "LabApp.news_url": None,
        "LabApp.extension_manager": "readonly",
    }
    given = [f"--{name}={value}" for name, value in options.items()]
    return [sys.executable, "-m", "jupyterlab", *given, *(["--allow-root"] if _is_root() else [])]


def server_environment(environment: Mapping[str, str], token: str) -> dict[str, str]:
    """The environment of JupyterLab: its token, and our defaults for settings that the user has not made.

    They keep JupyterLab from asking whether it may fetch news and look for updates.
    """
    paths = [str(SETTINGS), environment.get("JUPYTER_CONFIG_PATH", "")]
    joined = os.pathsep.join(filter(None, paths))
    return {**environment, "JUPYTER_TOKEN": token, "JUPYTER_CONFIG_PATH": joined}


def address(port: int, token: str) -> str:
    """Where the first notebook opens."""
    return f"http://{HOST}:{port}/lab/tree/{FIRST}?token={token}"


def has_screen(environment: Mapping[str, str]) -> bool:
    """Whether a browser window can be shown."""
    if sys.platform in ("win32", "darwin"):
        return "SSH_CONNECTION" not in environment
    return bool(environment.get("DISPLAY") or environment.get("WAYLAND_DISPLAY"))


def wait_until_listening(server: subprocess.Popen[bytes], port: int, seconds: float = START_SECONDS) -> None:
    """Return once the server takes connections; LabError if it ends or stays silent."""
    end = time.monotonic() + seconds
    while server.poll() is None and time.monotonic() < end:
        with contextlib.suppress(OSError), socket.create_connection((HOST, port), timeout=1):
            return
        time.sleep(0.1)
    status = server.poll()
    what = f"ended with status {status}" if status is not None else f"was silent for {seconds:.0f} s"
    raise LabError(f"JupyterLab {what} before it took connections at port {port}")


@contextlib.contextmanager
def _server(folder: Path, port: int, environment: Mapping[str, str]) -> Iterator[subprocess.Popen[bytes]]:
    """JupyterLab as a child that ends with this process: at Ctrl-C, SIGTERM or an error."""
    # In a group of its own, so that the terminal's Ctrl-C reaches this process alone: JupyterLab, while it
    # loads its modules, would answer with a traceback.
    server = subprocess.Popen(command(folder, port), env=dict(environment), **_OWN_GROUP)
    previous = {number: signal.signal(number, _stop) for number in _ENDS}
    try:
        yield server
    except KeyboardInterrupt:
        server.returncode = _end(server) and 0
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
        _end(server)


def _stop(_number: int, _frame: FrameType | None) -> None:
    raise SystemExit(0)


def _end(server: subprocess.Popen[bytes]) -> int:
    """Ask the server to end, insist after 10 seconds; its exit status."""
    if server.poll() is None:
        server.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            server.wait(10)
        server.kill()
    return server.wait()


def _is_root() -> bool:
    return hasattr(os, "geteuid") and os.geteuid() == 0
