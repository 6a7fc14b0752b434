"""Selection rules: how a round picks the signed vertex it releases.

Each rule is one file behind one interface (`Rule`). `lazy` is the default. It uses `noisy_max` for
some rounds; both follow the same law of the same scores, those of the current iterate. The rules in
`rivals` exist for comparison.
"""

from dplasso.mechanisms.selection.base import Rule
from dplasso.mechanisms.selection.card_noisy_max import CardNoisyMax
from dplasso.mechanisms.selection.lazy import LazyDraw
from dplasso.mechanisms.selection.lazy_argmax import LazyArgmax
from dplasso.mechanisms.selection.noisy_max import NoisyMax
from dplasso.mechanisms.selection.rivals.argmax import Argmax
from dplasso.mechanisms.selection.rivals.big_step_little_step import BigStepLittleStep
from dplasso.mechanisms.selection.rivals.heap import Heap

PRIVATE: dict[str, type[Rule]] = {
    "lazy": LazyDraw,
    "noisy_max": NoisyMax,
    "big_step_little_step": BigStepLittleStep,
}
GREEDY: dict[str, type[Rule]] = {"lazy": LazyArgmax, "argmax": Argmax, "heap": Heap}

# Rules that a card has, too.
ON_CARD: dict[str, type[CardNoisyMax]] = {"noisy_max": CardNoisyMax}

__all__ = ["GREEDY", "ON_CARD", "PRIVATE", "Rule"]
