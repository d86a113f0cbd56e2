"""The processes of long commands end with the command, however that was ended."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

COMMANDS = (
    ("prove", "xts_encrypt_vaes_avx2", "xts_decrypt_vaes_avx2", "--no-cache"),
    ("lockstep", "ecb_encrypt_aesni_avx", "ecb_decrypt_aesni_avx", "--count", "400"),
    ("mutants", "ecb_encrypt_aesni_avx"),
)


def below(process):
    """The processes that one has started, and those that these have."""
    try:
        found = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    except OSError:
        return []
    return [int(child) for child in found] + [grand for child in found for grand in below(int(child))]


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="needs Linux with /proc")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_workers_end_with_their_command(command, number):
    call = [sys.executable, "-m", "aeskit.cli", *command, "--workers", "2"]
    with subprocess.Popen(call, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as run:
        for _ in range(600):
            if len(below(run.pid)) >= 4:  # two workers, what starts them, and what counts their semaphores
                break
            assert run.poll() is None, run.communicate()
            time.sleep(0.1)
        run.send_signal(number)
        try:
            run.communicate(timeout=60)  # until every worker has let go of the pipes
        finally:
            run.kill()
