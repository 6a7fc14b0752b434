"""diffprivlib's classifier, where its environment was made (benchmarks/accuracy.py makes it)."""

import numpy as np
import pytest
import scipy.sparse as sp
from rivals.diffprivlib_rival import DIFFPRIVLIB, ENVIRONMENT, MOST_COLUMNS
from rivals.problem import Problem, Request
from sklearn.linear_model import LogisticRegression

made = pytest.mark.skipif(
    not (ENVIRONMENT / ".installed").exists(), reason="diffprivlib has no environment here"
)


def problem(columns: int = 4) -> Problem:
    rng = np.random.default_rng(0)
    X = sp.csr_array(rng.normal(size=(300, columns)))
    labels = (X @ rng.normal(size=columns) + rng.logistic(size=300) > 0).astype(float)
    return Problem("small", X[:200], labels[:200], X[200:], labels[200:])


@made
def test_with_a_huge_epsilon_it_is_plain_logistic_regression():
    data = problem()
    train, test = data.rows("as_is")
    plain = LogisticRegression(C=1.0).fit(train.toarray(), data.labels)
    requests = [Request(1e6, {"map": name, "C": 1.0}, 0) for name in ("as_is", "presence")]
    scores = {
        request.settings["map"]: score["accuracy"]
        for request, score in DIFFPRIVLIB.scores(data, requests)
    }
    assert scores["as_is"] == pytest.approx(plain.score(test.toarray(), data.test_labels), abs=0.02)
    assert scores["presence"] < scores["as_is"]  # all entries are there: presence tells nothing


def test_it_is_left_out_where_rows_would_not_fit_as_dense_ones():
    assert DIFFPRIVLIB.can(problem())
    assert not DIFFPRIVLIB.can(problem(MOST_COLUMNS + 1))
