"""The files that were named: one, several, a folder of parts, or a pattern."""

import os
import re
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from glob import glob, has_magic
from pathlib import Path

from dplasso.storage.column_format import HEADER

PathLike = str | os.PathLike[str]
_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]+:/{1,2}[^/]", re.IGNORECASE)
_NOT_READ = (".", "_")  # how names begin that programs put beside parts, such as _SUCCESS


@dataclass(frozen=True)
class Files:
    """Files whose rows follow each other, in this order; a column store is one of them."""

    paths: tuple[Path, ...]

    @classmethod
    def of(cls, named: "PathLike | Sequence[PathLike] | Files") -> "Files":
        """The files that a path, a pattern, a folder of parts, or a list of them names.

        Those of a folder or a pattern come in the order of their names.
        """
        if isinstance(named, Files):
            return named
        given = [named] if isinstance(named, str | os.PathLike) else list(named)
        if not given:
            raise ValueError("no file is named; give at least one")
        paths = tuple(path for each in given for path in _expanded(Path(each)))
        twice = next((path for k, path in enumerate(paths) if path in paths[:k]), None)
        if twice is not None:
            raise ValueError(f"{twice} is named twice, so its rows would count twice; name it once")
        return cls(paths)

    @property
    def one(self) -> Path:
        """The only file."""
        (path,) = self.paths
        return path

    @property
    def name(self) -> str:
        """The name of the file without its folder, and how many more there are."""
        return self._with_others(self.paths[0].name)

    def __str__(self) -> str:
        return self._with_others(str(self.paths[0]))

    def _with_others(self, first: str) -> str:
        more = len(self.paths) - 1
        return first if not more else f"{first} and {more:,} more"

    def unchanged(self) -> "Unchanged":
        """Note what the files are like now."""
        return Unchanged(self.paths, _states(self.paths))


@dataclass(frozen=True)
class Unchanged:
    """What files were like before they were read."""

    paths: tuple[Path, ...]
    states: tuple[object, ...]

    def check(self) -> None:
        """Reject files that were changed since then, because what was read may be of both."""
        for path, was, now in zip(self.paths, self.states, _states(self.paths), strict=True):
            if was != now:
                raise ValueError(
                    f"{path} was changed while it was read; wait until it is complete, and read it "
                    "again"
                )


def _states(paths: tuple[Path, ...]) -> tuple[object, ...]:
    return tuple(map(_state, paths))


def _state(path: Path) -> object:
    try:
        found = path.stat()
    except OSError:
        return None
    if not stat.S_ISREG(found.st_mode):  # pipes change while they are read
        return ()
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


def _expanded(path: Path) -> list[Path]:
    if path.is_dir():
        return [path] if (path / HEADER).exists() else _parts(path)
    if path.exists():
        return [path]
    shown = str(path)
    if _ADDRESS.match(shown):
        raise ValueError(f"{shown} is an address, and only files are read; download it first")
    if has_magic(shown):
        found = [Path(name) for name in sorted(glob(shown, recursive=True))]
        if not found:
            raise FileNotFoundError(f"no file matches {shown}; check the pattern")
        return [each for one in found for each in _expanded(one)]
    raise FileNotFoundError(f"{shown} does not exist; check the path")


def _parts(folder: Path) -> list[Path]:
    inside = sorted(entry for entry in folder.iterdir() if not entry.name.startswith(_NOT_READ))
    if not inside:
        raise FileNotFoundError(
            f"{folder} is a folder without files; name files, or a column store"
        )
    below = next((entry for entry in inside if entry.is_dir()), None)
    if below is not None:
        raise ValueError(
            f"{folder} is neither a column store nor a folder of parts: {below.name} in it is a "
            "folder; name the files"
        )
    return inside
