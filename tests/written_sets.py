"""Our published sets, as a format writes them."""

from aeskit import data
from aeskit.vectors import read
from aeskit.vectors.files import text_pieces

OURS = data.folder("vectors") / "ours"
SETS = {
    mode: read(OURS / f"{mode}.json") for mode in ("xts", "ctr", "cbc", "cts", "ecb", "keys", "lrw", "pcbc")
}


def written(vectors, form):
    pieces, refused = text_pieces(vectors, form, title="the edges", flags=getattr(vectors, "flags", None))
    names = {name for names in refused.values() for name in names}
    return "".join(pieces), [vector for vector in vectors if vector.name not in names], refused


def as_hex(vectors):
    blank = [(v.key, v.iv, v.plaintext, v.ciphertext, v.iv_after or b"") for v in vectors]
    return [[data.hex() for data in row] for row in blank]
