"""A small file of every format that is read, and what is told of a broken one."""

import json

K, B = "00" * 16, "11" * 16

AESKIT = json.dumps(
    {
        "aeskit_vectors": 1,
        "source": "here",
        "vectors": [
            {
                "name": "one",
                "mode": "ctr",
                "clause": "1",
                "key": K,
                "iv": B,
                "plaintext": "00",
                "ciphertext": "ff",
            }
        ],
    },
    indent=1,
)

WYCHEPROOF = json.dumps(
    {
        "algorithm": "AES-XTS",
        "schema": "ind_cpa_test_schema_v1.json",
        "numberOfTests": 1,
        "header": ["a header"],
        "notes": {"Edge": {"bugType": "EDGE_CASE", "description": "an edge"}},
        "testGroups": [
            {
                "type": "IndCpaTest",
                "source": {"name": "somebody", "version": "0.9"},
                "keySize": 256,
                "ivSize": 64,
                "tests": [
                    {
                        "tcId": 1,
                        "comment": "one",
                        "flags": ["Edge"],
                        "key": K + B,
                        "iv": "22" * 8,
                        "msg": "33" * 17,
                        "ct": "44" * 17,
                        "result": "valid",
                    }
                ],
            }
        ],
    },
    indent=1,
)

ACVP = json.dumps(
    [
        {"acvVersion": "1.0"},
        {
            "vsId": 7,
            "algorithm": "ACVP-AES-CTR",
            "revision": "1.0",
            "isSample": True,
            "testGroups": [
                {
                    "tgId": 1,
                    "testType": "AFT",
                    "direction": "encrypt",
                    "keyLen": 128,
                    "tests": [{"tcId": 2, "key": K, "iv": B, "payloadLen": 9, "pt": "8080"}],
                }
            ],
        },
    ],
    indent=1,
)

ACVP_ANSWERS = json.dumps(
    [{"acvVersion": "1.0"}, {"vsId": 7, "testGroups": [{"tgId": 1, "tests": [{"tcId": 2, "ct": "0080"}]}]}],
    indent=1,
)

CAVP = f"""# CAVS 11.1
# data for CBC

[ENCRYPT]

COUNT = 0
KEY = {K}
IV = {B}
PLAINTEXT = {B}
CIPHERTEXT = {K}

[DECRYPT]

COUNT = 0
KEY = {K}
IV = {B}
CIPHERTEXT = {B}
PLAINTEXT = {K}
"""

EVPTEST = f"""# a comment
Title = A title

# of the stanza
Cipher = aes-128-cbc-cts
CTSMode = CS3
Key = {K}
IV = {B}
Plaintext = "0123456789abcdef\\x01"
Ciphertext = {"22" * 17}
NextIV = {B}

Cipher = AES-128-XTS
Operation = ENCRYPT
Key = {K}{K}
IV = {B}
Plaintext = {B}
Ciphertext = {B}
Result = KEY_SET_ERROR
"""

KERNEL = r"""
#include <linux/types.h>
static const struct cipher_testvec aes_cbc_tv_template[] = {
	{ /* a comment */
		.key	= "\x00\x00\x00\x00\x00\x00\x00\x00"
			"\x00\x00\x00\x00\x00\x00\x00\x00",
		.klen	= 16,
		.iv	= "\x11\x11\x11\x11\x11\x11\x11\x11\x11\x11\x11\x11\x11\x11\x11\x11",
		.iv_out	= "\x22\x22\x22\x22\x22\x22\x22\x22\x22\x22\x22\x22\x22\x22\x22\x22",
		.ptext	= "Single block msg",
		.ctext	= "\x22\x22\x22\x22\x22\x22\x22\x22\x22\x22\x22\x22\x22\x22\x22\x22",
		.len	= 16,
	}, {
		.key	= "\0",
		.klen	= 1,
		.setkey_error = -EINVAL,
	},
};
static const struct cipher_testvec serpent_tv_template[] = { { .key = "a", .klen = 1, }, };
"""

FILES = {
    "aeskit": AESKIT,
    "wycheproof": WYCHEPROOF,
    "acvp": ACVP,
    "cavp": CAVP,
    "evptest": EVPTEST,
    "kernel": KERNEL,
}
"""Format to a file of it."""
