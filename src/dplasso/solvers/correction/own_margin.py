"""Margins of the rows of a fit, without what each row has added to its own margin."""

import math

import numpy as np

from dplasso.base.arrays import Floats

# A row whose margin is this far ahead is fitted: from there on it adds hardly anything.
FITTED = 3.0


def without_own(margins: Floats, labels: Floats, own: float) -> Floats:
    """Margins, outputs x rows, as if each row had not been in the fit.

    ``own`` is what a row has added to the margin of its own class if its residuals stayed at their
    clip throughout. A row that is soon fitted has added less: ``own`` times FITTED over the margin
    by which its class is ahead of the others. New rows have added nothing, so a scale for them must
    not be judged by margins that contain it.

    Formal guarantees
    -----------------
    A row's result is a function of its margins, its label and ``own`` alone, to the last bit: each
    operation is of one row, and rounded once. ``own`` must be a function of public numbers and
    releases.
    """
    if own == 0.0:
        return margins
    classes = len(margins)
    with np.errstate(all="ignore"):  # a warning would depend on the rows
        added = own * (FITTED / np.maximum(_ahead(margins, labels), FITTED))
        if classes == 1:
            one: Floats = margins - added * (2.0 * labels - 1.0)
            return one
        # A residual at its clip points from equal probabilities to the row's class.
        length = math.sqrt(1.0 - 1.0 / classes)
        ways = [((labels == k) - 1.0 / classes) / length for k in range(classes)]
        several: Floats = margins - added * np.stack(ways)
    return several


def _ahead(margins: Floats, labels: Floats) -> Floats:
    """By how much the margin of a row's class exceeds the largest other margin."""
    if len(margins) == 1:
        signed: Floats = margins[0] * (2.0 * labels - 1.0)
        return signed
    own, others = np.zeros(margins.shape[1]), np.full(margins.shape[1], -np.inf)
    for k, of_class in enumerate(margins):
        own = np.where(labels == k, of_class, own)
        others = np.where(labels == k, others, np.maximum(others, of_class))
    ahead: Floats = own - others
    return ahead
