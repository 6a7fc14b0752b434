"""Selection rules: how a round picks the signed vertex it releases.

One rule a file, one interface (`Rule`). `lazy` and `noisy_max` use the gradient of the present
iterate and share one law of the same scores; the papers' own rules follow the law of the scores
they hold.
"""

from dplasso.mechanisms.selection.argmax import Argmax
from dplasso.mechanisms.selection.base import Rule
from dplasso.mechanisms.selection.big_step_little_step import BigStepLittleStep
from dplasso.mechanisms.selection.heap import Heap
from dplasso.mechanisms.selection.lazy import LazyDraw
from dplasso.mechanisms.selection.lazy_argmax import LazyArgmax
from dplasso.mechanisms.selection.noisy_max import NoisyMax

PRIVATE: dict[str, type[Rule]] = {
    "lazy": LazyDraw,
    "noisy_max": NoisyMax,
    "big_step_little_step": BigStepLittleStep,
}
GREEDY: dict[str, type[Rule]] = {"lazy": LazyArgmax, "argmax": Argmax, "heap": Heap}

__all__ = ["GREEDY", "PRIVATE", "Rule"]
