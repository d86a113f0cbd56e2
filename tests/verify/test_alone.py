"""Checks in a process that has nothing else in it: what `EmulatedRunner` says is said there too."""

import os
from dataclasses import replace

import numpy as np
import pytest

from aeskit import _native, implementations
from aeskit.cpu import detect
from aeskit.machine import silicon
from aeskit.machine.bochs import EmulatorMissing
from aeskit.machine.bochs.library import library
from aeskit.machine.loader import load
from aeskit.verify.alone import Alone, Message
from aeskit.verify.mutants import levels as mutants_levels
from aeskit.verify.mutants import make as mutants_make
from aeskit.verify.mutants import reach as mutants_reach
from aeskit.verify.mutants import survey as mutants
from aeskit.verify.mutants.make import Mutant
from aeskit.verify.proving import proofs

NAME = "xts_encrypt_aesni_avx"
"""Every CPU of ours can run it, and it keeps tweaks on its stack."""


@pytest.fixture(scope="module")
def image():
    return load(_native.__file__)


@pytest.fixture(scope="module")
def engine(image):
    lacking = implementations.named(NAME).can(detect())
    if why := detect().explain(lacking) if lacking else silicon.unavailable():
        pytest.skip(why)
    return mutants_levels.OnSilicon(image, NAME, "brief")


def changed(image, code, function=NAME, at=0):
    return Mutant(image.symbols[function] + at, code, "", "", "", "")


@pytest.fixture(scope="module")
def reach():
    return mutants_reach.measure(tuple(proofs.own([NAME])), [16, 17, 64])


def test_a_function_that_is_right_passes_every_check(engine, image, reach):
    same = changed(image, image.code_at(image.symbols[NAME], 1))
    for verdict in (engine.known(same), engine.verified(same, reach)):
        assert not verdict.finding
    assert verdict.checks > 3000


@pytest.mark.parametrize(
    ("code", "finding"),
    [
        (b"\xeb\xfe", "no return in time"),
        (b"\x0f\x05", "a system call"),
        (b"\x0f\x0b", "undefined"),
        (b"\xcc", "a breakpoint"),
        (b"\xf4", "a general protection fault"),
        (b"\x31\xdb\xc3", "rbx, rbp and r12 to r15 must be preserved"),
        (b"\xfd\xc3", "the direction flag must be clear"),
        (b"\x59\x50\xff\xe1", "rsp must be preserved"),
        (b"\x48\x8b\x03\xc3", "a general protection fault"),
        (b"\xc5\xfc\x10\x47\x40\xc3", "the upper halves of vector registers"),
        (b"\x48\x8b\x47\x40\x48\x89\x44\x24\xe0\xc3", "on its stack, 32 bytes below its return address"),
        (b"\x48\x89\x05\x00\x00\x00\x00\xc3", "an access to"),
        (b"\xc6\x02\x00\xc3", "block 0 byte 0 is 00, must be"),
        (b"\xc6\x42\xff\x77\xc3", "block 0 byte 0"),
        (b"\xc3", "block 0 byte 0"),
        (b"\xff\xe1", "an access to 0x20, which is not mapped"),
    ],
    ids=lambda value: value.hex() if isinstance(value, bytes) else "",  # the code
)
def test_wild_code_is_stopped_and_told(engine, image, code, finding):
    """A loop, a system call, hlt, registers not kept, a secret left, a write to the code, and their kind."""
    verdict = engine.known(changed(image, code))
    assert verdict.killed
    assert finding in verdict.finding
    assert not engine.known(changed(image, image.code_at(image.symbols[NAME], 1))).killed


def test_both_engines_say_the_same(engine, image):
    try:
        library()
    except EmulatorMissing as missing:
        pytest.skip(str(missing))
    emulated = mutants_levels.Emulated(image, NAME)
    drawn = mutants.sample(mutants_make.every(image, NAME).mutants, 60, seed=4)
    found = [(engine.known(m), emulated.known(m), m.title) for m in drawn]
    both = [((one.killed, one.checks, title), (o.killed, o.checks, title)) for one, o, title in found]
    assert [one for one, _ in both] == [other for _, other in both]
    assert {one.killed for one, _, _ in found} == {True, False}


def test_only_the_checks_that_are_asked_are_made_in_their_order(engine, image):
    known = engine.checks.known
    messages = [Message(check.inputs, check.context, check.expected, check.layout) for check in known]
    wrong = replace(messages[1].expected, text=bytes(len(messages[1].inputs.data)))
    messages[1] = replace(messages[1], expected=wrong)
    with Alone(image, NAME, messages) as alone:
        assert alone.run(np.array([2, 0], np.uint32)) == (2, "")
        made, finding = alone.run(np.array([2, 1, 0], np.uint32))
        assert made == 2
        assert "block 0 byte 0" in finding
        assert finding.endswith("must be 00")
        process = alone._child.process
    with pytest.raises(ProcessLookupError):
        os.kill(process, 0)
