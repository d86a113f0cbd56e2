"""The forms by name; messages side by side in the numpy form."""

import random

import numpy as np
import pytest

from aeskit.models import cbc, ctr, cts, ecb, pcbc, xts
from aeskit.models.arithmetic import choose

a = choose("numpy")
KEY = bytes(range(16))


def side_by_side(length):
    data = np.frombuffer(random.randbytes(5 * length), np.uint8).reshape(5, length)
    ivs = np.frombuffer(random.randbytes(5 * 16), np.uint8).reshape(5, 16)
    return data, ivs


@pytest.mark.parametrize("length", [16, 45, 48, 80])
@pytest.mark.parametrize("one_iv", [True, False])
def test_messages_side_by_side_are_those_one_by_one(length, one_iv):
    data, ivs = side_by_side(length)
    K = a.expand(KEY)
    if one_iv:
        ivs = np.broadcast_to(ivs[0], ivs.shape)
    given = ivs[0] if one_iv else ivs

    def check(found, alone):
        expected = [alone(KEY, iv.tobytes(), row.tobytes()) for iv, row in zip(ivs, data, strict=True)]
        assert [row.tobytes() for row in found] == expected

    check(ctr.crypt_message(a, K, given, data), ctr.crypt)
    for order in cts.STEALING:
        for mine, alone in ((cts.encrypt_message, cts.encrypt), (cts.decrypt_message, cts.decrypt)):
            check(mine(a, K, given, data, order), lambda *given, f=alone, s=order: f(*given, s))
    if length % 16 == 0:
        check(ecb.encrypt_message(a, K, data), lambda key, iv, row: ecb.encrypt(key, row))
        check(ecb.decrypt_message(a, K, data), lambda key, iv, row: ecb.decrypt(key, row))
        for mode in (cbc, pcbc):
            check(mode.encrypt_message(a, K, given, data), mode.encrypt)
            check(mode.decrypt_message(a, K, given, data), mode.decrypt)


def test_keys_side_by_side_are_those_one_by_one():
    keys, data = side_by_side(40)[1], side_by_side(40)[0]
    schedules = [a.expand(key.tobytes()) for key in keys]
    together = [np.stack(round_keys) for round_keys in zip(*schedules, strict=True)]
    T = np.zeros((5, 16), np.uint8)
    found = xts.encrypt_data_unit(a, together, T, data)
    alone = [xts.encrypt_data_unit(a, w, t, row) for w, t, row in zip(schedules, T, data, strict=True)]
    assert (found == np.array(alone)).all()


def test_runs_cover_every_block_once():
    runs = list(a.runs(2 * a.run + 5))
    assert runs == [(0, a.run), (a.run, a.run), (2 * a.run, 5)]
    assert list(a.runs(0)) == []
    assert list(a.runs(2, lambda *text, **values: None)) == [(0, 1), (1, 1)]


def test_an_unknown_form_is_refused():
    with pytest.raises(ValueError, match="form must be one of galois, plain, numpy, not 'other'"):
        choose("other")
