"""A message in pieces on hardware: which contracts go on, and what is found when a call does not."""

import pytest
from engines import NO_SILICON

from aeskit import contracts
from aeskit.contracts import Contract
from aeskit.machine.loader import load
from aeskit.machine.silicon import Silicon
from aeskit.verify.proving.proofs import own
from aeskit.verify.review import pieces
from aeskit.verify.review.hardware import Hardware

CHAIN = """
.globl chain
.type chain, @function
chain: movdqu (%rcx), %xmm0
1: movdqu (%rdi), %xmm1
 pxor %xmm1, %xmm0
 movdqu %xmm0, (%rsi)
 add $16, %rdi
 add $16, %rsi
 sub $16, %rdx
 jnz 1b
 WRITE
 ret
.size chain, .-chain
"""
"""Each block is the sum of all up to it, and the last is left at the IV."""


def setup(call):
    source, destination = call.data()
    a, value = call.a, call.unknown("iv", 16)
    given, sums = value, []
    for number in range(call.length // 16):
        value = a.xor(value, a.block(call.source_data, number))
        sums.append(value)
    iv = call.writable("iv", given)
    call.arguments(source, destination, call.length, iv)
    call.must(destination, a.join(*sums))
    call.must(iv, value)
    call.carries("iv", lambda blocks: [given, *sums][blocks])


SUMS = Contract("sums", "running sums", setup, key_sizes=(16,), minimum=16, multiple=16)


def image(tmp_path, last):
    source = tmp_path / "chain.S"
    source.write_text(CHAIN.replace("WRITE", last))
    return load(source)


def findings(image, symbol, promises):
    out = Hardware("silicon")
    for chain in pieces.chains(image, symbol, promises):
        pieces.run(out, image, symbol, chain, Silicon)
    return out


@pytest.mark.parametrize(
    ("name", "goes_on"),
    [
        ("ctr", True),
        ("cbc_encrypt", True),
        ("cbc_decrypt", True),
        ("xts_encrypt_tweak", True),
        ("cts_encrypt_cs1", True),
        ("cts_decrypt_cs3", False),
        ("ecb_encrypt", False),
        ("xts_encrypt_library", False),
        ("ctr32", False),
        ("cbc_streams_2", False),
        ("keys", False),
    ],
)
def test_which_contracts_go_on(tmp_path, name, goes_on):
    found = list(pieces.chains(image(tmp_path, ""), "chain", [contracts.ALL[name]]))
    assert [chain.first.name for chain in found] == [name] * goes_on


def test_flags_make_another_contract_of_every_piece(tmp_path):
    promises = contracts.of("xts_decrypt_vaes_avx2")
    chain = next(iter(pieces.chains(image(tmp_path, ""), "chain", promises)))
    names = (chain.whole.name, chain.first.name, chain.middle.name, chain.last.name)
    stem = "xts_decrypt_"
    assert names == tuple(stem + what for what in ("first", "first_update", "update", "piece"))
    for sizes in pieces.cuts(chain):
        assert all(size % 16 == 0 for size in sizes[:-1])
        assert min(sizes) >= 16


@pytest.mark.skipif(bool(NO_SILICON), reason=NO_SILICON or "-")
def test_what_does_not_go_on_is_found(tmp_path):
    assert findings(image(tmp_path, "movdqu %xmm0, (%rcx)"), "chain", [SUMS]).findings == []
    found = findings(image(tmp_path, ""), "chain", [SUMS]).findings
    kind, text = found[0]
    assert kind == "result"
    assert text.startswith(
        "sums, AES-128, 64 bytes, in pieces of 16 and 48 bytes: destination: block 1 byte 0"
    )


@pytest.mark.skipif(bool(NO_SILICON), reason=NO_SILICON or "-")
@pytest.mark.parametrize("name", ["xts_encrypt_aesni_avx", "cts_decrypt_aesni_avx"])
def test_our_own_functions_go_on(name):
    target = next(target for target in own() if target.function == name)
    out = findings(target.image(), name, contracts.of(name))
    assert out.findings == []
    assert {"in 2 pieces", "in 3 pieces"} <= out.layouts
