"""What can stop the lane machine; every message names the place and what must be."""

from __future__ import annotations


class MachineError(ValueError):
    """The base of all: the machine cannot go on."""


class LoadError(MachineError):
    """A file that is no x86-64 object, library or program, or a broken one."""


class NotDefined(LoadError):
    """A call of a function that the file names, but does not define: what it does is not known."""


class UnknownInstruction(MachineError):
    """An instruction that the semantics table lacks: mnemonic, address, bytes, source line."""


class MemoryFault(MachineError):
    """An access outside every region, or one that the region does not permit."""

    def __init__(self, kind: str, address: int, size: int, where: str) -> None:
        """`kind` is read, write or execute; `where` says what lies nearest."""
        super().__init__(f"{kind} of {size} bytes at {address:#x}: {where}")
        self.kind, self.address, self.size = kind, address, size


class StepLimit(MachineError):
    """More steps than the run was given."""


class OutsideDomain(MachineError):
    """A step that is no linear map, substitution or counter: the GF(2) domain cannot follow."""


class SecretDependence(OutsideDomain):
    """A branch, an address or a length that depends on something that may be secret or was never set."""
