"""Ours and theirs, by the names they have in the table."""

from typing import Any

from rivals.amp import AMP
from rivals.diffprivlib_rival import DIFFPRIVLIB
from rivals.dp_gd import DP_GD
from rivals.dp_sgd import DP_SGD

RIVALS: dict[str, Any] = {rival.name: rival for rival in (DP_SGD, DP_GD, AMP, DIFFPRIVLIB)}
