"""The table of vectors as a Jupyter widget; `vector_table` has what it shows.

Needs anywidget: ``pip install 'aeskit[lab]'``.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from aeskit.vectors import TestVector, VectorSet
from aeskit.views import vector_table as shown

try:
    import traitlets
    from anywidget import AnyWidget
except ImportError as error:
    raise ImportError(f"the widgets need {error.name}: pip install 'aeskit[lab]'") from None

_HERE = Path(__file__).parent


class VectorTable(AnyWidget):
    """Rows to filter and to open; `chosen` is the number of the open one in the set, -1 for none."""

    _esm = _HERE / "vector_table.js"
    _css = _HERE / "vector_table.css"

    columns = traitlets.List(traitlets.Unicode()).tag(sync=True)
    rows = traitlets.List(traitlets.Dict()).tag(sync=True)
    flags = traitlets.List(traitlets.Dict()).tag(sync=True)
    total = traitlets.Int().tag(sync=True)
    chosen = traitlets.Int(-1).tag(sync=True)

    def __init__(self, vectors: VectorSet | Sequence[TestVector]) -> None:
        """Show a set; beyond `vector_table.MAX_ROWS` its first vectors."""
        meanings = vectors.flags if isinstance(vectors, VectorSet) else {}
        self._vectors = tuple(vectors)
        few = self._vectors[: shown.MAX_ROWS]
        super().__init__(
            columns=list(shown.COLUMNS),
            rows=shown.data(few),
            flags=shown.flags_of(few, meanings),
            total=len(self._vectors),
        )

    @property
    def vector(self) -> TestVector | None:
        """The vector whose row is open."""
        return self._vectors[self.chosen] if 0 <= self.chosen < len(self._vectors) else None

    @traitlets.validate("chosen")
    def _in_range(self, proposal: Any) -> int:
        """What the browser sends must be a row."""
        number = int(proposal["value"])
        if not -1 <= number < len(self._vectors):
            raise traitlets.TraitError(f"chosen must be from -1 to {len(self._vectors) - 1}, not {number}")
        return number

    def _repr_mimebundle_(self, **kwargs: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        """The widget, and a table and text for where it cannot run."""
        made = super()._repr_mimebundle_(**kwargs) or ({}, {})
        fallback = {"text/plain": shown.text(self._vectors), "text/html": shown.table(self._vectors)}
        return {**made[0], **fallback}, made[1]
