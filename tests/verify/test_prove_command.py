"""What `aeskit prove` takes as a question: names of ours, contracts, all."""

import pytest
from click.testing import CliRunner

from aeskit.cli import main


def run_prove(*arguments):
    done = CliRunner().invoke(main, ["prove", *arguments, "--key-bits", "128", "--workers", "1"])
    return done.exit_code, " ".join(done.output.split())


def test_our_own_function_is_held_against_the_contract_that_is_named():
    status, said = run_prove("ecb_encrypt_aesni_avx", "--contract", "ecb_decrypt", "--lengths", "16")
    assert (status, "ecb_encrypt_aesni_avx (ecb_decrypt), AES-128, 16 bytes" in said) == (1, True)
    status, said = run_prove("ecb_encrypt_aesni_avx", "--contract", "no")
    assert (status, "contract must be one of" in said) == (2, True)


@pytest.mark.parametrize("more", [["ecb_encrypt_aesni_avx"], ["--contract", "ctr"]])
def test_all_takes_no_names_and_no_contract(more):
    status, said = run_prove("--all", *more)
    assert (status, "no names, no --contract" in said) == (2, True)
