"""The fast key stream is ChaCha20's, word for word."""

import numpy as np
import pytest
from randomgen import ChaCha

from dplasso.kernels.chacha import BLOCKS, WORDS, key_stream


def stream(key: bytes, nonce: bytes, counter: int, groups: int) -> np.ndarray:
    """Blocks of sixteen words, in the order of their counters."""
    out = np.empty(groups * WORDS, np.uint32)
    words = (np.frombuffer(part, "<u4").astype(np.uint32) for part in (key, nonce))
    following = key_stream(*words, counter, out)
    assert following == counter + groups * BLOCKS
    return out.reshape(groups, 16, BLOCKS).transpose(0, 2, 1).reshape(-1, 16)


def test_the_block_of_the_standard() -> None:
    """RFC 8439, section 2.3.2."""
    nonce = bytes.fromhex("000000090000004a00000000")
    block = stream(bytes(range(32)), nonce, 1, 1)[0]
    assert block.astype("<u4").tobytes().hex() == (
        "10f1e7e4d13b5915500fdd1fa32071c4c7d1f4c733c068030422aa9ac3d46c4e"
        "d2826446079faa0914c2d705d98b02a2b5129cd1de164eb9cbd083e8a2503c4e"
    )


@pytest.mark.parametrize("seed", [0, 1])
def test_any_key_nonce_and_run_of_blocks(seed: int) -> None:
    rng = np.random.default_rng(seed)
    # The library counts words, not blocks: it has no room for the highest four bits.
    key, nonce, first = rng.bytes(32), rng.bytes(11) + b"\x05", int(rng.integers(1 << 20))
    start = int.from_bytes(first.to_bytes(4, "little") + nonce, "little")
    library = ChaCha(key=int.from_bytes(key, "little"), counter=16 * start, rounds=20)
    ours = stream(key, nonce, first, 3)
    theirs = library.random_raw(ours.size // 2).astype("<u8").tobytes()
    assert ours.astype("<u4").tobytes() == theirs
