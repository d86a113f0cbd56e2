"""Contracts: what a function's arguments mean, what must hold after it, what it may change.

A contract is a short function that sets up one call: it names the unknown inputs, lays out the buffers, gives
the arguments and says what each buffer must hold afterwards, in the arithmetic of the models. So one contract
serves proofs, where inputs are expressions, and runs, where they are numbers. A new one in a few lines:

    def xor_block(call):
        block = call.unknown("block", 16)
        target = call.writable("target", call.unknown("old", 16))
        call.arguments(call.readable("source", block), target)
        call.must(target, block)

    COPY = Contract("copy", "16 bytes from source to target", xor_block, key_sizes=(0,))
"""

from __future__ import annotations

from aeskit.bits import BLOCK
from aeskit.contracts.call import ANY, Blocks, Buffer, Call, Contract, Length, String, UInt32
from aeskit.contracts.modes import (
    cbc_chain,
    cbc_stealing,
    cbc_streams,
    ctr_32,
    ctr_64,
    ctr_128,
    ecb_blocks,
    encrypt_iv,
    key_expansion,
    xts_library,
    xts_one_schedule,
    xts_sectors,
    xts_two_schedules,
)

__all__ = ["ALL", "ANY", "Blocks", "Buffer", "Call", "Contract", "Length", "String", "UInt32", "of"]

STREAMS = (1, 2, 17)
"""How many messages at once: one, lanes to spare, and more than any implementation has lanes for."""


SECTORS = (1, 2, 5)
"""How many sectors in a row: one in sequence, lanes to spare, more than any implementation has lanes for."""
SECTOR = 512
"""Sectors in a row have a multiple of so many bytes."""


def _all() -> dict[str, Contract]:
    found = [
        Contract("xts_iv", "encrypt an XTS IV in place", encrypt_iv, has_length=False),
        Contract("ctr", "CTR, 128-bit big-endian counter, written back", ctr_128),
        Contract("ctr64", "CTR, counter of two quadwords, the low one does not wrap", ctr_64, minimum=1),
        Contract(
            "ctr32", "CTR of a library: 32-bit big-endian counter, whole blocks", ctr_32, multiple=BLOCK
        ),
        Contract("keys", "key expansion, both directions", key_expansion, has_length=False),
    ]
    for count in STREAMS:
        title = f"CBC encryption of {count} message{'s' * (count > 1)} at once"
        found.append(
            Contract(
                f"cbc_streams_{count}", title, cbc_streams(count), multiple=BLOCK * count, inductive=False
            )
        )
    for d in ("encrypt", "decrypt"):
        for flags, what in ((0, "piece"), (1, "first"), (2, "update"), (3, "first_update")):
            title = f"XTS {d}ion, two schedules, flags {flags}"
            found.append(Contract(f"xts_{d}_{what}", title, xts_two_schedules(d, flags), minimum=BLOCK))
        found += [
            Contract(f"xts_{d}_tweak", f"XTS {d}ion, encrypted tweak", xts_one_schedule(d), minimum=BLOCK),
            Contract(f"xts_{d}_library", f"XTS {d}ion of a library", xts_library(d), minimum=BLOCK),
            Contract(f"cbc_{d}", f"CBC {d}ion", cbc_chain(d), multiple=BLOCK),
            Contract(f"ecb_{d}", f"ECB {d}ion", ecb_blocks(d), multiple=BLOCK),
        ]
        for count in SECTORS:
            least = SECTOR * count
            found.append(
                Contract(
                    f"xts_{d}_sectors_{count}",
                    f"XTS {d}ion of {count} sector{'s' * (count > 1)} in a row",
                    xts_sectors(d, count),
                    minimum=least,
                    multiple=least,
                    inductive=False,
                    also=tuple(size * count for size in (SECTOR, 2 * SECTOR) if size * count <= 5 * SECTOR),
                )
            )
        for form in (1, 2, 3):
            title = f"CBC-CS{form} {d}ion"
            found.append(Contract(f"cts_{d}_cs{form}", title, cbc_stealing(d, form), minimum=BLOCK))
    return {contract.name: contract for contract in found}


ALL = _all()
"""Every contract that is known, by name."""


def of(function: str) -> list[Contract]:
    """The contracts of one of our own functions, by its name; empty for another's."""
    words = function.replace("cbc_streams", "streams").replace("xts_sectors", "sectors").split("_")
    stem, own = "_".join(words[:2]), "_".join(words[2:])
    if own not in ("aesni", "aesni_avx", "vaes_avx2", "vaes_avx512_256", "vaes_avx512_512"):
        return []
    if words[0] == "xts":
        return [ALL[f"{stem}_{what}"] for what in ("first", "piece", "update", "first_update")]
    if words[0] == "sectors":
        return [ALL[f"xts_{words[1]}_sectors_{count}"] for count in SECTORS]
    if words[0] == "streams":
        return [ALL[f"cbc_streams_{count}"] for count in STREAMS]
    if words[0] == "cts":
        return [ALL[f"{stem}_cs{form}"] for form in (1, 2, 3)]
    name = {"ctr_crypt": "ctr", "keys_expand": "keys"}.get(stem, stem)
    return [ALL[name]] if name in ALL else []
