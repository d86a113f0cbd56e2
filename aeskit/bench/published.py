"""What the authors of the original implementations measured on their machines (data/figures), as rows."""

from __future__ import annotations

import csv
from dataclasses import dataclass

from aeskit import data


@dataclass(frozen=True)
class Published:
    """One measurement: on which CPU, of what, in the unit of its file."""

    cpu: str
    name: str
    size: int
    value: float

    @property
    def label(self) -> str:
        """CPU and implementation on one line."""
        return f"{self.cpu}, {self.name}"


def xts_mb_per_s() -> list[Published]:
    """AES-256-XTS encryption of 4,096-byte messages on Ice Lake, in MB/s."""
    rows = _rows("xts_icelake_mb_per_s.csv")
    return [
        Published(
            row["cpu"],
            row["implementation"].removeprefix("xts-aes-"),
            int(row["message_bytes"]),
            float(row["mb_per_s"]),
        )
        for row in rows
    ]


def xts_gain_percent(size: int) -> list[Published]:
    """What newer AES-256-XTS code gained over the AES-NI code before it: percent, at 512 or 4,096 bytes."""
    column = f"gain_percent_{size}_bytes"
    rows = _rows("xts_throughput_gain_percent.csv")
    return [Published(row["cpu"], "newer over AES-NI", size, float(row[column])) for row in rows]


def ctr_cycles(key_bits: int = 256) -> list[Published]:
    """AES-CTR encryption, four and eight blocks at a time, in cycles an operation."""
    rows = _rows("ctr_by8_tcrypt_cycles.csv")
    return [
        Published(
            row["cpu"], row["implementation"], int(row["message_bytes"]), float(row["cycles_per_operation"])
        )
        for row in rows
        if row["operation"] == "encrypt" and int(row["key_bits"]) == key_bits
    ]


def _rows(file: str) -> list[dict[str, str]]:
    return list(csv.DictReader(data.text("figures", file).splitlines()))
