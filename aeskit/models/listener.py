"""How a mode tells its listener what it set: the standard's formula, its clause and the named values."""

from __future__ import annotations

from typing import Generic, TypeVar

from aeskit.models.arithmetic import Arithmetic
from aeskit.trace import Note

S = TypeVar("S")


class Listener(Generic[S]):
    """Calls `note` with the index in place of j: ``PP_j`` becomes ``PP_3``. Silent without a `note`."""

    def __init__(self, a: Arithmetic[S], note: Note | None, standard: str) -> None:
        """Tell `note` of values of the arithmetic `a`; every place begins with `standard`."""
        self.a, self.note, self.standard = a, note, standard

    def __call__(
        self, clause: str, formula: str, j: int | None = None, phase: str = "", /, **values: S
    ) -> None:
        """Tell that the step `formula` of `clause` set `values`; with `j` each name gets that index."""
        if self.note is None:
            return
        place = f"{self.standard}, {clause}" if clause else self.standard
        if j is not None:
            formula = formula.replace("_j-1", f"_{j - 1}").replace("_j", f"_{j}").replace("^j", f"^{j}")
            values = {f"{name}_{j}": value for name, value in values.items()}
            phase = phase or f"block {j}"
        self.note(formula, place, phase, **{name: self.a.value(value) for name, value in values.items()})
