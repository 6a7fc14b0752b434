"""Rules behind ``radius="auto"`` and ``max_iter="auto"``: public facts in, a number out.

Nothing here may see the data. ``rows`` is the declared number of rows, or the real one treated as
public; the privacy statement of a fit says which.
"""

import math


def auto_rounds(epsilon: float, delta: float, rows: int, columns: int, outputs: int) -> int:
    """Rounds: few enough that each still sees more signal than noise."""
    return int(max(5, min(4000, math.ceil(0.1 * (rows * epsilon) ** (2.0 / 3.0)))))


def auto_reach(epsilon: float, delta: float, rows: int, columns: int, outputs: int) -> float:
    """Largest margin the weights may give a row: the radius times the bound on entries."""
    return 10.0
