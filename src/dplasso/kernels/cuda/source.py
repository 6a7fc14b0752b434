"""The source of the kernels, as one text for a compiler."""

from importlib.resources import files

from dplasso.kernels import grid_gaussian

# In this order: later files use what earlier ones define.
_FILES = (
    "arithmetic.cuh",
    "residuals.cuh",
    "segments.cuh",
    "transpose.cu",
    "conditioned.cu",
    "descent.cu",
    "cut.cu",
    "table.cu",
    "noise.cu",
    "noisy_max.cu",
    "probe.cu",
)
# Buffers of random words that a block of noise may need at most.
MOST_BUFFERS = 1 << 10
# Columns of a tile, in which those that are left are listed.
TILE = 1 << 10


def source(platform: str | None = None) -> str:
    """All kernels; ``platform`` replaces the file that speaks to the card."""
    folder = files(__package__)
    texts = [(folder / "platform.cuh").read_text() if platform is None else platform]
    return "\n".join(texts + [(folder / name).read_text() for name in _FILES])


def macros(index_bytes: int, value_kind: int) -> dict[str, int]:
    """What the source leaves open: the types of a matrix (`Kinds`), and the layout of noise."""
    return {
        "INDEX_BYTES": index_bytes,
        "VALUE_KIND": value_kind,
        "BOX_BITS": grid_gaussian.BOX_BITS,
        "TICKET_BITS": grid_gaussian.TICKET_BITS,
        "NOISE_BLOCK": grid_gaussian.BLOCK,
        "MOST_BUFFERS": MOST_BUFFERS,
        "TILE": TILE,
    }
