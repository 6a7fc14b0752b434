"""The folder of a stream: its lock, its journal, and the state that it continues from.

docs/explanation/online.md describes its files, and why no row is learned twice or lost.
"""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

import numpy as np

from dplasso.base.wording import ParameterError, Setting
from dplasso.estimators.online_base import PrivateOnline
from dplasso.estimators.online_saving import save_state
from dplasso.storage import read
from dplasso.storage.atomic import replace_file
from dplasso.storage.journal import Journal
from dplasso.storage.private_files import lock, open_own, take_folder

_README = """\
This folder is the state of a stream that dplasso learns from. It is AS SECRET AS THE ROWS: it holds
rows, their exact sums, and the key of all noise. Whoever reads it can undo the protection of every
weight that was ever released. Keep it on an encrypted disk, do not copy it, and do not go on from a
copy: two streams with the same noise reveal their difference. Delete it when the stream is over.
"""
_CONFIG, _STATE, _LOCK = "stream.json", "state", "lock"
# Names in the file that differ from the parameters of the session and its model.
_PARAMETERS = {"rows": "n_rows", "features": "n_features", "seed": "random_state"}
START = {"rows": 0, "lines": 0, "input_bytes": 0, "output_bytes": 0, "right": 0.0, "saves": 0}


class StateFolder:
    """The folder of a stream, used by one process at a time.

    Formal guarantees
    -----------------
    Lines are in the journal on the disk before noise is drawn for them or a result is returned.
    A resumed stream therefore adds the same rows to the same noise, and repeats its releases bit by
    bit. A state and its journal change in one step. Lines that a crash truncated were never
    learned from. After an interrupt between two of these steps nothing more is recorded until the
    folder is opened again. A forked process records nothing: the stream belongs to its parent.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = take_folder(folder, _ours)
        self._lock: int | None = open_own(self.folder / _LOCK)
        if not lock(self._lock):
            os.close(self._lock)
            raise ValueError(f"{folder} is in use by another process; stop that one first")
        self.more: dict[str, Any] = dict(START)
        self._journal: Journal | None = None
        self._interrupted = False  # or in the middle of what must not be interrupted
        self._process = os.getpid()

    @property
    def exists(self) -> bool:
        """Whether the folder holds a stream to continue."""
        return (self.folder / _STATE).exists()

    def check(self, config: dict[str, Any]) -> None:
        """Store the settings of a new stream, or reject settings other than the stored ones."""
        path, found = self.folder / _CONFIG, json.loads(json.dumps(config, default=np.generic.item))
        if not self.exists:
            replace_file(self.folder / "README.txt", _README.encode())
            replace_file(path, json.dumps(found, indent=1).encode())
            return
        known = json.loads(path.read_text())
        for name in {**known, **found}:
            if not _same(known.get(name), found.get(name)):
                raise ParameterError(
                    "{parameter} is not what it was when {folder} was begun; a stream continues as "
                    "it began",
                    parameter=Setting(_PARAMETERS.get(name, name)),
                    folder=self.folder,
                )

    def resume(self, model: PrivateOnline) -> list[bytes]:
        """Restore the saved state, and return the journaled lines, which must be learned again.

        Call `learned` after that: until then, nothing can be recorded.
        """
        self.check_process()
        self._interrupted = True
        self.more = model.resume(self.folder / _STATE)
        self._open_journal()
        assert self._journal is not None
        return list(self._journal.records())

    def append(self, lines: bytes) -> None:
        """Journal lines that will be learned from; they are on the disk when this returns.

        If the lines of the call before were not `learned`, as after an interrupt, this raises: a
        crash would bring them back at a step whose noise was used for other lines.
        """
        assert self._journal is not None
        self._check_whole()
        self._interrupted = True
        try:
            self._journal.append(lines)
        except OSError:  # nothing was recorded
            self._interrupted = False
            raise

    def _check_whole(self) -> None:
        self.check_process()
        if self._interrupted:
            raise ValueError(
                "the stream was interrupted between recording rows and learning from them, or "
                "while its state was saved; open its folder again, which completes that"
            )

    def check_process(self) -> None:
        """Raise in a forked child: its parent would learn other rows at the same steps."""
        if not self.is_own:
            raise RuntimeError(
                "a forked process must not use the folder of its parent's stream: the parent goes "
                "on with the same noise; use it in the process that opened it"
            )

    @property
    def is_own(self) -> bool:
        """Whether this process opened the folder, and is no fork of the one that did."""
        return os.getpid() == self._process

    def learned(self) -> None:
        """Note that the journaled lines were learned from."""
        self._interrupted = False

    def save(self, model: PrivateOnline, more: Mapping[str, Any] = START) -> None:
        """Save the state, and begin a journal of the lines that follow it.

        The first state of a new stream is saved after its model has been charged. If lines of the
        journal were not `learned`, as after an interrupt, this raises: a state in the middle of a
        step would take the place of the journal that completes it. If the state was replaced and
        its journal was not, as after an interrupt, nothing more can be recorded: lines in the
        journal of the earlier state would be lost.
        """
        self._check_whole()
        earlier, self._interrupted = self.more, True
        try:
            self.more = {**more, "saves": earlier["saves"] + 1}
            save_state(model, self.folder / _STATE, self.more)
            self._open_journal(new=True)
        except BaseException:
            self.more = earlier
            self._interrupted = self._saves() != earlier["saves"]
            raise
        self._interrupted = False

    def _saves(self) -> int | None:
        """The number of the state on the disk; None if it cannot be read."""
        if not self.exists:
            return 0
        try:
            return int(read(self.folder / _STATE)[0]["more"]["saves"])
        except (OSError, ValueError):
            return None

    def _open_journal(self, *, new: bool = False) -> None:
        if self._journal is not None:
            self._journal.close()
        self._journal = Journal(path := _journal_of(self.folder, self.more), new=new)
        for name in os.listdir(self.folder):
            # Remove journals of earlier states, and files that a crash left incomplete.
            if name.startswith(("journal-", ".dplasso-")) and name != path.name:
                os.unlink(self.folder / name)

    def write(self, name: str, document: dict[str, Any]) -> None:
        """Write a small file next to the state; it is replaced in one step."""
        self.check_process()
        replace_file(self.folder / name, json.dumps(document, allow_nan=False).encode())

    def taken(self) -> dict[str, Any]:
        """Count the lines and bytes in the state and its journal, without learning from them."""
        more = dict(START)
        if self.exists:
            more = read(self.folder / _STATE)[0]["more"]
            with Journal(_journal_of(self.folder, more)) as journal:
                lines = list(journal.records())
            more["input_bytes"] += sum(map(len, lines))
            more["lines"] += sum(part.count(b"\n") for part in lines)
        return {"lines": more["lines"], "input_bytes": more["input_bytes"]}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._journal is not None:
            self._journal.close()
        if self._lock is not None:
            os.close(self._lock)
        self._lock = None


def _same(known: Any, found: Any) -> bool:
    """Whether a setting equals the stored one; early files hold it as text."""
    if isinstance(known, str) and isinstance(found, int | float):
        try:
            return float(known) == found
        except ValueError:
            return False
    return bool(known == found)


def _journal_of(folder: Path, more: dict[str, Any]) -> Path:
    return folder / f"journal-{more['saves']}"


def _ours(name: str) -> bool:
    known = (_CONFIG, _STATE, _LOCK, "README.txt", "metrics.json")
    return name in known or name.startswith(("journal-", ".dplasso-"))
