"""Choose the construction and the grid of the noise from the settings."""

import dataclasses
import math

from dplasso.base.wording import ParameterError
from dplasso.mechanisms.gaussian_cells import LEAST_SIGMA
from dplasso.mechanisms.grid_gamma import GridGamma
from dplasso.mechanisms.grid_gaussian import AddsNoise, GridGaussian
from dplasso.mechanisms.noise_key import NoiseKey
from dplasso.streams import account, buffered, covers
from dplasso.streams import blocks as in_blocks
from dplasso.streams.band import FINE_BITS, LONGEST, BandNoise, band_sensitivity
from dplasso.streams.blocks import BlockNoise
from dplasso.streams.buffered import NOISE_BITS, BufferedNoise
from dplasso.streams.doubling import DoublingNoise
from dplasso.streams.process import Grid, NoiseProcess, NoNoise
from dplasso.streams.settings import TREES, Settings, Span
from dplasso.streams.tree import TreeNoise

# Most bits of a row's length, and of the standard deviation of a draw.
_MOST_BITS, _NOISE_BITS, _GAMMA_BITS = 30, 48, 44
# The same for constructions that draw other numbers than nodes of trees.
_BAND_BITS = _NOISE_BITS - FINE_BITS
_DRAWN_BITS = {
    "buffered": NOISE_BITS,
    "blocks": NOISE_BITS - 1,  # two sums share a budget, and each has more noise
    "band": _BAND_BITS,
    "regenerated_band": _BAND_BITS,
}
# Most steps of a construction; trees have no limit.
_LONGEST = {
    "buffered": buffered.LONGEST,
    "blocks": buffered.LONGEST,
    "band": LONGEST,
    "regenerated_band": LONGEST,
}
# Vectors of 8 bytes per number: the sum, the noise, the draws and the releases.
_VECTORS = 8
# Number of buffers for the longest stream that has them.
_MOST_BUFFERS = 12


def chosen(settings: Settings) -> Settings:
    """The same settings with a construction that fits into memory; "auto" is resolved.

    Formal guarantees
    -----------------
    The choice depends on public numbers only.
    """
    name, span = settings.construction, settings.span
    if name == "auto" and settings.calibration == "paper":
        name = "window_tree"
    elif name == "auto":
        buffers = settings.noise == "gaussian" and fits(settings, "buffered")
        name = "buffered" if buffers else "tree"
    if span and span.steps > (longest := _LONGEST.get(name, span.steps)):
        raise ParameterError(
            f"{{construction}} must be a tree for more than {longest} steps, got {name!r}; "
            "choose 'tree'"
        )
    needed = bytes_needed(settings, _vectors_kept(name, span))
    if needed > settings.memory:
        raise ParameterError(
            f"{{memory}} must be at least {needed} bytes for construction={name!r}, "
            f"got {settings.memory}; choose 'tree', or allow more"
        )
    return dataclasses.replace(settings, construction=name)


def _vectors_kept(name: str, span: Span | None) -> int:
    if name == "buffered":
        # The current buffers, and those after the next steps.
        return 2 * (len(buffered.echoes(span.steps).shifts) if span else _MOST_BUFFERS)
    if name == "blocks":
        return 2 * _MOST_BUFFERS + in_blocks.STEPS  # all numbers of a block may be looked at
    return span.steps if span and name == "band" else 0


def bytes_needed(settings: Settings, vectors: int) -> int:
    """Memory of a running sum that keeps ``vectors`` vectors of noise."""
    return 8 * settings.dimension * (vectors + _VECTORS)


def fits(settings: Settings, name: str) -> bool:
    """Whether a construction can cover the stream within the memory, by public numbers."""
    return _fits(settings, name, settings.span)


def _fits(settings: Settings, name: str, span: Span | None) -> bool:
    if span and span.steps > _LONGEST.get(name, span.steps):
        return False
    return bytes_needed(settings, _vectors_kept(name, span)) <= settings.memory


def grid_of(settings: Settings) -> Grid:
    """Grid units so fine that rounding is negligible, and so coarse that noise can be drawn.

    Formal guarantees
    -----------------
    The grid depends on public numbers only. Sums beyond 2^63 units wrap modulo 2^64, which is
    post-processing of the exact sum: it would spoil a sum of 2^33 equal rows, never the guarantee.
    """
    if not settings.private:
        return Grid(_MOST_BITS, settings.reach << _MOST_BITS)
    # For an endless stream, the last epoch that can occur.
    span = settings.span or account.epoch_span(account.MOST_EPOCHS - 1, settings.first_steps)
    largest = account.node_deviation(settings, span)
    bits = _DRAWN_BITS.get(settings.construction, _NOISE_BITS)
    if settings.noise == "gamma":
        bits = _GAMMA_BITS
    size = largest * settings.reach
    room = bits - math.ceil(math.log2(size)) if 0.0 < size < math.inf else 0
    bits = min(_MOST_BITS, room)
    grid = Grid(bits, settings.reach << bits) if bits >= 1 else None
    if grid is None or largest * grid.reach < 64 * LEAST_SIGMA:
        raise ParameterError(
            "the budget must ask for noise between 2^-10 and 2^20 times the length of a row, got "
            "another; choose other {epsilon}, {delta} or {rho}, or math.inf for no privacy"
        )
    return grid


def noise_process(settings: Settings, grid: Grid, key: NoiseKey) -> NoiseProcess:
    """The noise of a running sum; ``settings`` must name a construction, not "auto"."""
    if not settings.private:
        return NoNoise(settings.dimension)
    span = settings.span
    if settings.construction == "blocks":
        return _block_noise(settings, grid, key)
    if span is not None:
        return _span_noise(settings, span, grid, key)

    def epoch_noise(epoch: int) -> NoiseProcess:
        span, within = account.epoch_span(epoch, settings.first_steps), settings
        if not _fits(settings, settings.construction, span):
            within = dataclasses.replace(settings, construction="tree")
        return _span_noise(within, span, grid, key.derived(epoch))

    return DoublingNoise(settings.dimension, epoch_noise, settings.first_steps)


def _block_noise(settings: Settings, grid: Grid, key: NoiseKey) -> NoiseProcess:
    """Noise of finished blocks, by buffers, and of the steps within one."""
    rho, span = account.mu(settings) ** 2 / 2.0, settings.span
    count = None if span is None else -(-span.steps // in_blocks.STEPS)
    whole = dataclasses.replace(
        settings,
        window=count if span and span.slides else None,
        steps=None if span and span.slides else count,
        batch=1,
        epsilon=None,
        delta=None,
        rho=rho * account.WHOLE_SHARE,
        construction="buffered",
        first_steps=first_blocks(settings),
    )
    moved = buffered.buffered_sensitivity(in_blocks.STEPS - 1, settings.dimension, grid)
    sigma = account.deviation(settings, moved) / math.sqrt(1.0 - account.WHOLE_SHARE) * grid.reach
    noise = noise_process(whole, grid, key.derived(1))
    return BlockNoise(settings.dimension, noise, sigma, grid, key.derived(2))


def first_blocks(settings: Settings) -> int:
    """Blocks of the first epoch of an endless stream."""
    return -(-settings.first_steps // in_blocks.STEPS)


def _span_noise(settings: Settings, span: Span, grid: Grid, key: NoiseKey) -> NoiseProcess:
    if settings.construction in TREES:
        return _tree_noise(settings, span, grid, key)
    if settings.construction == "buffered":
        moved = buffered.buffered_sensitivity(span.steps, settings.dimension, grid)
        sigma = account.deviation(settings, moved) * grid.reach
        return BufferedNoise(settings.dimension, span.steps, sigma, grid, key)
    sigma = account.deviation(settings, band_sensitivity(span.steps)) * grid.reach
    kept = settings.construction == "band"
    return BandNoise(settings.dimension, span.steps, sigma, grid, key, kept)


def _tree_noise(settings: Settings, span: Span, grid: Grid, key: NoiseKey) -> TreeNoise:
    block = 1 << (span.levels - 1)
    cover = covers.whole_stream()
    if span.slides:
        over = covers.root_kept if settings.construction == "tree" else covers.window_only
        cover = over(block)
    deviation = account.node_deviation(settings, span)
    noise: AddsNoise
    if settings.noise == "gamma":
        noise = GridGamma(settings.dimension, account.gamma_scale(settings, span) * grid.reach)
    else:
        noise = GridGaussian(deviation * grid.reach)
    return TreeNoise(settings.dimension, cover, noise, deviation, key)
