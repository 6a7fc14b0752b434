"""A warning that rows are read as presence depends on what is declared, not on storage."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp

from dplasso import PrivateLassoClassifier
from dplasso.estimators.base import PresenceWarning

FORMS = {"dense": np.asarray, "csr": sp.csr_array, "csc": sp.csc_array}
X = np.random.default_rng(0).random((40, 1100))
y = np.arange(40) % 2


def told(form, **options):
    model = PrivateLassoClassifier(classes=[0, 1], n_rows=40, random_state=0, **options)
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        model.fit(FORMS[form](X), y)
    return any(issubclass(each.category, PresenceWarning) for each in found)


@pytest.mark.parametrize("form", FORMS)
def test_it_is_the_same_for_every_storage(form):
    assert told(form)
    assert not told(form, x_bound=5.0)
    assert not told(form, x_bound=1.0)
    assert not told(form, row_map="presence")
    assert not told(form, row_map="as_is", x_bound=5.0)
