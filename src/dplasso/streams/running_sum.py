"""A running sum of private rows: rows are added exactly, and releases have noise."""

import threading
from collections.abc import Callable
from typing import Any, NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from dplasso.base import checks
from dplasso.base.arrays import Floats, Ints
from dplasso.base.one_at_a_time import OneAtATime
from dplasso.base.wording import ParameterError
from dplasso.mechanisms.noise_key import NoiseKey
from dplasso.mechanisms.random_bits import RandomBits, random_bits
from dplasso.privacy.events import Gaussian, PureDP
from dplasso.streams import account, constructions, statement
from dplasso.streams.blocks import STEPS, BlockNoise, OpenBlock, of_whole_blocks
from dplasso.streams.doubling import steps_before
from dplasso.streams.drawn_ahead import DrawnAhead
from dplasso.streams.process import Stretch
from dplasso.streams.settings import Settings
from dplasso.streams.whole_rows import WholeRows

KIND, VERSION = "dplasso-running-sum", 1


class State(NamedTuple):
    """The complete state of a running sum, in the form that `dplasso.storage.write` takes.

    It holds the exact sum and the key of all noise: it is as secret as the rows, and not a release.
    """

    header: dict[str, Any]
    arrays: dict[str, NDArray[Any]]


BeforeRelease = Callable[[State], None]

_MOST_BEHIND = 1 << 22  # most steps by which a saved noise state may be behind its stream


class RunningSum:
    """A sum to which rows are added step by step, and which is released with noise.

    `running_sum` makes one.

    Formal guarantees
    -----------------
    - The promise, the neighbouring relation and the cost: see `dplasso.streams.account`, and
      ``event`` and ``privacy`` for the numbers. docs/explanation/online.md has the whole argument.
    - Released: the sums that `add` and `release` return, each the exact sum of integer vectors of
      bounded length (`WholeRows`) plus noise that reads no data (`NoiseProcess`).
    - Assumptions: nobody sees `state`, and of all copies with one key at most one continues from a
      step. If a program is resumed from a state that is older than its last release, and other rows
      are then added, two sums with the same noise are released: their difference reveals rows
      without noise. So a state must be saved before a release leaves: ``before_release`` is called
      with it each time, and if it raises nothing is returned. Resumed with the same rows, a sum
      repeats its releases bit by bit, which costs nothing.
    - A signal handler that asks for a sum while rows are added is refused: that sum would have the
      same noise as the one that follows.

    Examples
    --------
    >>> sums = running_sum(2, sensitivity=1.0, window=100, epsilon=1.0, delta=1e-6, seed=0)
    >>> released = sums.add(np.array([0.6, 0.8]))
    >>> bool(np.all(released == sums.release())), sums.position
    (True, 1)
    """

    def __init__(
        self, settings: Settings, key: NoiseKey, before_release: BeforeRelease | None = None
    ) -> None:
        self.settings, self.position = constructions.chosen(settings), 0
        self.before_release = before_release
        grid = constructions.grid_of(self.settings)
        self._key, self._private, self._limited = key, settings.private, settings.steps is not None
        self.bits, self.unit = grid.bits, settings.sensitivity / (1 << grid.bits)
        sizes = settings.dimension, settings.sensitivity, grid.bits
        self._rows = WholeRows(*sizes, settings.batch, settings.too_long)
        process = constructions.noise_process(self.settings, grid, key)
        self.noise: BlockNoise | DrawnAhead
        self.blocks: BlockNoise | None = None
        if isinstance(process, BlockNoise):  # draws what is looked at
            self.noise = self.blocks = process
        else:
            self.noise = self._ahead = DrawnAhead(process, settings.dimension, settings.steps)
        # The exact sum in units of `unit`, to which a compiled loop adds: secret.
        self.total: Ints = np.zeros(settings.dimension, np.int64)
        # Two threads at the same step could release two sums with the same noise.
        self._one_thread, self._alone = threading.RLock(), OneAtATime()
        self._single = 0  # the latest step that `next_step` took

    def add(self, rows: Any) -> Floats:
        """Add the rows of one step, and release the sum of all rows so far.

        ``rows`` is a vector, a dense or scipy.sparse matrix of ``batch`` rows, or a pair of indices
        and values.
        """
        self.check_process()
        with self._one_thread, self._alone:
            self._check_room(1)
            whole = self._rows.of(rows)
            # The step advances first: noise used once must never be added to another sum.
            self.position += 1
            for where, values in whole:
                self.total[where] += values
            return self._released()

    def release(self) -> Floats:
        """The noisy sum of all rows so far; it is the same each time it is requested."""
        self.check_process()
        with self._one_thread, self._alone:
            return self._released()

    def _released(self) -> Floats:
        if self.before_release is not None:
            self.before_release(self.state())
        if self.position == 0:
            return np.zeros(self.settings.dimension)
        noise = self.noise.at(self.position)
        released: Floats = (self.total + noise.values).astype(np.float64)
        # Rounding down took half a unit from each noise on average.
        released += 0.5 * noise.floors
        released *= self.unit
        return released

    def stretch(self, steps: int) -> Stretch:
        """Noise of the next steps, for a compiled loop that adds to `total` and releases itself.

        The position advances at once: even if the loop fails, the noise of these steps is not
        returned again. The caller must have saved a state, or the rows that will be added, before
        any release leaves.
        """
        self.check_process()
        checks.count("steps", steps, 0)  # fewer would go back to noise that was used
        with self._one_thread:
            self._check_room(steps)
            self.position += steps
            return self.noise.ahead(self.position - steps + 1, steps)

    def next_step(self) -> tuple[Ints, int, int]:
        """Noises, the place of the next step's among them, and how often it was rounded down.

        It is `stretch` for learners of single rows, and leaves out what would slow them down: they
        call `check_process` first, and take one step at a time.
        """
        if self._limited:
            self._check_room(1)
        self.position = self._single = step = self.position + 1
        start, (values, _), rounded, _ = self._ahead.held
        place = step - start
        if 0 <= place < len(rounded):
            return values, place, rounded[place]
        values, floors = self.noise.ahead(step, 1)
        return values, 0, int(floors[0])

    def advance(self, steps: int) -> None:
        """Take the next steps, for a loop that adds to `total` and looks at few numbers of it.

        As for `stretch`, the position advances at once, and the caller must have saved a state.
        """
        self.check_process()
        checks.count("steps", steps, 0)
        with self._one_thread:
            self._check_room(steps)
            self.position += steps

    def open_block(self, step: int) -> tuple[OpenBlock, int]:
        """The block of a step that was taken, whose noise is drawn number by number.

        Only for ``construction="blocks"``. Also returns the place of the step within the block.
        """
        assert self.blocks is not None
        self.check_process()
        return self.blocks.opened(step)

    def take_back(self) -> None:
        """Undo `next_step` before its noise was added to anything, as for a row that is refused.

        Steps of `add` and of other calls cannot be undone: their noise was used.
        """
        if self._single != self.position:
            raise RuntimeError("only a step of next_step can be taken back, and only once")
        self._single, self.position = 0, self.position - 1

    def _check_room(self, steps: int) -> None:
        declared = self.settings.steps
        if declared is not None and self.position + steps > declared:
            raise ParameterError(f"{{steps}} must be at most the declared {declared}; declare more")

    def check_process(self) -> None:
        """Raise in a forked child."""
        # Buffers draw from words derived from the key, and would not check this themselves.
        if self._private:
            self._key.check_process()

    @property
    def place(self) -> tuple[str, int]:
        """An identifier of the stream, derived from its key, and the position: secret."""
        return self._key.secret.hex(), self.position

    @property
    def event(self) -> Gaussian | PureDP:
        """The event of all releases for a row while it is protected; charge it once, beforehand."""
        return account.event(self.settings)

    @property
    def privacy(self) -> dict[str, Any]:
        """The privacy statement, ready for JSON."""
        return statement.statement(self.settings, secure=self._key.secure)

    def state(self) -> State:
        """The complete state, to continue from later. It is secret: see `State`."""
        header = {
            "kind": KIND,
            "version": VERSION,
            "settings": self.settings.as_json(),
            "position": self.position,
            "key": self._key.secret.hex(),
            "secure": self._key.secure,
        }
        noise = {f"noise_{name}": array for name, array in self.noise.state().items()}
        if noise:  # the noise may stand before the position, which is therefore told twice
            noise["noise_position"] = np.array([self.position])
        return State(header, {"sum": self.total.copy(), **noise})

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "a running sum can not be copied: two that go on with the same noise would undo its "
            "protection; use state and from_state, and go on with one of them only"
        )

    @classmethod
    def from_state(cls, state: State, before_release: BeforeRelease | None = None) -> "RunningSum":
        """Continue where `state` was taken, with the same noise."""
        header, arrays = state
        if header.get("kind") != KIND or header.get("version") != VERSION:
            raise ValueError(
                f"state must be that of a running sum, version {VERSION}, got another; "
                "give what RunningSum.state returned"
            )
        key = NoiseKey(bytes.fromhex(header["key"]), secure=header["secure"])
        settings, found = Settings.from_json(header["settings"]), arrays["sum"]
        # Checked first: the steps below allocate memory for the claimed dimension.
        if found.shape != (settings.dimension,) or found.dtype != np.int64:
            raise ValueError(
                "state must have a sum of as many whole numbers as columns; it has not"
            )
        sums = cls(settings, key, before_release)
        sums.total[:] = found
        sums.position = checks.count("position", header["position"], 0)
        noise = {name[6:]: array for name, array in arrays.items() if name.startswith("noise_")}
        if noise:  # absent in states of earlier versions and of some constructions
            sums.noise.resume(noise)
            _check_reached(noise, sums.position, settings)
        return sums


def _check_reached(noise: dict[str, NDArray[Any]], position: int, settings: Settings) -> None:
    """Reject noise of another position, or so far from it that catching up would take too long."""
    if "position" in noise and noise["position"].tolist() != [position]:
        raise ValueError("state must have noise of the steps that were taken; it has not")
    first_steps = settings.first_steps
    if whole := of_whole_blocks(noise):
        noise, position = whole, position // STEPS
        first_steps = constructions.first_blocks(settings)
    if "step" in noise:
        before = steps_before(int(noise["epoch"][0]), first_steps) if "epoch" in noise else 0
        if not 0 <= position - before - int(noise["step"][0]) <= _MOST_BEHIND:
            raise ValueError("state must have noise of the steps that were taken; it has not")


def running_sum(
    dimension: int,
    *,
    seed: int | np.random.Generator | RandomBits | None = None,
    before_release: BeforeRelease | None = None,
    **settings: Any,
) -> RunningSum:
    """A private running sum of vectors of ``dimension`` numbers.

    Parameters other than ``seed`` and ``before_release`` are those of `Settings`, by name.

    Parameters
    ----------
    dimension : int
    sensitivity : float
        Bound on the 2-norm of a row.
    window : int, optional
        Number of latest rows that are protected. Older rows expire: later releases may reveal them.
        Without a window all rows are protected forever, in a stream of at most ``steps`` steps.
    steps : int, optional
        Length of a stream without a window; by default any length, at the price of more noise.
    batch : int, default 1
        Rows per step. The window is rounded up to whole steps.
    epsilon, delta, rho : float, optional
        The budget of a row: ``rho``, or ``epsilon`` and ``delta``, or ``epsilon`` alone with
        ``noise="gamma"``. `math.inf` means no noise and no privacy.
    noise : "gaussian" or "gamma", default "gaussian"
        "gamma" gives privacy without delta, and takes far more noise.
    construction : str, default "auto"
        "band", the most accurate, keeps ``window`` vectors of noise; "regenerated_band" is the same
        with the memory of a few vectors, and draws ``window`` vectors per step; "buffered" has 1 to
        5 % more error than a band, keeps a few vectors and takes the least work; "blocks" has half
        as much again, and draws noise only for numbers that are looked at; "tree" has up to 3
        times the error; "window_tree" is the published one. "auto" uses buffers if they fit into
        ``memory`` bytes, otherwise the tree. Trees round the window up to a power of 2.
    calibration : "tight" or "paper", default "tight"
        "paper" is the published noise, which is far more than the budget requires.
    neighboring : "add_remove" or "replace_one", default "add_remove"
        One row is replaced by 0, or by any other row.
    first_steps : int, default 1
        Steps of the first epoch of an endless stream; each epoch has twice as many as the one
        before. Every epoch that a stream has passed adds noise, so that buffers are more accurate
        with a long first epoch from 32 steps on.
    too_long : "clip" or "refuse", default "clip"
        Scale longer rows down to ``sensitivity``, or raise an error.
    memory : int, default 2^30
        Most bytes for the sum and its noise.
    seed : int, Generator or RandomBits, optional
        By default randomness is secret; a seed protects nothing, and is for tests.
    before_release : callable, optional
        Called with the state before each release; see `RunningSum`.

    Returns
    -------
    RunningSum

    Formal guarantees
    -----------------
    See `RunningSum`.

    Examples
    --------
    >>> sums = running_sum(1000, sensitivity=1.0, window=64, rho=0.1)
    >>> sums.settings.construction, sums.event
    ('buffered', Gaussian(noise_multiplier=2.23606797749979))
    """
    return RunningSum(
        Settings(dimension, **settings), NoiseKey.drawn(random_bits(seed)), before_release
    )
