"""Which lane of a faulty run differs first: AES code in zmm registers with one fault each.

The bytes that must be there are those of `cryptography`, or of the key schedule in memory.
"""

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from aeskit.machine.divergence import divergence
from aeskit.machine.events import lanes
from aeskit.machine.memory import Memory, Region
from aeskit.machine.naming import Names
from aeskit.machine.run import Machine
from aeskit.models.arithmetic import choose
from aeskit.trace import Recorder

KEY, DATA = bytes(range(7, 39)), bytes(range(100, 164))
KEYS, SOURCE, RESULT = 0x9000_0000, 0x9100_0000, 0x9200_0000
CIPHERTEXT = Cipher(algorithms.AES(KEY), modes.ECB()).encryptor().update(DATA)

RIGHT = [
    "vmovdqu64 (%rsi), %zmm0",
    "vbroadcasti32x4 (%rdi), %zmm1",
    "vpxorq %zmm1, %zmm0, %zmm0",
    *(
        line
        for r in range(1, 14)
        for line in (f"vbroadcasti32x4 {16 * r}(%rdi), %zmm1", "vaesenc %zmm1, %zmm0, %zmm0")
    ),
    "vbroadcasti32x4 224(%rdi), %zmm1",
    "vaesenclast %zmm1, %zmm0, %zmm0",
    "vmovdqu64 %zmm0, (%rdx)",
]
"""ECB encryption of four blocks under AES-256: round keys, source, destination."""


def schedule():
    heard, a = Recorder(), choose("plain")
    keys = [a.value(key) for key in a.expand(KEY, heard.note)]
    for i in range(4):
        a.encrypt(a.expand(KEY), a.string(DATA[16 * i : 16 * i + 16]), heard.note, f"P_{i + 1}")
    named = [(name, data) for step in heard.steps for name, data in step.values.items()]
    given = [(f"P_{i + 1}", DATA[16 * i : 16 * i + 16]) for i in range(4)]
    made = [(f"C_{i + 1}", CIPHERTEXT[16 * i : 16 * i + 16]) for i in range(4)]
    return b"".join(keys), Names([*given, *named, *made])


def differing(assembled, *changes):
    """The lanes that differ when lines of the code are others: (number, line)."""
    source = list(RIGHT)
    for number, line in changes:
        source[number] = line
    keys, names = schedule()
    regions = {"keys": (KEYS, keys), "source": (SOURCE, DATA), "destination": (RESULT, bytes(64))}
    memory = Memory([Region(n, at, np.frombuffer(d, np.uint8).copy()) for n, (at, d) in regions.items()])
    machine = Machine(assembled("; ".join(source)), memory)
    machine.state.gpr[7], machine.state.gpr[6], machine.state.gpr[2] = KEYS, SOURCE, RESULT
    run = lanes(machine, "f")
    return divergence(run, names, [(RESULT, memory.region("destination").data.tobytes(), CIPHERTEXT)])


def first(found):
    wrong = found[0]
    return wrong.step, f"{wrong.register}[{wrong.lane}]", wrong.name, wrong.must


def round_key(number):
    return schedule()[0][16 * number : 16 * number + 16]


def test_right_code_differs_nowhere(assembled):
    assert differing(assembled) == []


def test_the_wrong_round_key_is_found_where_it_is_loaded(assembled):
    found = differing(assembled, (11, "vbroadcasti32x4 96(%rdi), %zmm1"))
    assert first(found) == (11, "zmm1[0]", "K[5]", round_key(5))
    assert [wrong.lane for wrong in found if wrong.step == 11] == [0, 1, 2, 3]
    assert (found[-1].name, found[-1].must) == ("C_4", CIPHERTEXT[48:])


def test_the_wrong_block_is_found_where_it_is_loaded(assembled):
    found = differing(assembled, (0, "vbroadcasti32x4 (%rsi), %zmm0"))
    assert first(found) == (0, "zmm0[1]", "P_2", DATA[16:32])


def test_a_wrong_instruction_is_found_where_it_stands(assembled):
    found = differing(assembled, (12, "vaesenclast %zmm1, %zmm0, %zmm0"))
    assert found[0].step == 12
    assert found[0].name == "P_1.round[6].start"
    assert not [wrong for wrong in found if wrong.step < 12]


def test_a_lane_that_no_rule_explains_ends_the_search(assembled):
    found = differing(assembled, (2, "vpaddq %zmm1, %zmm0, %zmm0"))
    assert (found[0].step, found[0].name) == (2, "P_1.round[1].start")


def test_a_right_lane_stored_to_the_wrong_place_is_not_blamed(assembled):
    found = differing(assembled, (31, "vextracti32x4 $1, %zmm0, 32(%rdx)"))
    assert found == []


def test_bytes_in_another_order_are_put_right_on_the_way(assembled):
    swap = "vpshufb order(%rip), %zmm0, %zmm0"
    table = ".pushsection .rodata; order: .rept 4; .byte 15,14,13,12,11,10,9,8,7,6,5,4,3,2,1,0; .endr"
    found = differing(
        assembled,
        (11, "vbroadcasti32x4 96(%rdi), %zmm1"),
        (31, f"{swap}; {swap}; {RIGHT[31]}; {table}; .popsection"),
    )
    assert first(found) == (11, "zmm1[0]", "K[5]", round_key(5))


@pytest.mark.parametrize("mask", ["%k1", "%k1}{z"])
def test_under_a_mask_only_selected_bytes_count(assembled, mask):
    start = f"kxnorq %k1, %k1, %k1; kshiftrq $40, %k1, %k1; {RIGHT[0]}"
    found = differing(
        assembled,
        (0, start),
        (11, "vbroadcasti32x4 96(%rdi), %zmm1"),
        (31, f"vmovdqu8 %zmm0, %zmm2{{{mask}}}; vmovdqu8 %zmm2, (%rdx){{%k1}}"),
    )
    assert first(found) == (13, "zmm1[0]", "K[5]", round_key(5))
    assert {wrong.lane for wrong in found} == {0, 1}


def test_the_wrong_register_is_found_where_it_is_read(assembled):
    """What should have been read stands in another register: who made the other one is not to blame."""
    copied = f"{RIGHT[0]}; vmovdqa64 %zmm0, %zmm2"
    found = differing(assembled, (0, copied), (12, "vaesenc %zmm1, %zmm2, %zmm0"))
    assert (found[0].step, found[0].name) == (13, "P_1.round[6].start")


def test_a_block_stored_and_read_in_pieces_is_followed(assembled):
    """Over the stack, through general registers and across lanes."""
    spill = "vmovdqu %xmm1, -64(%rsp); mov -64(%rsp), %rax; mov -56(%rsp), %rcx"
    back = "vmovq %rax, %xmm1; vpinsrq $1, %rcx, %xmm1, %xmm1; vshufi32x4 $0, %zmm1, %zmm1, %zmm1"
    found = differing(assembled, (11, f"vmovdqu 96(%rdi), %xmm1; {spill}; {back}"))
    assert first(found) == (11, "zmm1[0]", "K[5]", round_key(5))
