"""What an instruction leaves undefined: flags by the decoder's tables, results and carries by the count."""

from __future__ import annotations

from functools import lru_cache

from aeskit.machine import decode as d
from aeskit.machine.state import FLAG_BITS

MODELLED = sum(1 << bit for name, bit in FLAG_BITS.items() if name != "af")


@lru_cache(maxsize=1 << 16)
def flags_of(code: bytes) -> tuple[int, int]:
    """The flags that an instruction leaves undefined, and those that it changes, as bits of RFLAGS."""
    lib = d.iced()
    raw = lib.module.Decoder(64, code).decode()
    names = {getattr(lib.module.RflagsBits, name.upper()): bit for name, bit in FLAG_BITS.items()}

    def word(mask: int) -> int:
        return sum(1 << bit for value, bit in names.items() if mask & value)

    return word(raw.rflags_undefined), word(raw.rflags_modified)


def undefined_flags(code: bytes) -> tuple[str, ...]:
    """The names of the flags that an instruction leaves undefined (SDM volume 1, appendix A), af left out."""
    left = flags_of(code)[0] & MODELLED
    return tuple(name for name, bit in FLAG_BITS.items() if left >> bit & 1)


def undefined_result(name: str, bits: int, count: int) -> bool:
    """Whether the SDM leaves the result undefined; `count` is an instruction's last source."""
    return bits == 16 and (name == "bswap" or (name in ("shld", "shrd") and count & 31 > bits))


def undefined_carry(name: str, bits: int, count: int) -> bool:
    """Whether a shift of 8 or 16 bits goes by so many that the SDM leaves CF undefined (SAR: the sign)."""
    return bits < 32 and name in ("shl", "sal", "shr") and count & 31 >= bits
