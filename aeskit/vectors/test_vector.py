"""TestVector: one known answer and where it comes from; what every vector format is read into."""

from __future__ import annotations

from dataclasses import dataclass, field

KEY_BYTES = (16, 24, 32)
MODES = ("keys", "ecb", "cbc", "cts", "ctr", "xts", "lrw", "pcbc")
STEALING = ("CS1", "CS2", "CS3")
DIRECTIONS = ("encrypt", "decrypt")
MONTE_CARLO = 1000
"""Iterations of one Monte Carlo answer (AESAVS, 6.4)."""
SECTOR_NUMBER = "SectorNumber"
"""Flag: the tweak is a data unit's number, which some formats write as a number."""
DECREMENTS = "CounterDecrements"
"""Flag: the counter of CTR goes down by one from block to block."""


@dataclass(frozen=True)
class TestVector:
    """One vector: inputs, answer, provenance. ValueError where fields contradict each other.

    A vector of the mode ``keys`` has no text; its answer is `schedule`, the encryption round keys.
    """

    __test__ = False  # not a test class, whatever its name says to pytest

    name: str
    """Unique within its file: ``vector 15``, ``F.2.1``, ``tcId 20``."""
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
    """What continues the message, where the source says it."""
    schedule: bytes = b""
    source: str = ""
    """The standard, or the file's own words of where it comes from."""
    clause: str = ""
    """Where in the source."""
    valid: bool = True
    """False for a vector that must be refused or must not match."""
    bits: int | None = None
    """Length of the text where it is no whole number of bytes; the last byte's high bits count."""
    unit_bits: int | None = None
    """XTS: bits of each data unit where the text is several; their tweaks follow one another as numbers."""
    direction: str = ""
    """``encrypt`` or ``decrypt`` where the source asks for one; empty for both."""
    iterations: int = 1
    """1000 for a Monte Carlo test: so often the text is sent through for the answer (AESAVS, 6.4)."""
    asks: str = ""
    """``plaintext`` or ``ciphertext`` where the file leaves the answer to the reader."""
    pieces: tuple[int, ...] = ()
    """Bytes of each piece that the text must be given in."""
    flags: tuple[str, ...] = ()
    """What it is there to catch, a word each."""
    comment: str = ""
    """The same as a sentence."""
    expects: str = ""
    """For a vector that is not valid: the error as the source names it."""
    line: int = field(default=0, compare=False)
    """Where it stands in its file; 0 if unknown."""

    def __post_init__(self) -> None:
        """Refuse a vector that could not be one of its mode."""
        if self.mode not in MODES:
            raise ValueError(f'mode must be one of {", ".join(MODES)}, not "{self.mode}"')
        if self.direction not in ("", *DIRECTIONS):
            raise self._error(f'direction must be encrypt, decrypt or empty, not "{self.direction}"')
        if self.asks not in ("", "plaintext", "ciphertext"):
            raise self._error(f'asks must be plaintext, ciphertext or empty, not "{self.asks}"')
        if self.iterations < 1:
            raise self._error(f"iterations must be at least 1, not {self.iterations}")
        if self.valid:
            self._check_sizes()
            self._check_lengths()

    @property
    def key_bits(self) -> int:
        """Bits of the AES key: 128, 192 or 256, for XTS of each half."""
        size = {"xts": len(self.key) // 2, "lrw": len(self.key) - 16}.get(self.mode, len(self.key))
        return 8 * size

    @property
    def length(self) -> int:
        """Bytes of the text; a last partial byte counts as one."""
        return max(len(self.plaintext), len(self.ciphertext))

    @property
    def length_bits(self) -> int:
        """Bits of the text."""
        return 8 * self.length if self.bits is None else self.bits

    def _check_sizes(self) -> None:
        sizes = key_sizes(self.mode)
        if len(self.key) not in sizes:
            raise self._error(f"key must be {_list(sizes)} bytes, not {len(self.key)}")
        wanted = 0 if self.mode in ("keys", "ecb") else 16
        if len(self.iv) != wanted and not (self.asks and self.mode == "ctr" and not self.iv):
            raise self._error(f"iv must be {wanted} bytes, not {len(self.iv)}")
        if (self.stealing in STEALING) != (self.mode == "cts"):
            raise self._error(f'stealing must be {_list(STEALING)} for cts alone, not "{self.stealing}"')
        if self.iv_after is not None and len(self.iv_after) != 16:
            raise self._error(f"iv_after must be 16 bytes, not {len(self.iv_after)}")
        schedule = 16 * (len(self.key) // 4 + 7) if self.mode == "keys" else 0
        if len(self.schedule) != schedule:
            raise self._error(f"schedule must be {schedule} bytes, not {len(self.schedule)}")

    def _check_lengths(self) -> None:
        sizes = len(self.plaintext), len(self.ciphertext)
        if self.asks and getattr(self, self.asks):
            raise self._error(f"{self.asks} must be empty where the file asks for it")
        if not self.asks and sizes[0] != sizes[1]:
            raise self._error(f"plaintext and ciphertext must have one length, not {sizes[0]} and {sizes[1]}")
        if self.bits is not None and (self.bits + 7) // 8 != self.length:
            raise self._error(f"{self.bits} bits are {(self.bits + 7) // 8} bytes, not {self.length}")
        if self.bits is not None and self.bits % 8 == 0:
            raise self._error(f"bits must be given for no whole number of bytes alone, not {self.bits}")
        whole = self.mode in ("ecb", "cbc", "pcbc", "lrw")
        if self.mode == "keys" and self.length:
            raise self._error(f"a key schedule has no text, not {self.length} bytes")
        if whole and self.length_bits % 128:
            raise self._error(f"the text of {self.mode} must be whole blocks, not {self.length_bits} bits")
        if self.mode in ("xts", "cts") and self.length_bits < 128:
            raise self._error(f"the text of {self.mode} must be 128 bits or more, not {self.length_bits}")
        unit = self.unit_bits
        if unit is not None and (self.mode != "xts" or unit < 128 or self.length_bits % unit):
            raise self._error(f"unit_bits must be at least 128 and divide {self.length_bits}, not {unit}")
        if self.pieces and (min(self.pieces) < 1 or sum(self.pieces) != self.length):
            raise self._error(f"pieces must make up {self.length} bytes, not {sum(self.pieces)}")

    def _error(self, text: str) -> ValueError:
        return ValueError(f'vector "{self.name}": {text}')


def key_sizes(mode: str) -> tuple[int, ...]:
    """Bytes that a key of the mode may have."""
    if mode == "xts":
        return tuple(2 * size for size in KEY_BYTES)
    return tuple(size + 16 for size in KEY_BYTES) if mode == "lrw" else KEY_BYTES


def _list(items: tuple[object, ...]) -> str:
    return ", ".join(map(str, items[:-1])) + f" or {items[-1]}"
