"""What the tests of the modes share: the standards' vectors and an arithmetic that shows nothing."""

from dataclasses import dataclass

import numpy as np

from aeskit import data
from aeskit.models.arithmetic import Arithmetic, choose
from aeskit.vectors import read

plain = choose("plain")


def vectors(file, mode):
    return [vector for vector in read(data.folder("vectors") / file) if vector.mode == mode]


def name(vector):
    return vector.name


@dataclass(frozen=True)
class Sealed:
    """A string without one operation: a model that looked inside would fail."""

    _inside: bytes


class Opaque(Arithmetic[Sealed]):
    """Only what a symbolic arithmetic must define; every block comes alone."""

    def string(self, data):
        return Sealed(data)

    def value(self, string):
        return string._inside

    def length(self, string):
        return len(string._inside)

    def part(self, string, start, stop):
        assert 0 <= start <= stop <= len(string._inside)
        return Sealed(string._inside[start:stop])

    def join(self, *strings):
        return Sealed(b"".join(string._inside for string in strings))

    def xor(self, left, right):
        return Sealed(plain.xor(left._inside, right._inside))

    def sub_bytes(self, string):
        return Sealed(plain.sub_bytes(string._inside))

    def inv_sub_bytes(self, string):
        return Sealed(plain.inv_sub_bytes(string._inside))

    def linear(self, body, string):
        assert len(string._inside) == 16
        return Sealed(body(np.frombuffer(string._inside, np.uint8)).tobytes())

    def counters(self, block, count):
        return Sealed(plain.counters(block._inside, count))
