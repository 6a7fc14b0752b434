"""Synthetic data are what their docstrings say, and the same for the same seed."""

import csv
import subprocess
import sys

import numpy as np
import pytest

from dplasso.datasets import make_notes, make_visits


def test_notes_are_sets_of_words_of_which_some_are_informative():
    X, y = make_notes(5_000, 10_000)
    assert X.shape == (5_000, 10_000)
    assert set(X.data) == {1.0}
    assert X.indices.dtype == X.indptr.dtype == np.int32  # some of scikit-learn takes no others
    even = X[:, 6].toarray().ravel() > 0
    assert y[even].mean() > y[~even].mean() + 0.1


def test_too_few_words_are_rejected():
    with pytest.raises(ValueError, match="n_words must be at least 30"):
        make_notes(10, 29)


def test_the_same_seed_makes_the_same_visits():
    first, again, other = make_visits(500), make_visits(500), make_visits(500, random_state=1)
    for name, column in first.items():
        np.testing.assert_array_equal(column, again[name])
    assert (first["age"] != other["age"]).any()


def test_another_seed_has_other_patients():
    tables = [make_visits(500, random_state=seed) for seed in (0, 1, 2, 10**20)]
    patients = [set(visits["patient_id"]) for visits in tables]
    assert len(set.union(*patients)) == sum(map(len, patients))
    assert all(len(name) == 7 for name in patients[0]), "identifiers of seed 0 are on pages"


def test_some_patients_come_often_and_their_visits_are_counted():
    visits = make_visits(16_000)
    patients, counts = np.unique(visits["patient_id"], return_counts=True)
    assert 0.35 < len(patients) / 16_000 < 0.5
    assert counts.max() > 10
    assert visits["earlier_visits"].max() == counts.max() - 1
    assert 0.1 < (visits["readmitted"] == "yes").mean() < 0.4
    assert visits["age"].min() >= 18 and visits["age"].max() <= 100


def test_the_module_writes_a_table_and_replaces_none(tmp_path):
    command = [sys.executable, "-m", "dplasso.datasets", "visits.csv", "--rows", "50"]
    subprocess.run(command, cwd=tmp_path, check=True)
    with (tmp_path / "visits.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 50
    assert "nan" not in {row["temperature"] for row in rows}
    again = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert again.returncode == 2
    assert "exists" in again.stderr
