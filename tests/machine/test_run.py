"""Whole functions of our own in numbers, against `cryptography`; the trace's bookkeeping."""

import os
import time

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from aeskit.machine.errors import MemoryFault, StepLimit
from aeskit.machine.memory import Memory, Region
from aeskit.machine.run import Machine
from aeskit.models import aes
from aeskit.models.arithmetic import choose

SETS = ("aesni_avx", "vaes_avx2", "vaes_avx512_256", "vaes_avx512_512")
KEY, SOURCE, DESTINATION, TWEAK = 0x1000_0000, 0x2000_0000, 0x3000_0000, 0x4000_0000


def schedule(key):
    plain = choose("plain")
    words = aes.key_expansion(plain, key)
    inverse = aes.key_expansion_eic(plain, words)[::-1]
    return (
        b"".join(words).ljust(240, b"\0")
        + b"".join(inverse).ljust(240, b"\0")
        + len(key).to_bytes(16, "little")
    )


def array(data):
    return np.frombuffer(data, np.uint8).copy()


def xts(image, name, key, tweak, data, room=0, trace=False):
    half = len(key) // 2
    schedules = schedule(key[half:]) + schedule(key[:half])
    memory = Memory(
        [
            Region("key", KEY, array(schedules), "r"),
            Region("source", SOURCE, array(data), "r"),
            Region("destination", DESTINATION, array(bytes(len(data) + room))),
            Region("tweak", TWEAK, array(tweak)),
        ]
    )
    machine = Machine(image, memory, trace=trace)
    for number, value in {7: KEY, 6: SOURCE, 2: DESTINATION, 1: len(data), 8: TWEAK, 9: 1}.items():
        machine.state.gpr[number] = value
    machine.call(name)
    return machine, memory.find("read", DESTINATION, len(data))[0].data.tobytes()


@pytest.mark.parametrize("instruction_set", SETS)
@pytest.mark.parametrize("direction", ["encrypt", "decrypt"])
@pytest.mark.parametrize("length", [16, 17, 47, 64, 129, 300, 1025])
def test_xts_computes_what_cryptography_does(native, instruction_set, direction, length):
    key, tweak, data = os.urandom(64), os.urandom(16), os.urandom(length)
    _, ours = xts(native("xts"), f"xts_{direction}_{instruction_set}", key, tweak, data)
    cipher = Cipher(algorithms.AES(key), modes.XTS(tweak))
    peer = cipher.encryptor() if direction == "encrypt" else cipher.decryptor()
    assert ours == peer.update(data) + peer.finalize()


def test_a_trace_keeps_what_each_step_wrote(native):
    machine, _ = xts(native("xts"), "xts_encrypt_aesni_avx", bytes(32), bytes(16), bytes(16), trace=True)
    assert len(machine.changes) == machine.steps
    for rip, values, _ in machine.changes:
        assert len(values) == len(machine.instruction(rip).writes)
    writes = [access for _, _, accesses in machine.changes for access in accesses if access[0] == "w"]
    assert [(at, len(data)) for _, at, data in writes] == [(DESTINATION, 16)]


def test_speed_is_told(native, capsys):
    """Of the interpreter with everything traced, in seconds of this process alone."""
    began = time.process_time()
    name, data = "xts_encrypt_vaes_avx512_512", bytes(20_000)
    machine, _ = xts(native("xts"), name, bytes(64), bytes(16), data, trace=True)
    rate = machine.steps / (time.process_time() - began)
    with capsys.disabled():
        print(f"\nlanes: {rate:,.0f} traced instructions a second")
    assert len(machine.changes) == machine.steps


def test_runs_are_bounded_and_faults_name_the_buffer(assembled):
    with pytest.raises(StepLimit, match="more than 100 steps"):
        Machine(assembled("1: jmp 1b")).call("f", limit=100)
    with pytest.raises(MemoryFault, match=r"bytes before \.text"):
        Machine(assembled("mov 64, %rax")).call("f")


def test_state_goes_out_and_in_again(assembled):
    machine = Machine(assembled("vpaddq %zmm1, %zmm2, %zmm3; add %rsi, %rdi"))
    machine.state.gpr[6] = 5
    machine.start("f")
    machine.step()
    snapshot = machine.registers()
    other = Machine(assembled("vpaddq %zmm1, %zmm2, %zmm3; add %rsi, %rdi"))
    other.load(snapshot)
    assert other.step().mnemonic == "add"
    assert other.state.gpr[7] == 5
