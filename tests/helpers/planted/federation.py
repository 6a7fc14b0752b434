"""Bugs in the releases of a federation's parties."""

from dplasso.federated.plan import FederatedPlan
from planted.bug import of_any_size


def label_noise_without_the_centre(monkeypatch):
    """The noise of the labels' sketch is for labels of at most their bound.

    They are sketched minus their mean: the error is up to a factor of 2 where most labels agree.
    """
    right = FederatedPlan.label_sketch_noise
    monkeypatch.setattr(FederatedPlan, "label_sketch_noise", lambda self, centre: right(self, 0))


@of_any_size
def noise_of_features_times(monkeypatch, size):
    """Sketches of features have less noise than is charged."""
    right = FederatedPlan.sketch_noise.fget
    monkeypatch.setattr(FederatedPlan, "sketch_noise", property(lambda plan: size * right(plan)))
