"""Native functions with a fault put on top, and the least around them: what a verifier must find."""

from functools import partial

import pytest

from aeskit import implementations
from aeskit.cpu import detect
from aeskit.verify import run
from aeskit.verify.cases import Case
from aeskit.verify.report import Report, Row
from aeskit.verify.runner import Fault, NativeRunner
from aeskit.verify.worker import Chunk

LENGTH = 33
"""The one length at which a faulty function is faulty."""


def flip(call, key, source, destination, length, *rest):
    call()
    destination[20] ^= 0x43


def past(call, key, source, destination, length, *rest):
    call()
    destination[length] = 0x5A


def before(call, key, source, destination, length, *rest):
    call()
    destination[-3] = 0x5A


def wrong_iv(call, key, source, destination, length, iv, *rest):
    call()
    iv[15] ^= 1


def read_past(call, key, source, destination, length, *rest):
    call()
    return source[length]


def read_before(call, key, source, destination, length, *rest):
    call()
    return source[-1]


def change_source(call, key, source, destination, length, *rest):
    call()
    if source != destination:
        source[16] ^= 0xFF


def change_key(call, key, source, destination, length, *rest):
    call()
    key.encrypt[7] ^= 1


def aliased(call, key, source, destination, length, *rest):
    """Write the tail before it is read: wrong in place only."""
    destination[length - 1] = 0
    call()


def nothing(call, *arguments):
    """Forget to do anything."""


def hang(call, *arguments):
    while True:
        pass


def leave(call, *arguments):
    raise SystemExit(3)


def raise_error(call, *arguments):
    raise ZeroDivisionError("an error of the checks themselves")


def fault(call, *arguments):
    raise Fault("read of 1 byte at source + 33")


class FaultyRunner(NativeRunner):
    """The native core with a fault on every function at one length."""

    def __init__(self, added, length=LENGTH):
        super().__init__()
        self.added, self.length = added, length

    def function(self, name):
        real = super().function(name)

        def wrapped(*arguments):
            if arguments[3] == self.length:
                self.added(partial(real, *arguments), *arguments)
            else:
                real(*arguments)

        return wrapped


def needed(name):
    """The name, if this CPU can run the implementation; a skip that names what is missing otherwise."""
    missing = implementations.named(name).can(detect())
    if missing:
        pytest.skip(f"{name} needs {detect().explain(missing)}")
    return name


def report(added, function, *problems, level="full"):
    """The report of these cases on one function with that fault."""
    row = implementations.named(needed(function))
    problems = problems or (Case(row.mode, row.direction, 256, LENGTH),)
    rows = [Row(function), Row(f"model_{row.mode}")]
    found = Report(level, "this CPU", rows)
    run.execute(found, [Chunk(problems, (function,), (0, 1), level)], None, partial(FaultyRunner, added))
    return found
