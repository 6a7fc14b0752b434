"""What releases tell of a row, from the noise they have: never more than is charged, nor less."""

from collections.abc import Callable

import numpy as np
import pytest
from scipy.linalg import solve_triangular

from dplasso.mechanisms.grid_gaussian import GridGaussian
from dplasso.mechanisms.noise_key import NoiseKey
from dplasso.privacy.gaussian import mu
from dplasso.streams import running_sum
from dplasso.streams.covers import Cover, prefix, root_kept, whole_stream, window_only
from dplasso.streams.settings import TREES
from dplasso.streams.tree import TreeNoise
from exposure import exposure, telling_statistic

MOST = 256
MU = 0.7
KINDS = ["band", "buffered", "tree", "window_tree"]


def noise_of(construction: str, length: int, **settings) -> np.ndarray:
    rho = MU**2 / 2.0
    sums = running_sum(1, sensitivity=1.0, rho=rho, construction=construction, seed=0, **settings)
    assert mu(sums.event) == pytest.approx(MU)
    return sums.noise.noise_matrix(length)


def most_told(noise: np.ndarray) -> np.ndarray:
    """The largest mu of all releases up to t for a row of step i, over t - i = 0, 1, ...

    What release t shows beyond those before it is an entry of the solution; squares add up.
    """
    lower = noise if not np.triu(noise, 1).any() else np.linalg.cholesky(noise @ noise.T)
    solved = solve_triangular(lower, np.tri(len(noise)), lower=True)
    mus = np.sqrt(np.cumsum(solved**2, axis=0))
    return np.array([np.diag(mus, -back).max() for back in range(len(mus))])


@pytest.mark.parametrize("construction", KINDS)
def test_every_step_and_window_keeps_what_is_charged(construction: str) -> None:
    """Rows of the last W steps, at every step t, for every W up to 256.

    Noise of a band is another for every W, that of a tree for every power of 2.
    """
    for window in range(1, MOST + 1):
        if construction in TREES and window & (window - 1):
            continue
        whole = window <= 32 or not window & (window - 1)
        length = 2 * window + window // 2 + 1 if whole else window + 2
        told = most_told(noise := noise_of(construction, length, window=window))
        assert told[:window].max() <= MU * (1 + 1e-9)
        assert told[window - 1] == pytest.approx(MU, rel=1e-6)
        # Protected for as long as promised, and no longer: until its root goes, by the tree.
        assert told[window if construction != "tree" else 2 * window - 1] > MU * (1 + 1e-6)
        if window in (1, 7, 64):
            assert exposure(noise, window).max() == pytest.approx(told[window - 1])


@pytest.mark.parametrize("construction", ["tree", "window_tree"])
def test_trees_round_the_window_up_to_a_power_of_two(construction: str) -> None:
    for window in range(1, 40):
        block = 1 << (window - 1).bit_length()
        noise = noise_of(construction, 2 * window, window=window)
        rounded = noise_of(construction, 2 * window, window=block)
        assert np.array_equal(noise, rounded)


def backwards(steps: int) -> np.ndarray:
    """How many steps before release t row i came."""
    return np.subtract.outer(np.arange(steps), np.arange(steps))


@pytest.mark.parametrize("window", [1, 2, 8, 16, 64])
def test_the_noise_of_expired_steps_is_gone_from_a_band_and_fades_from_buffers(window: int) -> None:
    assert not noise_of("band", 4 * window, window=window)[backwards(4 * window) >= window].any()
    buffered = noise_of("buffered", 4 * window, window=window)
    assert np.all(np.diff(buffered[:, 0]) <= 1e-12)  # it fades, and is never gone


@pytest.mark.parametrize("cover", [root_kept, window_only])
@pytest.mark.parametrize("block", [1, 2, 8, 16, 64])
def test_rows_in_the_window_are_covered_once_and_expired_blocks_are_clean(
    cover: Callable[[int], Cover], block: int
) -> None:
    steps = 4 * block
    covered = np.zeros((steps, steps), int)
    for step in range(1, steps + 1):
        for level, index in cover(block)(step):
            covered[step - 1, index << level : (index + 1) << level] += 1
    back = backwards(steps)
    protected = (back >= 0) & (back < block)
    assert np.all(covered[protected] == 1)
    assert covered.max() == 1
    if cover is window_only:
        assert not covered[~protected].any()
    # Nothing of a block that has expired as a whole is covered any more.
    blocks = np.arange(steps) // block
    assert not covered[np.subtract.outer(blocks, blocks) >= 2].any()
    assert not covered[back == 2 * block - 1].any()


def test_a_whole_stream_is_private_at_its_end_and_at_every_step() -> None:
    for steps in [*range(1, 40), 64, 100, 255]:
        for construction in ("band", "tree"):
            noise = noise_of(construction, steps, steps=steps)
            assert exposure(noise).max() == pytest.approx(MU, rel=1e-6)
            assert exposure(noise).max() <= MU * (1 + 1e-9)


@pytest.mark.parametrize("construction", ["band", "tree"])
def test_an_endless_stream_costs_no_more_however_long_it_goes_on(construction: str) -> None:
    mus = exposure(noise_of(construction, 300))
    assert mus.max() <= MU * (1 + 1e-9)
    assert mus[[0, 1, 3, 7, 15, 31, 63, 127]] == pytest.approx(MU, rel=1e-6)  # first of an epoch


@pytest.mark.parametrize("construction", ["band", "tree", "buffered", "blocks"])
@pytest.mark.parametrize("first_steps", [3, 57, 1000])
def test_a_long_first_epoch_costs_no_more(construction: str, first_steps: int) -> None:
    mus = exposure(noise_of(construction, 300, first_steps=first_steps))
    assert MU * 0.6 < mus.max() <= MU * (1 + 1e-9)


def test_a_long_first_epoch_has_less_noise_from_32_steps_on() -> None:
    """Small streams do not pay for epochs of 1, 2, 4, ... steps that they have passed."""
    noises = [noise_of("buffered", 300, first_steps=first) for first in (1, 2**20)]
    short, long = (np.linalg.norm(noise, axis=1) for noise in noises)
    assert np.all(long[31:] < short[31:]) and long[-1] < 0.7 * short[-1]


@pytest.mark.parametrize("cover", [window_only, root_kept])
def test_pure_privacy_a_row_is_in_no_more_nodes_than_it_pays_for(cover) -> None:
    """Nodes that hold a row, and are in a cover while the row is protected."""
    for levels in range(1, 10):
        block = 1 << (levels - 1)
        touched: dict[int, set] = {row: set() for row in range(1, 2 * block + 1)}
        for step in range(1, 3 * block + 1):
            for level, index in cover(block)(step):
                first, last = (index << level) + 1, (index + 1) << level
                assert last <= step
                for row in range(max(first, step - block + 1), last + 1):
                    touched.get(row, set()).add((level, index))
        assert max(map(len, touched.values())) == levels
    for steps in range(1, 300):
        row_one = {node for step in range(1, steps + 1) for node in whole_stream()(step)[:1]}
        assert len(row_one) == steps.bit_length()


@pytest.mark.parametrize("construction", KINDS)
def test_random_neighbouring_streams(construction: str) -> None:
    """The distance of two streams' releases, in the metric of their noise, is what is charged."""
    rng, window, largest = np.random.default_rng(5), 16, 0.0
    noise = noise_of(construction, 5 * window, window=window)
    lower = np.linalg.cholesky(noise @ noise.T)
    for row in rng.integers(0, 4 * window, 60).tolist() + [2 * window, 3 * window]:
        stream = rng.normal(size=(5 * window, 3))
        stream[row] /= np.linalg.norm(stream[row])
        other = stream.copy()
        other[row] = 0.0
        seen = slice(0, row + window)
        moved = np.cumsum(stream - other, axis=0)[seen]
        distance = np.linalg.norm(solve_triangular(lower[seen, seen], moved, lower=True))
        assert distance <= MU * (1 + 1e-9)
        largest = max(largest, distance)
    assert largest == pytest.approx(MU, rel=1e-6)


def square_root_by_blocks(window: int, blocks: int, keep_last: bool) -> np.ndarray:
    """The square root of a running sum, block by block; the last noise kept for a block, or not."""
    k = np.arange(1, window)
    c = np.concatenate(([1.0], np.cumprod((2 * k - 1) / (2 * k))))
    back = np.subtract.outer(np.arange(window), np.arange(window))
    root = np.where(back >= 0, c[np.abs(back)], 0.0)
    noise = np.kron(np.eye(blocks), root)
    for block in range(1, blocks):
        kept = slice(block * window, (block + 1) * window - 1)
        if keep_last:
            noise[kept, (block - 1) * window : block * window] = root[-1]
    return noise


def test_planted_previous_block_added_clean_when_a_block_starts() -> None:
    window = 8
    sound, broken = (square_root_by_blocks(window, 4, keep) for keep in (True, False))
    assert exposure(sound, window).max() == pytest.approx(1.31, abs=0.005)
    assert exposure(broken, window).max() == pytest.approx(1.73, abs=0.005)


@pytest.mark.parametrize("window", [8, 64])
def test_planted_tree_that_drops_the_root_of_the_previous_block(window: int) -> None:
    def forgetful(step: int) -> list:
        start = (step - 1) // window * window
        return prefix(start, step - start)

    noises = [
        TreeNoise(1, cover, GridGaussian(0.0), 1.0, NoiseKey(bytes(32), secure=False))
        for cover in (root_kept(window), forgetful)
    ]
    sound, broken = (exposure(noise.noise_matrix(4 * window), window).max() for noise in noises)
    levels = window.bit_length()
    assert sound == pytest.approx(np.sqrt(levels))
    assert broken > 1.1 * np.sqrt(levels)


def test_planted_release_without_noise_reveals_everything() -> None:
    noise = noise_of("band", 12, window=4)
    noise[5] = 0.0
    found = exposure(noise, 4)
    assert np.isinf(found[2:6]).all() and np.isfinite(found[[0, 1, 6, 7]]).all()
    noise = noise_of("band", 12, window=4)
    noise[6] = noise[5]  # noise drawn once for two steps: their difference is row 6
    assert np.isinf(exposure(noise, 4)[6])
    assert np.isfinite(exposure(noise, 4)[5])


def test_planted_one_more_window_is_too_much() -> None:
    """The check sees it if rows are looked at for longer than they are protected."""
    for construction in KINDS:
        noise = noise_of(construction, 24, window=8)
        assert exposure(noise, 16).max() > MU * 1.05


@pytest.mark.parametrize("construction", KINDS)
def test_the_telling_statistic_is_the_best_there_is(construction: str) -> None:
    noise = noise_of(construction, 24, window=8)
    for row in (0, 5, 8, 13):
        weights = telling_statistic(noise, row, 8)
        assert not weights[row + 8 :].any()
        assert np.linalg.norm(weights @ noise) == pytest.approx(1.0)
        assert weights[row:].sum() == pytest.approx(exposure(noise, 8)[row])


def test_exposure_agrees_with_the_inverse_of_the_covariance() -> None:
    rng = np.random.default_rng(0)
    noise = rng.normal(size=(9, 12))
    for window in (1, 3, 9):
        for row, found in enumerate(exposure(noise, window)):
            seen = noise[: row + window]
            moved = (np.arange(len(seen)) >= row).astype(float)
            assert found**2 == pytest.approx(moved @ np.linalg.inv(seen @ seen.T) @ moved)
