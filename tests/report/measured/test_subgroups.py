"""Scores of groups are those that scikit-learn gives for their rows."""

import numpy as np
import pytest
from sklearn.metrics import (
    accuracy_score,
    confusion_matrix,
    mean_absolute_error,
    r2_score,
    roc_auc_score,
)

from dplasso.report.measured.subgroups import FEW, MISSING, MOST, OTHERS, by_group

RNG = np.random.default_rng(0)
ROWS = 600
TOWNS = RNG.choice(["Ulm", "Graz", "Bern"], ROWS, p=[0.6, 0.3, 0.1])


def groups_of(found):
    return {group.name: group for group in found.groups}


def test_groups_of_two_classes():
    truth = RNG.integers(0, 2, ROWS)
    second = np.clip(0.3 * truth + 0.7 * RNG.random(ROWS), 0, 1)
    scores, answers = np.column_stack([1 - second, second]), (second > 0.5).astype(int)
    found = by_group("town", TOWNS.tolist(), truth, answers, scores, 2)
    assert found.column == "town" and not found.of_numbers
    assert [group.name for group in found.groups] == ["Ulm", "Graz", "Bern"]  # by falling size
    for name, group in groups_of(found).items():
        own = name == TOWNS
        (tn, fp), (fn, tp) = confusion_matrix(truth[own], answers[own])
        assert group.rows == own.sum() and group.few == (own.sum() < FEW)
        assert group.score == pytest.approx(accuracy_score(truth[own], answers[own]))
        assert group.trivial == pytest.approx(max(truth[own].mean(), 1 - truth[own].mean()))
        assert group.auc == pytest.approx(roc_auc_score(truth[own], second[own]))
        assert group.recall == pytest.approx(tp / (tp + fn))
        assert group.false_alarms == pytest.approx(fp / (fp + tn))
        assert group.answered == pytest.approx((tp + fp) / own.sum())
        assert group.actual == pytest.approx((tp + fn) / own.sum())


def test_groups_of_several_classes():
    truth = RNG.integers(0, 3, ROWS)
    scores = RNG.dirichlet(np.ones(3), ROWS)
    answers = scores.argmax(axis=1)
    for name, group in groups_of(
        by_group("town", TOWNS.tolist(), truth, answers, scores, 3)
    ).items():
        own = name == TOWNS
        expected = roc_auc_score(truth[own], scores[own], multi_class="ovr")
        assert group.auc == pytest.approx(expected)
        assert group.score == pytest.approx(accuracy_score(truth[own], answers[own]))
        assert group.recall is None


def test_groups_of_numbers():
    truth = RNG.normal(size=ROWS)
    predicted = truth + RNG.normal(size=ROWS)
    found = by_group("town", TOWNS.tolist(), truth, predicted)
    assert found.of_numbers
    for name, group in groups_of(found).items():
        own = name == TOWNS
        assert group.score == pytest.approx(r2_score(truth[own], predicted[own]))
        assert group.size == pytest.approx(mean_absolute_error(truth[own], predicted[own]))
        assert group.error == pytest.approx((truth - predicted)[own].mean())


def test_without_probabilities_there_are_rates_and_no_area():
    truth, answers = np.array([0, 1, 1, 0]), np.array([0, 1, 0, 1])
    (group,) = by_group("a", ["x"] * 4, truth, answers, None, 2).groups
    assert group.auc is None and (group.recall, group.false_alarms) == (0.5, 0.5)


def test_a_group_of_one_class_has_no_area_and_one_rate():
    (group,) = by_group("a", ["x"] * 3, np.ones(3, int), np.array([1, 1, 0]), None, 2).groups
    assert group.false_alarms is None and group.recall == pytest.approx(2 / 3)
    (constant,) = by_group("a", ["x"] * 3, np.ones(3), np.zeros(3)).groups
    assert constant.score is None and constant.size == 1.0


def test_numbers_are_cut_into_quarters_and_blanks_kept_apart():
    ages = [str(k % 90) for k in range(ROWS)]
    ages[7] = ""
    truth = RNG.normal(size=ROWS)
    found = by_group("age", ages, truth, truth)
    assert [group.name for group in found.groups[:2]] == ["0 to 21", "22 to 42"]
    assert found.groups[-1].name == MISSING and found.groups[-1].rows == 1
    assert sum(group.rows for group in found.groups) == ROWS and len(found.groups) == 5


def test_the_smallest_of_many_groups_are_put_together():
    names = [f"town {min(k // 5, 70)}" for k in range(ROWS)]
    truth = RNG.normal(size=ROWS)
    found = by_group("town", names, truth, truth)
    assert len(found.groups) == MOST and found.groups[-1].name == OTHERS
    assert sum(group.rows for group in found.groups) == ROWS


def test_another_number_of_texts_is_refused():
    with pytest.raises(ValueError, match="by must have one text per row for column 'town'"):
        by_group("town", ["a"], np.zeros(2), np.zeros(2))
