"""Source code and headers that we write, by compilers: they hold the right bytes."""

import shutil
import subprocess

import pytest
from written_sets import SETS, as_hex, written

PRELUDE = r"""
#include <stdio.h>
#include <errno.h>
struct cipher_testvec {
	const char *key, *iv, *iv_out, *ptext, *ctext;
	unsigned short klen;
	unsigned int len;
	int setkey_error, crypt_error;
};
static void hex(const void *data, unsigned long size)
{
	for (unsigned long i = 0; data && i < size; i++)
		printf("%02x", ((const unsigned char *)data)[i]);
	printf(" ");
}
"""


def compiled(tmp_path, source, name):
    compiler = shutil.which(name) or pytest.skip(f"needs {name}")
    (tmp_path / "a.c").write_text(source)
    flags = [
        "-std=c99",
        "-pedantic",
        "-Wall",
        "-Wextra",
        "-Werror",
        "-Wno-unused-variable",
        "-Wno-missing-field-initializers",
    ]
    subprocess.run([compiler, *flags, "-o", tmp_path / "a", tmp_path / "a.c"], check=True, timeout=60)
    ran = subprocess.run([tmp_path / "a"], check=True, capture_output=True, text=True, timeout=60)
    return [line.split(" ")[:5] for line in ran.stdout.splitlines()]


COMPILERS = pytest.mark.parametrize("compiler", ["gcc", "clang"])


@COMPILERS
@pytest.mark.parametrize("mode", ["xts", "cts", "ecb"])
def test_kernel_header_by_a_c_compiler(tmp_path, mode, compiler):
    text, kept, _ = written(SETS[mode], "kernel")
    name = {"xts": "aes_xts", "cts": "cts_mode", "ecb": "aes"}[mode] + "_tv_template"
    main = f"""int main(void)
{{
	for (unsigned long i = 0; i < sizeof({name}) / sizeof({name}[0]); i++) {{
		const struct cipher_testvec *v = &{name}[i];
		hex(v->key, v->klen); hex(v->iv, v->iv ? 16 : 0); hex(v->ptext, v->len); hex(v->ctext, v->len);
		hex(v->iv_out, 16); printf("\\n");
	}}
	return 0;
}}
"""
    assert compiled(tmp_path, PRELUDE + text + main, compiler) == as_hex(kept)


@COMPILERS
def test_c_arrays_by_a_c_compiler(tmp_path, compiler):
    vectors = [vector for mode in ("xts", "ecb", "keys") for vector in SETS[mode].vectors[::7]]
    text, kept, _ = written(vectors, "c")
    main = """int main(void)
{
	for (size_t i = 0; i < aeskit_vector_count; i++) {
		const struct aeskit_vector *v = &aeskit_vectors[i];
		hex(v->key, v->key_size); hex(v->iv, v->iv_size); hex(v->plaintext, v->plaintext_size);
		hex(v->ciphertext, v->ciphertext_size); hex(v->iv_after, v->iv_after_size); printf("\\n");
	}
	return 0;
}
"""
    assert compiled(tmp_path, PRELUDE + text + main, compiler) == as_hex(kept)


HEX_LITERAL = """
#[macro_export]
macro_rules! hex { ($s:literal) => {{ const B: [u8; $s.len() / 2] = $crate::decode($s); B }} }
pub const fn decode<const N: usize>(s: &str) -> [u8; N] {
    let (text, mut out, mut i) = (s.as_bytes(), [0u8; N], 0);
    while i < N { out[i] = digit(text[2 * i]) << 4 | digit(text[2 * i + 1]); i += 1; }
    out
}
const fn digit(c: u8) -> u8 { if c <= b'9' { c - b'0' } else { c - b'a' + 10 } }
"""
RUST_MAIN = """
fn main() {
    for v in VECTORS {
        for bytes in [v.key, v.iv, v.plaintext, v.ciphertext, v.iv_after] {
            for byte in bytes { print!("{:02x}", byte); }
            print!(" ");
        }
        println!("{}", v.name);
    }
}
"""


def test_rust_by_its_compiler(tmp_path):
    """With a stand-in for the crate hex-literal, which has the same macro."""
    compiler = shutil.which("rustc") or pytest.skip("needs rustc")
    vectors = [vector for mode in ("xts", "cts", "keys") for vector in SETS[mode].vectors[::7]]
    text, kept, _ = written(vectors, "rust")
    (tmp_path / "hex_literal.rs").write_text(HEX_LITERAL)
    (tmp_path / "main.rs").write_text(text + RUST_MAIN)
    for source, *more in (
        ("hex_literal.rs", "--crate-type=rlib"),
        ("main.rs", "--extern=hex_literal=libhex_literal.rlib", "-Adead_code"),
    ):
        command = [compiler, "--edition=2021", "-Dwarnings", *more, source]
        subprocess.run(command, cwd=tmp_path, check=True, timeout=120)
    ran = subprocess.run([tmp_path / "main"], check=True, capture_output=True, text=True, timeout=60)
    lines = [line.split(" ", 5) for line in ran.stdout.splitlines()]
    assert [line[:5] for line in lines] == as_hex(kept)
    assert [line[5] for line in lines] == [vector.name for vector in kept]
