"""Models that hold other numbers than their fit found."""

from dataclasses import replace


def refitted(model, **changes):
    """The model itself, with other weights, intercepts or released values."""
    return model.restore(replace(model.fitted_, **changes))
