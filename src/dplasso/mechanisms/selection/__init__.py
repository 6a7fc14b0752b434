from dplasso.mechanisms.selection.argmax import Argmax
from dplasso.mechanisms.selection.base import Rule
from dplasso.mechanisms.selection.lazy import LazyDraw
from dplasso.mechanisms.selection.lazy_argmax import LazyArgmax
PRIVATE: dict[str, type[Rule]] = {"lazy": LazyDraw}
GREEDY: dict[str, type[Rule]] = {"lazy": LazyArgmax, "argmax": Argmax}
