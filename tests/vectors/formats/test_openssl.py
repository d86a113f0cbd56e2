"""evptest stanzas that we write, sent through this machine's libcrypto as its own evp_test sends them."""

import ctypes
import ctypes.util
import re

import pytest

from aeskit import data
from aeskit.vectors import read
from aeskit.vectors.files import text_pieces


class Parameter(ctypes.Structure):
    """OSSL_PARAM."""

    _fields_ = [
        ("key", ctypes.c_char_p),
        ("data_type", ctypes.c_uint),
        ("data", ctypes.c_void_p),
        ("data_size", ctypes.c_size_t),
        ("return_size", ctypes.c_size_t),
    ]


UTF8, UNMODIFIED = 4, ctypes.c_size_t(-1).value


@pytest.fixture(scope="module")
def libcrypto():
    found = ctypes.util.find_library("crypto")
    library = ctypes.CDLL(found) if found else None
    if library is None or not hasattr(library, "EVP_CIPHER_fetch"):
        pytest.skip("needs libcrypto of OpenSSL 3")
    for name in ("EVP_CIPHER_fetch", "EVP_CIPHER_CTX_new"):
        getattr(library, name).restype = ctypes.c_void_p
    return library


def stanzas(text):
    for block in re.split(r"\n\n+", text):
        lines = [line for line in block.splitlines() if line and not line.startswith("#")]
        if lines:
            yield dict(line.split(" = ", 1) for line in lines)


def run(library, stanza, encrypting):
    """The result and what continues the message."""
    cipher = ctypes.c_void_p(library.EVP_CIPHER_fetch(None, stanza["Cipher"].encode(), None))
    assert cipher, stanza["Cipher"]
    context = ctypes.c_void_p(library.EVP_CIPHER_CTX_new())
    mode = ctypes.create_string_buffer(stanza.get("CTSMode", "").encode())
    parameters = (Parameter * 2)()
    if "CTSMode" in stanza:
        size = len(mode.value)
        parameters[0] = Parameter(b"cts_mode", UTF8, ctypes.addressof(mode), size, UNMODIFIED)
    key, iv = bytes.fromhex(stanza["Key"]), bytes.fromhex(stanza.get("IV", "")) or None
    given = bytes.fromhex(stanza["Plaintext" if encrypting else "Ciphertext"])
    assert library.EVP_CipherInit_ex2(context, cipher, key, iv, int(encrypting), parameters)
    assert library.EVP_CIPHER_CTX_set_padding(context, 0)
    out, first, last = ctypes.create_string_buffer(len(given) + 32), ctypes.c_int(), ctypes.c_int()
    assert library.EVP_CipherUpdate(context, out, ctypes.byref(first), given, len(given))
    assert library.EVP_CipherFinal_ex(context, ctypes.byref(out, first.value), ctypes.byref(last))
    after = ctypes.create_string_buffer(16)
    assert library.EVP_CIPHER_CTX_get_updated_iv(context, after, ctypes.c_size_t(16)) or not iv
    library.EVP_CIPHER_CTX_free(context)
    library.EVP_CIPHER_free(cipher)
    return out.raw[: first.value + last.value], after.raw


@pytest.mark.parametrize("mode", ["xts", "ctr", "cbc", "cts", "ecb"])
def test_every_stanza(libcrypto, mode):
    vectors = read(data.folder("vectors") / "ours" / f"{mode}.json").vectors
    pieces, refused = text_pieces(vectors, "evptest", title="the edges")
    written = list(stanzas("".join(pieces)))
    assert len(written) == len(vectors) - sum(map(len, refused.values()))
    for stanza in written:
        for encrypting, wanted in ((True, "Ciphertext"), (False, "Plaintext")):
            result, after = run(libcrypto, stanza, encrypting)
            assert result.hex() == stanza[wanted], stanza
            if "NextIV" in stanza:
                assert after.hex() == stanza["NextIV"]
