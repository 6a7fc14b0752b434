"""Faults of graded size: at least one for each check and each solver that it tests.

Sizes go from the smallest fault to the largest. Where a size is a factor, 1 is the correct code;
where it is a period, noise repeats after that many draws.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from planted import (
    bits,
    choices,
    corrections,
    descents,
    envelope,
    federation,
    frank_wolfe,
    people,
    released_bound,
    rows,
    search,
    storage,
    streams,
    table_fits,
    tables,
)
from planted.bug import Plant

LARGER = (1.02, 1.05, 1.1, 1.2, 1.5, 2.0, 4.0)
SMALLER = (0.99, 0.98, 0.96, 0.9, 0.8, 0.5, 0.1)
MUCH_SMALLER = (0.9, 0.7, 0.5, 0.4, 0.3, 0.2, 0.1)
SHARES = (0.01, 0.02, 0.05, 0.1, 0.3, 0.6, 1.0)
LITTLE = tuple(10.0**-k for k in (20, 18, 16, 14, 12, 9, 3))
_POWERS = (14, 12, 11, 10, 9, 8, 6, 3)
JUST_ABOVE = tuple(1.0 + 10.0**-k for k in _POWERS)
SOME_ABOVE = tuple(1.0 + 10.0**-k for k in (14, 11, 6))  # where a check takes long
COARSE_ABOVE = tuple(1.0 + 10.0**-k for k in (7, 6, 5, 4, 3, 2))  # of whole numbers
JUST_BELOW = tuple(1.0 - 10.0**-k for k in _POWERS)
PERIODS = (100_000, 50_000, 20_000, 5_000, 1_000, 100, 10)
SHORT_PERIODS = (40, 30, 20, 10, 5, 2, 1)
KEY_BYTES = (31, 24, 16, 8, 4, 2, 1)


class Fault(NamedTuple):
    """A check, a fault of any size, and the estimator that the fault is planted for."""

    check: str
    what: str
    plant: Callable[[float], Plant]
    sizes: Sequence[float]
    solver: str = "frank_wolfe"
    options: Mapping[str, Any] = {}


GAMMA = {"noise": "gamma"}
FAULTS = [
    Fault("accounting", "theta stated, times", frank_wolfe.stated_theta_times, JUST_ABOVE),
    Fault(
        "accounting",
        "noise asked for, times",
        descents.noise_asked_for_times,
        JUST_BELOW,
        "gradient",
    ),
    Fault(
        "accounting",
        "noise asked for, times",
        table_fits.noise_asked_for_times,
        JUST_BELOW,
        "table",
    ),
    Fault(
        "accounting", "noise of labels, times", choices.noise_of_labels_times, JUST_BELOW, "select"
    ),
    Fault(
        "accounting",
        "sensitivity of the noise, times",
        streams.sensitivity_of_streams_times,
        JUST_BELOW,
        "online",
    ),
    Fault("range", "theta drawn with, times", frank_wolfe.theta_times, JUST_ABOVE),
    Fault("range", "clip of entries, times", rows.clip_times, JUST_ABOVE),
    Fault("range", "theta drawn with, times", choices.theta_of_choices_times, JUST_ABOVE, "select"),
    Fault("envelope", "drift of scores, times", envelope.drift_times, SMALLER),
    Fault("envelope", "Lipschitz constant, times", envelope.lipschitz_times, SMALLER),
    Fault("envelope", "scores of cohorts, times", envelope.cohort_scores_times, JUST_ABOVE),
    Fault("envelope", "norms of columns, times", envelope.limits_times, SMALLER),
    Fault("envelope", "curvature of the loss, times", envelope.curvature_times, SMALLER),
    Fault("envelope", "bound on light columns, times", envelope.light_rate_times, MUCH_SMALLER),
    Fault("sensitivity", "counts by margin, times", corrections.counts_times, COARSE_ABOVE),
    Fault("sensitivity", "length of rows, times", rows.rows_times, JUST_ABOVE, "gradient"),
    Fault(
        "sensitivity",
        "length of rows, times",
        table_fits.length_of_rows_times,
        JUST_ABOVE,
        "table",
    ),
    Fault("sensitivity", "length of rows, times", rows.rows_times, JUST_ABOVE, "select"),
    Fault("sensitivity", "labels in their sum, times", choices.labels_times, JUST_ABOVE, "select"),
    Fault(
        "sensitivity",
        "length of gradients, times",
        streams.gradients_of_streams_times,
        JUST_ABOVE,
        "online",
        {"row_map": "as_is"},
    ),
    Fault("release", "coefficients, times", frank_wolfe.coefficients_times, JUST_ABOVE),
    *(
        Fault(
            "release",
            "exact sum in the intercept, times",
            descents.rows_in_the_intercepts,
            LITTLE,
            solver,
        )
        for solver in ("gradient", "select")
    ),
    Fault(
        "release",
        "exact sum in the intercept, times",
        table_fits.rows_in_the_intercepts,
        LITTLE,
        "table",
    ),
    Fault(
        "release",
        "exact sum in the weights, times",
        streams.exact_sum_in_the_weights,
        LITTLE,
        "online",
    ),
    *(
        Fault(
            "bound",
            "range of the losses, times",
            released_bound.range_of_losses_times,
            JUST_BELOW,
            solver,
        )
        for solver in ("frank_wolfe", "gradient", "table", "select")
    ),
    Fault("bound", "theta drawn with, times", released_bound.bounds_drawn_times, LARGER),
    Fault("representation", "clip by precision, times", storage.clip_by_storage, SOME_ABOVE),
    *(
        Fault(
            "representation",
            "length of rows by precision, times",
            storage.units_by_storage,
            SOME_ABOVE,
            solver,
            {"row_map": "as_is"},
        )
        for solver in ("gradient", "select")
    ),
    Fault(
        "representation",
        "length of rows by precision, times",
        storage.rows_of_a_call_by_storage,
        SOME_ABOVE,
        "online",
    ),
    Fault(
        "representation",
        "cells by precision, times",
        table_fits.cells_by_storage,
        COARSE_ABOVE,
        "table",
    ),
    Fault("parties", "noise of sketches, times", federation.noise_of_features_times, JUST_BELOW),
    Fault(
        "parties",
        "entries by precision, times",
        storage.entries_of_parties_by_storage,
        COARSE_ABOVE,
    ),
    Fault("tables", "decimals, times", tables.decimals_times, JUST_ABOVE),
    Fault("search", "noise of scores, times", search.noise_of_scores_times, JUST_BELOW),
    Fault("generator", "share of bytes with a bit set", bits.bytes_biased, SHARES),
    Fault("generator", "bytes of chance in a key", bits.key_of_bytes, KEY_BYTES),
    Fault("bits", "rounds until bits come again", bits.bits_reused_every, PERIODS),
    *(
        Fault(
            "bits",
            "releases until noise comes again",
            bits.noise_of_sums_reused_every,
            SHORT_PERIODS,
            solver,
        )
        for solver in ("gradient", "table", "select")
    ),
    Fault("bits", "steps until noise comes again", bits.steps_counted_modulo, PERIODS, "online"),
    Fault("count", "noise of the count, times", frank_wolfe.noise_of_the_count_times, SMALLER),
    Fault("law", "theta drawn with, times", frank_wolfe.theta_times, LARGER),
    Fault("law", "share of rounds whose sign is read", frank_wolfe.some_signs_read, SHARES),
    Fault("law", "theta drawn with, times", choices.theta_of_choices_times, LARGER, "select"),
    Fault("noise", "noise of a correction, times", descents.noise_times, SMALLER),
    Fault("noise", "noise of sums, times", descents.noise_times, SMALLER, "gradient"),
    Fault("noise", "noise of sums, times", descents.noise_times, SMALLER, "table"),
    Fault("noise", "noise of sums, times", descents.noise_times, SMALLER, "select"),
    Fault("noise", "noise of sums, times", streams.noise_of_streams_times, SMALLER, "online"),
    Fault("noise", "Gamma noise, times", streams.gamma_noise_times, SMALLER, "online", GAMMA),
    Fault("canary", "theta drawn with, times", frank_wolfe.theta_times, LARGER),
    Fault("canary", "share of rounds whose sign is read", frank_wolfe.some_signs_read, SHARES),
    Fault("canary", "noise of sums, times", descents.noise_times, SMALLER, "gradient"),
    Fault("canary", "noise of sums, times", descents.noise_times, SMALLER, "table"),
    Fault("canary", "noise of sums, times", descents.noise_times, SMALLER, "select"),
    Fault("canary", "noise of sums, times", streams.noise_of_streams_times, SMALLER, "online"),
    *(
        Fault("people", "weights of rows, times", people.weights_times, SOME_ABOVE, solver)
        for solver in ("frank_wolfe", "gradient", "table", "select")
    ),
]
