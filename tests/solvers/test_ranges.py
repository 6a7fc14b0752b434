"""Public numbers beyond double precision are refused: in time, by name, and for any data."""

import math

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import dplasso
from dplasso.losses import LogisticLoss, SquaredLoss
from dplasso.solvers import check_range
from dplasso.solvers.frank_wolfe import LARGEST, LARGEST_ROW, MOST_ROUNDS, SMALLEST

X = np.array([[1.0, 0.5], [0.0, 1.0], [1.0, 0.0]])
Y = np.array([0, 1, 1])


def solve(**options):
    given = {"loss": LogisticLoss(), "radius": 1.0, "rounds": 3, "theta": 0.1, "generator": 0}
    scale = options.get("x_bound", 1.0)
    return dplasso.frank_wolfe(X * scale, Y, **{**given, **options})


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"radius": 1e155, "x_bound": 1e-100}, "^radius must lie between"),
        ({"radius": 1e200, "x_bound": 1e-200}, "^radius must lie between"),
        ({"radius": 1e-100, "x_bound": 1.0}, "^radius must lie between"),
        ({"radius": 1.0, "x_bound": 1e91}, "^x_bound must lie between"),
        ({"radius": 1.0, "x_bound": 1e-170}, "^x_bound must lie between"),
        ({"radius": 1e80, "x_bound": 1e80}, "^radius times x_bound must lie between"),
        ({"loss": SquaredLoss(y_bound=1e200)}, "bound on row gradients .* must lie between"),
        (
            {"theta": 1.1 * LARGEST_ROW / LogisticLoss().gradient_bound(1.0, 1.0)},
            "theta lets a row",
        ),
        ({"theta": 1e-150}, "theta lets a row"),
        ({"loss": SquaredLoss(1.0, residual_bound=1e-12)}, "residual_bound must be at least 1e-09"),
        ({"rounds": MOST_ROUNDS + 1}, "rounds must be a whole number of at most 1,000,000,000"),
    ],
)
def test_numbers_out_of_range_are_refused_by_name(options, named):
    with pytest.raises(ValueError, match=named):
        solve(**options)


@settings(max_examples=40, deadline=None)
@given(
    st.floats(math.log10(SMALLEST), math.log10(LARGEST)),
    st.floats(math.log10(SMALLEST), math.log10(LARGEST)),
    st.sampled_from(["logistic", "squared", "huber"]),
    st.floats(-6.0, math.log10(LARGEST_ROW)),
    st.sampled_from([0.0, 0.9]),
)
@example(69.87147201896269, -45.82940640625751, "logistic", 2.233915707470251, 0.9)
def test_what_is_accepted_runs_and_ends(log_radius, log_bound, name, log_row, step):
    """At the ends of the ranges nothing overflows: the walk stays a number."""
    radius, x_bound = 10.0**log_radius, 10.0**log_bound
    loss = {
        "logistic": LogisticLoss(),
        "squared": SquaredLoss(y_bound=1.0),
        "huber": SquaredLoss(y_bound=1.0, residual_bound=1e-3),
    }[name]
    theta = 10.0**log_row / (x_bound * loss.gradient_bound(radius, x_bound))
    try:
        check_range(loss, radius, x_bound, theta)
    except ValueError:
        return
    found = solve(
        radius=radius,
        x_bound=x_bound,
        loss=loss,
        theta=theta,
        rounds=100,
        step=step or "decreasing",
    )
    total = np.abs(found.weights.toarray()).sum()
    assert 0.0 < total <= radius * (1.0 + 1e-9)


def test_whether_theta_is_refused_does_not_depend_on_the_number_of_rows():
    for rows in (1, 3000):
        data, labels = np.ones((rows, 2)), np.arange(rows) % 2
        for theta, refused in ((100.0, False), (1e5, True)):
            options = {"loss": LogisticLoss(), "radius": 1.0, "rounds": 2, "theta": theta}
            if refused:
                with pytest.raises(ValueError, match="theta lets a row"):
                    dplasso.frank_wolfe(data, labels, **options)
            else:
                dplasso.frank_wolfe(data, labels, **options)
