"""Processes that share work: what they give, and that none outlives its command."""

import math
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from aeskit.verify import pool

SCRIPT = """
import os, time
from aeskit.verify import pool

def sleep(piece):
    os.write(1, b"up ")
    time.sleep(600)

if __name__ == "__main__":
    list(pool.each(sleep, [1, 2], 2))
"""


def alive(process):
    """Whether a process is there, and no one's to be collected."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def here(piece):
    return piece, os.getpid()


def test_every_piece_is_done():
    assert sorted(pool.each(math.factorial, [1, 2, 3, 4, 5], 2)) == [1, 2, 6, 24, 120]


@pytest.mark.parametrize(("pieces", "workers"), [([1, 2, 3], 1), ([7], 4), ([], 2)])
def test_one_process_is_this_one(pieces, workers):
    assert list(pool.each(here, pieces, workers)) == [(piece, os.getpid()) for piece in pieces]


def test_an_error_comes_to_the_caller():
    with pytest.raises(ValueError, match="not defined for negative values"):
        list(pool.each(math.factorial, [1, -2, 3], 2))


@pytest.mark.parametrize("count", [1, 2])
def test_what_is_shared_is_done_here_or_elsewhere(count):
    with pool.shared(count) as executor:
        found = {executor.submit(os.getpid).result() for _ in range(4)}
        assert executor.submit(math.factorial, 5).result() == 120
    assert (os.getpid() in found) == (count == 1)


def test_each_process_begins_as_it_is_told(tmp_path):
    with pool.processes(1, os.chdir, tmp_path) as processes:
        assert Path(processes.submit(os.getcwd).result()).samefile(tmp_path)
    assert not Path.cwd().samefile(tmp_path)


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs Linux with /proc")
def test_behind_the_block_there_are_none():
    with pool.processes(2) as processes:
        at_work = [processes.submit(time.sleep, 600) for _ in range(2)]
        started = list(processes._processes.values())
        assert all(alive(process.pid) for process in started)
    for process in started:
        process.join(60)
    assert not any(alive(process.pid) for process in started)
    assert all(future.exception(60) for future in at_work)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_workers_end_with_their_parent_however_that_ends(tmp_path, number):
    (tmp_path / "sleeping.py").write_text(SCRIPT)
    call = [sys.executable, str(tmp_path / "sleeping.py")]
    with subprocess.Popen(call, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as run:
        assert run.stdout.read(6) == b"up up "
        run.send_signal(number)
        try:
            run.communicate(timeout=60)  # until every worker has let go of the pipes
        finally:
            run.kill()
