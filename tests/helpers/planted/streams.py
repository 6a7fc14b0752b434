"""Bugs in streams."""

import math

import numpy as np
from scipy.special import expit

from dplasso.estimators import (
    online_base,
    online_rules,
)
from dplasso.kernels import stream_steps
from dplasso.mechanisms.grid_gamma import GridGamma
from dplasso.online import stream_learner
from dplasso.streams import account, buffered, covers
from dplasso.streams.buffered import BufferedNoise
from dplasso.streams.settings import Settings, Span
from planted.bug import of_any_size


def block_before_added_clean(monkeypatch):
    """When a new block starts, the noise of the block before is removed, but its rows stay."""

    def forgetful(block):
        def cover(step):
            start = (step - 1) // block * block
            return covers.prefix(start, step - start)

        return cover

    monkeypatch.setattr(covers, "root_kept", forgetful)


def clip_forgotten(monkeypatch):
    """Gradients are added to the sum without clipping (two classes, logistic loss)."""

    def add_rows(rows, labels, first, last, weights, loss, bits, total, margins):
        starts, columns, values = rows
        for i in range(first, last):
            mine = slice(starts[i], starts[i + 1])
            margins[i, 0] = weights[columns[mine]] @ values[mine]
            slope = expit(margins[i, 0]) - labels[i]
            whole = np.trunc(slope * values[mine] * (2.0**bits / loss[1]))
            total[columns[mine]] += whole.astype(np.int64)

    monkeypatch.setattr(stream_learner, "_compiled", lambda *_: None)
    monkeypatch.setattr(stream_steps, "add_rows", add_rows)


def window_charged_short(monkeypatch):
    """Noise is made for rows that are protected half as long."""
    right = buffered.buffered_sensitivity
    monkeypatch.setattr(
        buffered, "buffered_sensitivity", lambda window, *rest: right(max(1, window // 2), *rest)
    )


def window_shorter_than_asked(monkeypatch):
    """The sum is given half of the number of rows to protect."""
    right = online_rules.Settings

    def short(dimension, *, window, **more):
        return right(dimension, window=window // 2, **more)

    monkeypatch.setattr(online_rules, "Settings", short)


def relation_forgotten(monkeypatch):
    """Noise is calibrated for "add_remove" although rows are replaced."""
    monkeypatch.setattr(Settings, "reach", 1)


def rows_beyond_the_clip_mark_the_weights(monkeypatch):
    """Weights after a step with a very long row are marked as unreliable, by NaN."""
    right, weights = stream_learner.StreamLearner.learn, stream_learner.StreamLearner.weights.fget

    def learn(self, rows, *rest):
        values = rows[2][rows[0][0] : rows[0][-1]]
        self.unreliable = math.sqrt(values @ values) > 4.0 * self._loss[1]
        return right(self, rows, *rest)

    def marked(self):
        found = weights(self)
        return np.full_like(found, math.nan) if getattr(self, "unreliable", False) else found

    monkeypatch.setattr(stream_learner.StreamLearner, "learn", learn)
    monkeypatch.setattr(stream_learner.StreamLearner, "weights", property(marked))


@of_any_size
def exact_sum_in_the_weights(monkeypatch, size):
    """A little of the sum without noise is in the weights, to steady them."""
    right = stream_learner.StreamLearner._learn

    def learn(self, *parts):
        right(self, *parts)
        self._leader.weights = self._leader.weights - size * self._total.total * self._total.unit

    monkeypatch.setattr(stream_learner.StreamLearner, "_learn", learn)


def charge_forgotten(monkeypatch):
    """A stream starts without a charge to the accountant."""
    monkeypatch.setattr(online_base, "charge", lambda *parts: None)


def levels_forgotten(monkeypatch):
    """Gamma noise of a node is for one node, not for all that hold a row."""
    monkeypatch.setattr(account, "gamma_scale", lambda settings, span: 1.0 / settings.epsilon)


@of_any_size
def gamma_noise_times(monkeypatch, size):
    """Gamma noise is drawn at a smaller scale than is stated."""
    right = GridGamma.__init__
    monkeypatch.setattr(
        GridGamma, "__init__", lambda self, numbers, scale: right(self, numbers, size * scale)
    )


def classes_clipped_one_by_one(monkeypatch):
    """Every class has a gradient of its own, and that is clipped.

    All classes of a row together can exceed the clip, by up to the root of the number of classes.
    """

    def add_rows(rows, labels, first, last, weights, loss, bits, total, margins):
        starts, places, values = rows
        clip, outputs = loss[1], margins.shape[1]
        width = weights.size // outputs
        for i in range(first, last):
            mine = slice(starts[i], starts[i + 1])
            for k in range(outputs):
                margins[i, k] = weights[k * width + places[mine]] @ values[mine]
                label = float(labels[i] == k) if outputs > 1 else labels[i]
                gradient = (expit(margins[i, k]) - label) * values[mine]
                length = math.sqrt(gradient @ gradient)
                gradient *= min(1.0, clip / length) if length > 0.0 else 0.0
                whole = np.trunc(gradient * (2.0**bits / clip * (1.0 - 2.0**-40)))
                total[k * width + places[mine]] += whole.astype(np.int64)

    monkeypatch.setattr(stream_learner, "_compiled", lambda *_: None)
    monkeypatch.setattr(stream_steps, "add_rows", add_rows)


def window_rounded_down(monkeypatch):
    """A window has as many steps as batches fit into it.

    Of a window of 100 rows in batches of 30, ten rows expire before their time.
    """

    def span(self):
        if self.window is not None:
            return Span(max(1, self.window // self.batch), slides=True)
        return None if self.steps is None else Span(self.steps, slides=False)

    monkeypatch.setattr(Settings, "span", property(span))


def leaves_not_counted(monkeypatch):
    """A tree over 2^k steps has k levels.

    With its leaves it has k + 1, each of which holds the row: noise is short by the root of
    (k + 1) / k.
    """
    right = account.tree_deviation

    def tree_deviation(settings, span):
        short = math.sqrt(max(span.levels - 1, 1) / span.levels)
        return right(settings, span) * short

    monkeypatch.setattr(account, "tree_deviation", tree_deviation)


@of_any_size
def noise_of_streams_times(monkeypatch, size):
    """The draws of a stream are smaller than its matrix says."""
    right = BufferedNoise._drawn
    monkeypatch.setattr(
        BufferedNoise,
        "_drawn",
        lambda self, *steps: np.rint(size * right(self, *steps)).astype(np.int64),
    )


@of_any_size
def sensitivity_of_streams_times(monkeypatch, size):
    """A row is said to move the releases of its window by less than it does."""
    right = buffered.buffered_sensitivity
    monkeypatch.setattr(buffered, "buffered_sensitivity", lambda *facts: size * right(*facts))


@of_any_size
def gradients_of_streams_times(monkeypatch, size):
    """Gradients are a little longer than the clip."""
    right = stream_steps.add_rows

    def add_rows(*facts):
        total = facts[-2]
        before = total.copy()
        right(*facts)
        total[:] = before + np.rint(size * (total - before)).astype(np.int64)

    monkeypatch.setattr(stream_learner, "_compiled", lambda *_: None)
    monkeypatch.setattr(stream_steps, "add_rows", add_rows)
