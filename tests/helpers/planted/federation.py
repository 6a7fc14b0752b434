"""Bugs in the releases of a federation's parties."""

import dataclasses

from dplasso.federated.holdings import Holdings
from dplasso.federated.plan import FederatedPlan
from planted.bug import of_any_size


def label_noise_without_the_centre(monkeypatch):
    """The noise of the labels' sketch is for labels of at most their bound.

    They are sketched minus their mean: the error is up to a factor of 2 where most labels agree.
    """
    right = FederatedPlan.label_sketch_noise
    monkeypatch.setattr(FederatedPlan, "label_sketch_noise", lambda self, centre: right(self, 0))


def budgets_kept_by_the_label_holder_alone(monkeypatch):
    """Only the label holder cuts its rows to their budgets: all others share whole entries."""
    right = Holdings.__init__

    def init(self, *facts, **options):
        right(self, *facts, **options)
        if self._labels is None:
            self._columns.for_sum = lambda column: column
            self._columns.for_sketch = lambda column, centre: column - centre

    monkeypatch.setattr(Holdings, "__init__", init)


def draws_of_the_label_holder_charged_alone(monkeypatch):
    """The draws of parties without labels are left out of what all parties are charged."""
    right = FederatedPlan.model_event.fget

    def model_event(self):
        asks = {party: n * (party == self.terms.label_holder) for party, n in self.asks.items()}
        return right(dataclasses.replace(self, asks=asks))

    monkeypatch.setattr(FederatedPlan, "model_event", property(model_event))


@of_any_size
def noise_of_features_times(monkeypatch, size):
    """Sketches of features have less noise than is charged."""
    right = FederatedPlan.sketch_noise.fget
    monkeypatch.setattr(FederatedPlan, "sketch_noise", property(lambda plan: size * right(plan)))
