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


def draws_charged_to_the_label_holder_alone(monkeypatch):
    """Parties without labels are not charged for their draws."""
    right = FederatedPlan.event_of

    def event_of(self, party):
        if party == self.terms.label_holder:
            return right(self, party)
        return right(dataclasses.replace(self, asks=dict.fromkeys(self.asks, 0)), party)

    monkeypatch.setattr(FederatedPlan, "event_of", event_of)


@of_any_size
def noise_of_features_times(monkeypatch, size):
    """Sketches of features have less noise than is charged."""
    right = FederatedPlan.sketch_noise.fget
    monkeypatch.setattr(FederatedPlan, "sketch_noise", property(lambda plan: size * right(plan)))
