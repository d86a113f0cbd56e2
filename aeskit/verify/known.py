"""Known answers: the vectors of data/vectors as cases of their own, both directions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache

from aeskit import data
from aeskit.vectors import TestVector, read
from aeskit.verify import oracle
from aeskit.verify.differential import Expected
from aeskit.verify.inputs import Inputs


@dataclass(frozen=True, slots=True)
class Known:
    """One vector in one direction."""

    file: str
    direction: str
    vector: TestVector

    @property
    def mode(self) -> str:
        """The vector's."""
        return self.vector.mode

    @property
    def length(self) -> int:
        """Bytes of the data; for the mode ``keys``, of the key."""
        return len(self.vector.key if self.mode == "keys" else self.vector.plaintext)

    @property
    def title(self) -> str:
        """As findings write it: ``IEEE Std 1619-2018, annex B, vector 15``."""
        return f"{self.vector.source}, {self.vector.clause}"


def every(mode: str, direction: str) -> Iterator[Known]:
    """The vectors of a mode, in the order of the files."""
    for file, vectors in files().items():
        yield from (Known(file, direction, vector) for vector in vectors if vector.mode == mode)


def inputs(known: Known) -> Inputs:
    """What the vector gives to a function of its direction."""
    vector = known.vector
    text = vector.ciphertext if known.direction == "decrypt" else vector.plaintext
    text = vector.key if known.mode == "keys" else text
    return Inputs(known.mode, known.direction, vector.key, vector.iv, text, vector.stealing)


def expected(known: Known) -> Expected:
    """The vector's own answer; what its standard leaves open (what continues a message) is the peer's."""
    vector, answer = known.vector, oracle.expected(inputs(known))
    if known.mode == "keys":
        assert answer.text is not None
        return Expected(vector.schedule + answer.text[len(vector.schedule) :], None)
    text = vector.plaintext if known.direction == "decrypt" else vector.ciphertext
    return replace(answer, text=text, iv=vector.iv_after or answer.iv)


@cache
def files() -> dict[str, tuple[TestVector, ...]]:
    """File name to vectors, of all that the package carries."""
    paths = [path for path in data.folder("vectors").iterdir() if path.name.endswith(".json")]
    return {path.name: read(path).vectors for path in sorted(paths, key=lambda path: path.name)}
