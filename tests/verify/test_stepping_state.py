"""Static state in a stepped run: no contract speaks of it."""

import pytest

from aeskit.verify.calls import Given
from aeskit.verify.stepping import trace


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("mov constant(%rip), %rax", ""),
        ("mov state(%rip), %rax", "a read of 8 bytes of .data, which other calls may have written"),
        ("movq $0, state(%rip)", "a write of 8 bytes to .data, which is to be read only"),
    ],
)
def test_a_writable_section_is_no_place_for_a_cipher(tmp_path, body, told):
    path = tmp_path / "state.S"
    data = ".data\nstate: .quad 7\n.section .rodata\nconstant: .quad 7\n.text\n"
    path.write_text(f"{data}.globl f\n.type f, @function\nf:\n{body}\nret\n")
    made = trace(f"{path}:f", "ecb_encrypt", Given(0, 16))
    texts = [finding.text for finding in made.findings]
    assert any(told in text for text in texts) if told else not any("bytes" in t for t in texts), texts
