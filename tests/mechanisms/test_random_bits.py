import copy
import gc
import os
import pickle
import threading
import warnings
from collections.abc import Callable
from typing import Any

import numba
import numpy as np
import pytest
from randomgen import ChaCha

from dplasso.mechanisms import random_bits as module
from dplasso.mechanisms.random_bits import RandomBits, random_bits

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="processes can not fork here")


@numba.njit
def compiled_draws(generator: np.random.Generator, count: int) -> np.ndarray:
    draws = np.empty(count)
    for i in range(count):
        draws[i] = generator.random()
    return draws


def draws(bits: RandomBits, count: int = 8) -> list[float]:
    return [float(x) for x in bits.generator.random(count)]


def draws_in_child(bits: RandomBits, count: int = 8) -> list[float]:
    """What a forked child draws, sent back through a pipe."""
    receive, send = os.pipe()
    with warnings.catch_warnings():
        # Python 3.12 and later warn of forks beside threads; this child touches no lock of theirs.
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        try:
            os.write(send, bits.generator.random(count).tobytes())
        finally:
            os._exit(0)
    os.close(send)
    with os.fdopen(receive, "rb") as pipe:
        received = pipe.read()
    os.waitpid(child, 0)
    assert len(received) == 8 * count
    return [float(x) for x in np.frombuffer(received)]


def test_the_cipher_is_chacha20() -> None:
    """The block of RFC 8439, section 2.3.2: key, counter 1 and nonce as given there."""
    nonce = bytes.fromhex("000000090000004a00000000")
    start = int.from_bytes((1).to_bytes(4, "little") + nonce, "little")
    # The library counts words, sixteen to a block.
    cipher = ChaCha(
        key=int.from_bytes(bytes(range(32)), "little"), counter=16 * start, rounds=module._ROUNDS
    )
    assert cipher.random_raw(8).astype("<u8").tobytes().hex() == (
        "10f1e7e4d13b5915500fdd1fa32071c4c7d1f4c733c068030422aa9ac3d46c4e"
        "d2826446079faa0914c2d705d98b02a2b5129cd1de164eb9cbd083e8a2503c4e"
    )


@pytest.mark.parametrize("seed", [None, 7])
def test_default_and_seeded_streams_use_that_cipher(seed: int | None) -> None:
    cipher = random_bits(seed).generator.bit_generator
    assert isinstance(cipher, ChaCha)
    assert cipher.state["state"]["rounds"] == 20


def test_the_whole_key_comes_from_the_system(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def urandom(size: int) -> bytes:
        asked.append(size)
        return bytes(range(size))

    monkeypatch.setattr(os, "urandom", urandom)
    bits = random_bits()
    assert asked == [32]
    key = bits.generator.bit_generator.state["state"]["keysetup"]
    assert key.astype("<u4").tobytes() == bytes(range(32))


def test_secure_streams_all_differ() -> None:
    streams = [random_bits() for _ in range(50)]
    assert all(bits.secure for bits in streams)
    assert len({draws(bits, 1)[0] for bits in streams}) == 50


def test_seeds_are_reproducible_and_insecure() -> None:
    assert not random_bits(7).secure
    assert draws(random_bits(7)) == draws(random_bits(np.int64(7)))
    assert draws(random_bits(7)) != draws(random_bits(8))
    assert draws(random_bits(2**300)) != draws(random_bits(2**300 + 1))


def test_seeded_stream_is_stable_across_releases() -> None:
    known = [3418297237, 3707623370, 3414221401, 4157975337]
    assert random_bits(0).generator.integers(0, 2**32, 4).tolist() == known


def test_a_generator_of_the_callers_is_wrapped() -> None:
    generator = np.random.default_rng(3)
    bits = random_bits(generator)
    assert bits.generator is generator
    assert not bits.secure
    assert random_bits(bits) is bits


def test_secure_bits_that_are_handed_in_stand_for_others() -> None:
    """Whoever holds the same object, nobody draws from the same stream."""
    held = random_bits()
    others = [random_bits(held), random_bits(held), random_bits(held.generator)]
    assert all(bits.secure for bits in others)
    assert len({number for bits in (held, *others) for number in draws(bits)}) == 32


def test_a_secure_source_of_the_callers_is_drawn_from_for_a_key() -> None:
    source, twin = (RandomBits(np.random.default_rng(4), secure=True) for _ in range(2))
    first, second = draws(random_bits(source)), draws(random_bits(source))
    assert random_bits(source).secure
    assert not set(first) & set(second)
    assert draws(random_bits(twin)) == first


def test_a_seeded_stream_is_one_threads_at_a_time() -> None:
    bits = random_bits(np.random.default_rng(3))
    same = random_bits(bits.generator)
    refused: list[str] = []

    def enter() -> None:
        try:
            with same.exclusive():
                refused.append("")
        except RuntimeError as error:
            refused.append(str(error))

    def elsewhere() -> None:
        thread = threading.Thread(target=enter)
        thread.start()
        thread.join()

    with bits.exclusive() as generator:
        assert generator is bits.generator
        with same.exclusive():  # a search has fits within
            elsewhere()
        elsewhere()
    elsewhere()
    assert [bool(text) for text in refused] == [True, True, False]
    assert "in use by another thread" in refused[0]
    assert not module._in_use


@needs_fork
def test_a_forked_child_may_use_what_threads_of_its_parent_held() -> None:
    bits, entered, done = random_bits(7), threading.Event(), threading.Event()

    def hold() -> None:
        with bits.exclusive():
            entered.set()
            done.wait(30)

    thread = threading.Thread(target=hold)
    thread.start()
    entered.wait(30)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            child = os.fork()
        if child == 0:
            try:
                with bits.exclusive():
                    os._exit(0)
            finally:
                os._exit(1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    finally:
        done.set()
        thread.join()


@pytest.mark.parametrize("seed", [True, -1, 1.5, "7", np.random.RandomState(0)])
def test_bad_seed_is_named(seed: Any) -> None:
    with pytest.raises(ValueError, match=r"^seed must be .*got .*: pass None"):
        random_bits(seed)


def test_usable_in_compiled_code() -> None:
    assert compiled_draws(random_bits(7).generator, 20).tolist() == draws(random_bits(7), 20)
    secure = compiled_draws(random_bits().generator, 4000)
    assert np.all((secure >= 0.0) & (secure < 1.0))
    assert abs(secure.mean() - 0.5) < 6.0 / np.sqrt(12.0 * 4000)


@pytest.mark.parametrize("before", [0, 1, 3, 8, 9])
def test_a_new_key_discards_what_was_computed_ahead(
    monkeypatch: pytest.MonkeyPatch, before: int
) -> None:
    """Wherever in a block the stream stood, it continues as one that started with the new key."""
    bits = random_bits()
    draws(bits, before)
    bits.generator.integers(0, 10, dtype=np.uint32)
    monkeypatch.setattr(os, "urandom", lambda size: bytes(range(size)))
    bits.generator.bit_generator.rekey()
    assert draws(bits, 20) == draws(random_bits(), 20)


def test_a_new_key_reaches_compiled_code() -> None:
    bits = random_bits()
    state = copy.deepcopy(bits.generator.bit_generator.state)
    first = compiled_draws(bits.generator, 8)
    bits.generator.bit_generator.state = state
    assert compiled_draws(bits.generator, 8).tolist() == first.tolist()
    bits.generator.bit_generator.state = state
    bits.generator.bit_generator.rekey()
    assert not set(compiled_draws(bits.generator, 8)) & set(first)


@needs_fork
def test_a_fork_gives_the_child_a_stream_of_its_own() -> None:
    bits, control = random_bits(), random_bits()
    state = copy.deepcopy(bits.generator.bit_generator.state)
    control.generator.bit_generator.state = state
    child, sibling = draws_in_child(bits), draws_in_child(bits)
    parent = draws(bits)
    assert parent == draws(control)
    assert len({*parent, *child, *sibling}) == 24


@needs_fork
def test_a_fork_finds_a_generator_without_its_wrapper() -> None:
    generator = random_bits().generator
    gc.collect()
    child = draws_in_child(RandomBits(generator, secure=False))
    assert not set(child) & set(generator.random(8))


@needs_fork
def test_a_fork_leaves_seeds_alone() -> None:
    bits = random_bits(7)
    draws(bits, 3)
    assert draws_in_child(bits) == draws(bits)


@pytest.mark.parametrize(
    "duplicate", [copy.deepcopy, lambda bits: pickle.loads(pickle.dumps(bits))]
)
def test_a_copy_has_a_stream_of_its_own(duplicate: Callable[[RandomBits], RandomBits]) -> None:
    bits = random_bits()
    twin = duplicate(bits)
    assert twin.secure
    assert not set(draws(bits)) & set(draws(twin))
    seeded = random_bits(7)
    assert draws(duplicate(seeded)) == draws(seeded)


def test_a_pickle_holds_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "urandom", lambda size: bytes(range(100, 100 + size)))
    assert bytes(range(100, 104)) not in pickle.dumps(random_bits())


def test_forgotten_streams_are_forgotten() -> None:
    bits = random_bits()
    cipher = bits.generator.bit_generator
    assert cipher in module._alive
    alive = len(module._alive)
    del bits, cipher
    gc.collect()
    assert len(module._alive) < alive
