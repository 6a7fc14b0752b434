"""One way by which input comes in, and how a case is made and judged."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

MIB = 1 << 20


@dataclass(frozen=True)
class Tried:
    """What an attempt tried: bytes of input, and cases where one attempt holds several."""

    size: int
    cases: int = 1


@dataclass(frozen=True)
class Door:
    """A door of the library that takes input from outside.

    Attributes
    ----------
    name : what the table calls it; unique in its script.
    prepare : makes what attempts share, in a new folder, once per worker process.
    attempt : one case, a function of what was prepared and of a seed alone. It returns normally if
        the input was taken for what it is or refused by an error meant for people. Any exception
        that it lets through is a finding, and so is a crash, or more time or memory than allowed.
    seconds : the longest that an attempt may take.
    flat, multiple : the most memory an attempt may add is ``flat + multiple * bytes of input``.
    """

    name: str
    prepare: Callable[[Path], Any]
    attempt: Callable[[Any, int], Tried]
    seconds: float = 10.0
    flat: int = 256 * MIB
    multiple: int = 64
