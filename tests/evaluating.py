"""Expressions of the GF(2) domain by their definition: the values that they have for given inputs."""

from aeskit.models import aes


def number_of(byte, mask):
    """Which of the values that the bits of a mask can have, in rising order, a byte has there."""
    return [value for value in range(256) if value & ~mask == 0].index(byte & mask)


def index_bit(expressions, coordinate, inputs):
    _, name, index, mask = expressions.atoms[coordinate[0]]
    return number_of(inputs[name][index], mask) >> coordinate[1] & 1


def evaluate(expressions, byte, inputs):
    """A byte's value for inputs given as {name: bytes}, by the definition of an expression."""
    out = byte & 0xFF
    for atom, matrix in expressions.terms[byte >> 8]:
        what = expressions.atoms[atom]
        if what[0] == "input":
            value = inputs[what[1]][what[2]]
        elif what[0] == "index":
            value = number_of(inputs[what[1]][what[2]], what[3])
        elif what[0] == "and":
            value = all(index_bit(expressions, c, inputs) for c in what[1])
        elif what[0] == "chosen":
            value = evaluate(expressions, what[2], inputs) * evaluate(expressions, what[1], inputs)
        elif what[0] == "sum":
            base = int.from_bytes(bytes(evaluate(expressions, b, inputs) for b in what[1]), "little")
            value = (base + what[2]) >> 8 * what[3] & 0xFF
        elif what[0] == "high":
            high, low = (bytes(evaluate(expressions, b, inputs) for b in word) for word in what[1:3])
            carry = int.from_bytes(low, "little") + what[3] >> 64
            value = int.from_bytes(high, "little") + carry >> 8 * what[4] & 0xFF
        elif what[0] == "form":
            terms = ((bytes(evaluate(expressions, b, inputs) for b in word), k) for word, k in what[1])
            value = sum(int.from_bytes(w, "little") * k for w, k in terms) >> 8 * what[2] & 0xFF
        elif what[0] == "plus":
            both = (bytes(evaluate(expressions, b, inputs) for b in word) for word in what[1:3])
            value = sum(int.from_bytes(w, "little") for w in both) >> 8 * what[3] & 0xFF
        else:
            value = (aes.SBOX if what[0] == "forward" else aes.INV_SBOX)[
                evaluate(expressions, what[1], inputs)
            ]
        for bit in range(8):
            if value >> bit & 1:
                out ^= matrix >> 8 * bit & 0xFF
    return out
