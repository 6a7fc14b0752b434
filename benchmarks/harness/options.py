"""Command lines of scripts: the first line of a script's text, and options that hold lists."""

import argparse
import warnings
from collections.abc import Iterable

from dplasso import PrivacyLeakWarning


def parser(about: str) -> argparse.ArgumentParser:
    """A parser that shows the first line of a script's docstring."""
    return argparse.ArgumentParser(description=about.splitlines()[0])


def study(
    about: str, sets: Iterable[str], epsilons: Iterable[float], seeds: int
) -> argparse.ArgumentParser:
    """The parser of a script that runs every set at every epsilon with some seeds."""
    command = parser(about)
    command.add_argument("--sets", type=names, default=list(sets), help="names, with commas")
    command.add_argument("--epsilons", type=numbers, default=list(epsilons), help="with commas")
    command.add_argument("--seeds", type=int, default=seeds)
    return command


def names(text: str) -> list[str]:
    """``a,b`` as a list, for ``type=``."""
    return text.split(",")


def numbers(text: str) -> list[float]:
    """``0.1,1`` as a list, for ``type=``."""
    return [float(part) for part in text.split(",")]


def whole_numbers(text: str) -> list[int]:
    """``3,8`` as a list, for ``type=``."""
    return [int(part) for part in text.split(",")]


def allow_seeds() -> None:
    """Seeds make tables repeatable. They protect nobody, and the data are public."""
    warnings.simplefilter("ignore", PrivacyLeakWarning)
