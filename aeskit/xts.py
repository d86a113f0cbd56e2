"""XTS by the native core (IEEE 1619-2018)."""

from __future__ import annotations

from numbers import Integral
from threading import Lock
from typing import Any

from aeskit._native import ffi, lib
from aeskit.buffers import BytesLike, block, fresh, readable, refuse, writable
from aeskit.implementations import Implementation, beside, choose, for_cipher
from aeskit.keys import secret, xts_cipher

MAX_UNIT = 16 << 20
"""Bytes of 2^20 blocks, the most that a data unit may have (IEEE 1619-2018, 5.1)."""

MAX_THREADS = 1024

_UNLIMITED = (1 << 64) - 1
_ROW_MOST = {32: 2048, 64: _UNLIMITED}
"""Bytes of a sector, by VL, up to which `xts_sectors` is faster than `xts` with its IVs encrypted together.
On Emerald Rapids, AES-256, VL 32: 507 and 521 cycles for 2,048 bytes, 1,000 and 925 for 4,096."""
_SECTORS = 1 << 64

Tweak = BytesLike | int
"""16 bytes, or a data unit's number: an integer, of numpy too, below 2^64, little-endian in the first 8."""


class Cipher:
    """AES-XTS under one key of 32, 48 or 64 bytes: K1, the data key, then K2, the tweak key.

    A data unit has at least 16 bytes and, unless `allow_long_units`, at most 2^20 blocks; its tweak is 16
    bytes or an int, the number of the sector. Equal key halves are refused unless `allow_equal_halves`.
    `implementation` is a full name, an instruction set, or what AESKIT_IMPLEMENTATION says.

    Threads may share a Cipher; data units in sequence, each tweak the next number, are fastest from one.
    """

    def __init__(
        self,
        key: BytesLike,
        *,
        implementation: str | None = None,
        allow_equal_halves: bool = False,
        allow_long_units: bool = False,
    ) -> None:
        """Expand the key; ValueError for its length, equal halves, or an implementation that cannot run."""
        self.implementations = for_cipher("xts", "encrypt", "decrypt", implementation=implementation)
        self._encrypt, self._decrypt = (_way(row) for row in self.implementations)
        self._cipher = xts_cipher(key, allow_equal_halves)
        ivs = choose("ecb", "encrypt", force=self.implementations[0].instruction_set)
        self._cipher.encrypt_ivs = ivs.function
        self._cipher.limit = _UNLIMITED if allow_long_units else MAX_UNIT

    def encrypt(self, data: BytesLike, tweak: Tweak) -> bytes:
        """The ciphertext of one data unit, of its length."""
        source = readable(data)
        result = fresh(len(source))
        self._run(self._encrypt, source, result, tweak)
        return result

    def decrypt(self, data: BytesLike, tweak: Tweak) -> bytes:
        """The plaintext of one data unit, of its length."""
        source = readable(data)
        result = fresh(len(source))
        self._run(self._decrypt, source, result, tweak)
        return result

    def encrypt_into(self, data: BytesLike, destination: BytesLike, tweak: Tweak) -> None:
        """Write the ciphertext to `destination`, of the same size: the data itself or apart from it."""
        self._run(self._encrypt, readable(data), writable(destination), tweak)

    def decrypt_into(self, data: BytesLike, destination: BytesLike, tweak: Tweak) -> None:
        """Write the plaintext to `destination`, of the same size: the data itself or apart from it."""
        self._run(self._decrypt, readable(data), writable(destination), tweak)

    def encrypt_sectors(
        self, data: BytesLike, first_sector: int, sector_size: int, *, threads: int = 1
    ) -> bytes:
        """Encrypt consecutive data units of `sector_size` bytes, numbered from `first_sector`, in one call.

        `data` is a multiple of `sector_size`, which is at least 16; each sector's number, below 2^64, is its
        tweak. Several `threads` share the sectors; they pay from about 1 MiB a thread.
        """
        source = readable(data)
        result = fresh(len(source))
        self._run_sectors(self._encrypt, source, result, first_sector, sector_size, threads)
        return result

    def decrypt_sectors(
        self, data: BytesLike, first_sector: int, sector_size: int, *, threads: int = 1
    ) -> bytes:
        """Decrypt what `encrypt_sectors` encrypted."""
        source = readable(data)
        result = fresh(len(source))
        self._run_sectors(self._decrypt, source, result, first_sector, sector_size, threads)
        return result

    def encrypt_sectors_into(
        self,
        data: BytesLike,
        destination: BytesLike,
        first_sector: int,
        sector_size: int,
        *,
        threads: int = 1,
    ) -> None:
        """Write what `encrypt_sectors` gives to `destination`: the data itself or apart from it."""
        source, result = readable(data), writable(destination)
        self._run_sectors(self._encrypt, source, result, first_sector, sector_size, threads)

    def decrypt_sectors_into(
        self,
        data: BytesLike,
        destination: BytesLike,
        first_sector: int,
        sector_size: int,
        *,
        threads: int = 1,
    ) -> None:
        """Write what `decrypt_sectors` gives to `destination`: the data itself or apart from it."""
        source, result = readable(data), writable(destination)
        self._run_sectors(self._decrypt, source, result, first_sector, sector_size, threads)

    def encrypt_unit(self, tweak: Tweak) -> DataUnit:
        """One data unit to encrypt in pieces."""
        return DataUnit(self._encrypt, self._cipher, _tweak(tweak))

    def decrypt_unit(self, tweak: Tweak) -> DataUnit:
        """One data unit to decrypt in pieces."""
        return DataUnit(self._decrypt, self._cipher, _tweak(tweak))

    def _run(self, way: Any, source: Any, destination: Any, tweak: Tweak) -> None:
        length, room, iv = len(source), len(destination), _tweak(tweak)
        if refusal := lib.core_xts(self._cipher, way, source, length, destination, room, iv):
            raise refuse(refusal, length, room)

    def _run_sectors(
        self, way: Any, source: Any, destination: Any, first: int, size: int, threads: int
    ) -> None:
        length, room = len(source), len(destination)
        cipher = self._cipher
        if type(first) is type(size) is type(threads) is int and 0 < threads <= MAX_THREADS:
            try:
                if not lib.core_xts_sectors(
                    cipher, way, source, length, destination, room, first, size, threads
                ):
                    return
            except OverflowError:
                pass  # what was refused is said below
        first, size = _sector_number(first, "first_sector"), _sector_size(size, cipher.limit)
        call = (cipher, way, source, length, destination, room, first, size, _thread_count(threads))
        refusal = lib.core_xts_sectors(*call)
        if refusal == lib.REFUSED_PARTIAL_SECTOR:
            raise ValueError(f"data must be a multiple of the sector size, {size} bytes, not {length}")
        if refusal == lib.REFUSED_SECTOR_NUMBER:
            last = first + length // size - 1
            raise ValueError(f"sector numbers must be below 2^64; the last of these would be {last}")
        if refusal:
            raise refuse(refusal, length, room)


class DataUnit:
    """One data unit in pieces, each turned into as many bytes as it has.

    Every piece but the last is a multiple of 16 bytes (`update`). A partial block at the end must come with
    the whole block before it, from which it steals: so the last piece (`finish`) is of any length from 16.
    Calls from several threads follow one another.
    """

    def __init__(self, way: Any, cipher: Any, tweak: bytes) -> None:
        """Begin with the unit's tweak; made by `Cipher.encrypt_unit` and `decrypt_unit`."""
        self._way, self._cipher, self._lock = way, cipher, Lock()
        self._ended = False
        self._state = secret("struct xts_unit *")
        ffi.memmove(self._state.tweak, tweak, len(tweak))

    @property
    def position(self) -> int:
        """The bytes of the data unit done so far."""
        return int(self._state.position)

    def update(self, piece: BytesLike) -> bytes:
        """Take a piece that is not the last: a multiple of 16 bytes, at least 16."""
        source = readable(piece, "piece")
        result = fresh(len(source))
        self._run(source, result, last=False)
        return result

    def update_into(self, piece: BytesLike, destination: BytesLike) -> None:
        """Write what `update` gives to `destination`: the piece itself or apart from it."""
        self._run(readable(piece, "piece"), writable(destination), last=False)

    def finish(self, piece: BytesLike) -> bytes:
        """Take the last piece: at least 16 bytes, the last whole block together with the tail."""
        source = readable(piece, "piece")
        result = fresh(len(source))
        self._run(source, result, last=True)
        return result

    def finish_into(self, piece: BytesLike, destination: BytesLike) -> None:
        """Write what `finish` gives to `destination`: the piece itself or apart from it."""
        self._run(readable(piece, "piece"), writable(destination), last=True)

    def _run(self, source: Any, destination: Any, last: bool) -> None:
        length, room = len(source), len(destination)
        with self._lock:
            if self._ended:
                raise ValueError("this data unit has ended: its last piece has been taken")
            call = (self._cipher, self._way, source, length, destination, room, self._state)
            refusal = lib.core_xts_piece(*call, last)
            self._ended = last and not refusal
        if refusal == lib.REFUSED_SHORT and last:
            raise ValueError(
                f"the last whole block must travel with the tail: 16 bytes or more, not {length}"
            )
        if refusal in (lib.REFUSED_SHORT, lib.REFUSED_PARTIAL_BLOCK):
            raise ValueError(
                f"every piece but the last must be a multiple of 16 bytes, at least 16, not {length}"
            )
        if refusal:
            whole = self.position + length if refusal == lib.REFUSED_LONG else length
            raise refuse(refusal, whole, room)


def _way(unit: Implementation) -> Any:
    """The `struct xts_way` of one direction."""
    return ffi.new("struct xts_way *", native_way(unit, beside(unit, "xts_sectors")))


def native_way(unit: Implementation | None, sectors: Implementation | None) -> tuple[Any, Any, int]:
    """The fields of a `struct xts_way`: for data units of any size, and for sectors in a row."""
    single, row = (one.function if one else ffi.NULL for one in (unit, sectors))
    return single, row, _ROW_MOST[sectors.vl] if sectors else 0


def _tweak(tweak: Tweak) -> bytes:
    if type(tweak) is bytes and len(tweak) == 16:
        return tweak
    if type(tweak) is int or isinstance(tweak, Integral):
        return _sector_number(tweak, "tweak").to_bytes(16, "little")
    return block(tweak, "tweak")


def _sector_number(number: Any, name: str) -> int:
    value = _integer(number, name)
    if not 0 <= value < _SECTORS:
        raise ValueError(f"{name} must be a sector number from 0 to 2^64 - 1, not {value}")
    return value


def _sector_size(size: int, limit: int) -> int:
    value = _integer(size, "sector_size")
    if value < 16:
        raise ValueError(f"sector_size must be at least 16 bytes, not {value}")
    if value > limit:
        raise refuse(lib.REFUSED_LONG, value, value)
    return value


def _thread_count(threads: int) -> int:
    value = _integer(threads, "threads")
    if not 1 <= value <= MAX_THREADS:
        raise ValueError(f"threads must be from 1 to {MAX_THREADS}, not {value}")
    return value


def _integer(number: Any, name: str) -> int:
    """The number: not that of a bool, nor of an array without dimensions, which can only be mistakes."""
    if type(number) is int:
        return number
    if isinstance(number, bool) or not isinstance(number, Integral):
        raise TypeError(f"{name} must be an int, not {type(number).__name__}")
    return int(number)
