"""Slips that would break the privacy of a stream, each planted where one would make it."""

import numpy as np
from scipy.special import expit

from dplasso.estimators import online_base, online_rules
from dplasso.kernels import stream_steps
from dplasso.mechanisms.grid_gamma import GridGamma
from dplasso.mechanisms.noise_key import NoiseKey
from dplasso.mechanisms.random_bits import random_bits
from dplasso.online import stream_learner
from dplasso.streams import account, buffered, covers
from dplasso.streams.buffered import BufferedNoise
from dplasso.streams.settings import Settings
from planted_bug import Bug


def block_before_added_clean(monkeypatch):
    """When a new block starts, the noise of the one before goes, and its rows are in the sum."""

    def forgetful(block):
        def cover(step):
            start = (step - 1) // block * block
            return covers.prefix(start, step - start)

        return cover

    monkeypatch.setattr(covers, "root_kept", forgetful)


def noise_of_two_steps(monkeypatch):
    """Draws are numbered by pairs of steps: every second one is that of the step before."""
    right = BufferedNoise._drawn
    monkeypatch.setattr(
        BufferedNoise,
        "_drawn",
        lambda self, first, count: np.concatenate(
            [right(self, step // 2, 1) for step in range(first, first + count)]
        ),
    )


def clip_forgotten(monkeypatch):
    """Gradients go into the sum as long as they are (two classes, logistic loss)."""

    def add_rows(rows, labels, first, last, weights, loss, bits, total, margins):
        starts, columns, values = rows
        for i in range(first, last):
            mine = slice(starts[i], starts[i + 1])
            margins[i, 0] = weights[columns[mine]] @ values[mine]
            slope = expit(margins[i, 0]) - labels[i]
            whole = np.trunc(slope * values[mine] * (2.0**bits / loss[1]))
            total[columns[mine]] += whole.astype(np.int64)

    monkeypatch.setattr(stream_learner, "_compiled", lambda leader: None)
    monkeypatch.setattr(stream_steps, "add_rows", add_rows)


def window_charged_short(monkeypatch):
    """Noise is made for rows that are protected half as long."""
    right = buffered.buffered_sensitivity
    monkeypatch.setattr(
        buffered, "buffered_sensitivity", lambda window, *rest: right(max(1, window // 2), *rest)
    )


def window_shorter_than_asked(monkeypatch):
    """The sum is told of half the rows that are to be protected."""
    right = online_rules.running_sum

    def short(dimension, *, window, **more):
        return right(dimension, window=window // 2, **more)

    monkeypatch.setattr(online_rules, "running_sum", short)


def relation_forgotten(monkeypatch):
    """Noise is for a row that is there or not, where rows are replaced."""
    monkeypatch.setattr(Settings, "reach", 1)


def weights_hold_the_exact_sum(monkeypatch):
    """A little of the sum without noise, to steady the weights."""
    right = stream_learner.StreamLearner._learn

    def learn(self, *parts):
        right(self, *parts)
        self._leader.weights = self._leader.weights - 1e-3 * self._total.total * self._total.unit

    monkeypatch.setattr(stream_learner.StreamLearner, "_learn", learn)


def one_key_for_all_streams(monkeypatch):
    """The key of the noise is made once."""
    key = NoiseKey.drawn(random_bits(5)).secret
    monkeypatch.setattr(NoiseKey, "drawn", lambda bits: NoiseKey(key, secure=bits.secure))


def charge_forgotten(monkeypatch):
    """A stream begins without a word to the accountant."""
    monkeypatch.setattr(online_base, "charge", lambda *parts: None)


def levels_forgotten(monkeypatch):
    """Gamma noise of a node is for one node, not for all that hold a row."""
    monkeypatch.setattr(account, "gamma_scale", lambda settings, span: 1.0 / settings.epsilon)


def gamma_noise_halved(monkeypatch):
    """What is drawn is half of what is said."""
    right = GridGamma.__init__
    monkeypatch.setattr(
        GridGamma, "__init__", lambda self, size, scale: right(self, size, scale / 2.0)
    )


def _slip(plant, found_by, options={}):  # noqa: B006  (never written to)
    return Bug(plant, found_by, "online", options)


BUGS = {
    "block before added clean": _slip(
        block_before_added_clean, ("accounting", "canary"), {"construction": "tree"}
    ),
    "noise of two steps the same": _slip(noise_of_two_steps, ("noise",)),
    "clip forgotten": _slip(clip_forgotten, ("sensitivity", "canary"), {"rows": "as_is"}),
    "window charged short": _slip(window_charged_short, ("accounting",)),
    "window shorter than asked": _slip(window_shorter_than_asked, ("accounting",)),
    "relation forgotten": _slip(
        relation_forgotten, ("noise", "canary"), {"neighboring": "replace_one"}
    ),
    "weights hold the exact sum": _slip(weights_hold_the_exact_sum, ("release",)),
    "one key for all streams": _slip(one_key_for_all_streams, ("noise",)),
    "charge forgotten": _slip(charge_forgotten, ("accounting",)),
    "levels of Gamma noise forgotten": _slip(levels_forgotten, ("accounting",), {"noise": "gamma"}),
    "Gamma noise halved": _slip(gamma_noise_halved, ("noise",), {"noise": "gamma"}),
}
