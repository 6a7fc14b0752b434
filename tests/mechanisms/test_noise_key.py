"""Keyed noise: the same for the same name, nothing in common for others, and never copied."""

import copy
import os
import pickle

import numpy as np
import pytest

from dplasso.mechanisms.noise_key import NoiseKey
from dplasso.mechanisms.random_bits import random_bits


def key(byte: int = 0) -> NoiseKey:
    return NoiseKey(bytes([byte]) * 32, secure=False)


def test_a_name_has_the_same_bits_whenever_it_is_asked_for() -> None:
    assert key().generator(3, 4).bytes(100) == key().generator(3, 4).bytes(100)
    assert key().two_numbers(100, 3, 4) == key().two_numbers(100, 3, 4)
    assert key().derived(3).secret == key().derived(3).secret


def test_names_keys_and_uses_share_nothing() -> None:
    names = [(), (0,), (1,), (-1,), (0, 0), (0, 1), (1, 0), (256,), (1, 0, 0)]
    keys = [key(), key(1), key().derived(), key().derived(0), key().derived(1), key(1).derived(0)]
    found = {k.generator(*name).bytes(16) for k in keys for name in names}
    numbers = [number for k in keys for name in names for number in k.two_numbers(128, *name)]
    found |= {number.to_bytes(16, "big") for number in numbers}
    found |= {k.secret[:16] for k in keys}
    assert len(found) == len(keys) * (3 * len(names) + 1)


def test_more_digits_tell_the_same_number_more_precisely() -> None:
    first, second = key().two_numbers(2000, 7)
    for count in (1, 63, 64, 256, 257, 1999):
        wanted = first >> (2000 - count), second >> (2000 - count)
        assert key().two_numbers(count, 7) == wanted


def test_digits_are_fair() -> None:
    found = np.array([key().two_numbers(1, name) for name in range(4000)])
    assert np.all(np.abs(found.mean(axis=0) - 0.5) < 5 * 0.5 / np.sqrt(4000))
    assert abs(np.corrcoef(found.T)[0, 1]) < 5 / np.sqrt(4000)


def test_drawn_keys_differ_and_say_whether_they_are_secret() -> None:
    secure, again, seeded = (NoiseKey.drawn(random_bits(seed)) for seed in (None, None, 0))
    assert len({secure.secret, again.secret, seeded.secret}) == 3
    assert secure.secure and not seeded.secure and secure.derived(1).secure
    assert seeded.secret == NoiseKey.drawn(random_bits(0)).secret


@pytest.mark.parametrize("copied", [pickle.dumps, copy.copy, copy.deepcopy])
def test_a_key_is_not_copied(copied) -> None:
    with pytest.raises(TypeError, match="can not be copied"):
        copied(key())


def test_a_forked_child_does_not_draw_its_parents_noise(monkeypatch) -> None:
    parent, child = key(), os.getpid() + 1
    monkeypatch.setattr(os, "getpid", lambda: child)
    for draw in (parent.generator, parent.derived, lambda: parent.two_numbers(1)):
        with pytest.raises(RuntimeError, match="a forked process would draw the noise"):
            draw()


@pytest.mark.parametrize("secret", [b"short", "0" * 32, None])
def test_what_is_no_secret_is_refused(secret) -> None:
    with pytest.raises(ValueError, match="secret must be 32 bytes"):
        NoiseKey(secret, secure=True)
