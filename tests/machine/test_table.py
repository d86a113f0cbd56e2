"""Every form of the semantics table beside hardware: silicon where this CPU has it, else the emulator.

`pytest tests/machine/test_table.py -s` prints the counts and what could not be compared.
"""

import re

import numpy as np
import pytest
from engines import NO_EMULATOR, NO_SILICON

from aeskit.machine import semantics, table
from aeskit.machine.bochs.steps import Bochs
from aeskit.machine.forms import forms
from aeskit.machine.silicon import Silicon


def engines():
    if NO_SILICON and NO_EMULATOR:
        pytest.skip(f"{NO_SILICON}; {NO_EMULATOR}")
    return ({} if NO_SILICON else {"silicon": Silicon}) | ({} if NO_EMULATOR else {"emulator": Bochs})


@pytest.mark.parametrize(
    ("name", "encodings", "samples", "least"),
    [("legacy and VEX", "LEGACY VEX", 2, 1900), ("EVEX", "EVEX", 1, 4800)],
)
def test_every_form_agrees_with_hardware(capsys, name, encodings, samples, least):
    available = engines()
    found = table.compare(available, samples, choose=lambda form: form.encoding in encodings.split())
    with capsys.disabled():
        print(f"\n{name}\n{found}")
    assert found.differences == []
    if len(available) == 2:
        assert sum(len(forms) for forms in found.compared.values()) > least
        assert len(found.left) < 8


def test_every_row_of_the_table_has_a_form():
    written = {form.mnemonic for form in forms()}
    rows = {re.split(r"[ :]", name)[0] for name in semantics.TABLE} | set(semantics.SCALARS)
    assert {row for row in rows if row not in written and "v" + row not in written} <= {"sal"}


@pytest.mark.skipif(bool(NO_SILICON), reason=NO_SILICON or "-")
def test_a_wrong_row_is_found(monkeypatch):
    right = semantics.TABLE["paddd"]
    wrong = semantics.Entry("paddd", lambda a, b: np.bitwise_or(a, b), right.kind, 2, 4)
    monkeypatch.setitem(semantics.TABLE, "paddd", wrong)
    found = table.compare({"silicon": Silicon}, 1, choose=lambda form: form.title == "PADDD xmm1, xmm2/m128")
    assert re.match(
        r"PADDD xmm1, xmm2/m128: paddd .* at 0x8.*: zmm\d+\[0\] is .*, the machine has .*",
        str(found.differences[0]),
    )


def test_what_nothing_here_can_run_is_listed():
    found = table.compare({}, 1, choose=lambda form: form.mnemonic == "vpternlogq" and not form.mask)
    assert len(found.left) > 5
    assert "not compared: VPTERNLOGQ zmm1 {k1}{z}, zmm2, zmm3/m512/m64bcst, imm8" in str(found)
