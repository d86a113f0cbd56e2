"""TestVector: one known answer and where it comes from; what every vector format is read into."""

from __future__ import annotations

from dataclasses import dataclass

KEY_BYTES = (16, 24, 32)
MODES = ("keys", "ecb", "cbc", "cts", "ctr", "xts", "lrw", "pcbc")
STEALING = ("CS1", "CS2", "CS3")


@dataclass(frozen=True)
class TestVector:
    """One vector of a standard: inputs, answer, provenance. ValueError where fields contradict each other.

    A vector of the mode ``keys`` has no text; its answer is `schedule`, the encryption round keys.
    """

    __test__ = False  # not a test class, whatever its name says to pytest

    name: str
    """Unique within its file: ``vector 15``, ``F.2.1``."""
    mode: str
    """One of `MODES`."""
    key: bytes
    """XTS: data key then tweak key (IEEE 1619-2018, 5.1); LRW: AES key then 16 bytes of K2."""
    iv: bytes = b""
    """16 bytes: initialisation vector, first counter block, tweak or LRW index; empty where there is none."""
    plaintext: bytes = b""
    ciphertext: bytes = b""
    stealing: str = ""
    """For the mode ``cts``: one of `STEALING` (SP 800-38A addendum)."""
    iv_after: bytes | None = None
    """What continues the message, where the standard says it."""
    schedule: bytes = b""
    source: str = ""
    """The standard."""
    clause: str = ""
    """Where in the standard."""
    valid: bool = True
    """False for a vector that must be refused or must not match."""

    def __post_init__(self) -> None:
        """Refuse a vector that could not be one of its mode."""
        if self.mode not in MODES:
            raise ValueError(f'mode must be one of {", ".join(MODES)}, not "{self.mode}"')
        if self.valid:
            self._check_sizes()

    def _check_sizes(self) -> None:
        where = f'vector "{self.name}"'
        sizes = key_sizes(self.mode)
        if len(self.key) not in sizes:
            raise ValueError(f"{where}: key must be {_list(sizes)} bytes, not {len(self.key)}")
        wanted = 0 if self.mode in ("keys", "ecb") else 16
        if len(self.iv) != wanted:
            raise ValueError(f"{where}: iv must be {wanted} bytes, not {len(self.iv)}")
        if len(self.plaintext) != len(self.ciphertext):
            raise ValueError(
                f"{where}: plaintext and ciphertext must have one length, "
                f"not {len(self.plaintext)} and {len(self.ciphertext)}"
            )
        if (self.stealing in STEALING) != (self.mode == "cts"):
            raise ValueError(
                f'{where}: stealing must be {_list(STEALING)} for cts alone, not "{self.stealing}"'
            )
        if self.iv_after is not None and len(self.iv_after) != 16:
            raise ValueError(f"{where}: iv_after must be 16 bytes, not {len(self.iv_after)}")
        schedule = 16 * (len(self.key) // 4 + 7) if self.mode == "keys" else 0
        if len(self.schedule) != schedule:
            raise ValueError(f"{where}: schedule must be {schedule} bytes, not {len(self.schedule)}")

    @property
    def key_bits(self) -> int:
        """Bits of the AES key: 128, 192 or 256, for XTS of each half."""
        size = {"xts": len(self.key) // 2, "lrw": len(self.key) - 16}.get(self.mode, len(self.key))
        return 8 * size


def key_sizes(mode: str) -> tuple[int, ...]:
    """Bytes that a key of the mode may have."""
    if mode == "xts":
        return tuple(2 * size for size in KEY_BYTES)
    return tuple(size + 16 for size in KEY_BYTES) if mode == "lrw" else KEY_BYTES


def _list(items: tuple[object, ...]) -> str:
    return ", ".join(map(str, items[:-1])) + f" or {items[-1]}"
