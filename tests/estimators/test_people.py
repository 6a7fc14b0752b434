"""Fits that protect people: what is released, what is stated, and what is rejected."""

import pickle
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn
from sklearn.model_selection import GroupKFold, cross_val_score

import dplasso
from dplasso import PrivateLassoClassifier, PrivateLassoRegressor, PrivateOnlineClassifier
from dplasso.data.described import DescribedRows
from dplasso.privacy import leaks
from neighbour_pairs import share_of
from people_pairs import people
from planted import people as planted

ROWS, PEOPLE = 400, 90
RNG = np.random.default_rng(0)
X = np.round(RNG.uniform(-1, 1, (ROWS, 5)), 3)
Y = (X[:, 0] + 0.2 * RNG.normal(size=ROWS) > 0).astype(int)
IDS = RNG.integers(0, PEOPLE, ROWS)
WIDE = sp.random_array((ROWS, 1500), density=0.01, rng=np.random.default_rng(1), format="csr")
FITS = {
    "table": (X, {"solver": "table"}),
    "gradient": (WIDE, {"solver": "gradient"}),
    "frank_wolfe": (X, {"solver": "frank_wolfe", "max_iter": 12, "radius": 2.0}),
    "private bound": (X, {"solver": "frank_wolfe", "x_bound": "private", "max_iter": 5}),
    "sparsifier": (X, {"solver": "frank_wolfe", "n_nonzero": dplasso.Sparsifier(low=1, high=3)}),
    "few columns": (WIDE, {"n_nonzero": 2, "n_rows": 10**7, "epsilon": 5.0}),
}


def classifier(seed=3, **options):
    facts = {"epsilon": 2.0, "classes": [0, 1], "x_bound": 1.0, "random_state": seed}
    return PrivateLassoClassifier(**facts | options)


def fitted(rows, labels, groups=None, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return classifier(**options).fit(rows, labels, groups=groups)


def same(one, other):
    return np.array_equal(one.fitted_.weights.toarray(), other.fitted_.weights.toarray()) and (
        np.array_equal(one.intercept_, other.intercept_)
        and np.array_equal(one.vertices_, other.vertices_)
    )


@pytest.mark.parametrize("name", FITS)
def test_people_with_one_row_each_are_released_like_rows(name):
    rows, options = FITS[name]
    public = {"n_rows": ROWS} | options
    own = {key: value for key, value in options.items() if key != "n_rows"}
    one = fitted(rows, Y, **public)
    other = fitted(rows, Y, np.arange(ROWS), **own, n_people=public["n_rows"])
    assert same(one, other)
    assert one.privacy_["unit"] == "row" and other.privacy_["unit"] == "person"
    assert one.privacy_["rho"] == other.privacy_["rho"]


@pytest.mark.parametrize("name", FITS)
def test_order_and_storage_of_rows_and_identifiers_make_no_difference(name):
    rows, options = FITS[name]
    public = {"n_rows": ROWS} | options
    public["n_people"] = public["n_rows"] if public["n_rows"] > ROWS else PEOPLE
    order = np.random.default_rng(5).permutation(ROWS)
    texts = [f" {number}" for number in IDS]
    one = fitted(rows, Y, IDS, **public)
    dense = rows if isinstance(rows, np.ndarray) else rows.toarray()
    forms = [
        (sp.csc_array(dense), Y, texts),
        (dense[order], Y[order], np.array(texts)[order]),
        (sp.coo_array(dense), Y, IDS.astype(np.uint8).tolist()),
        (DescribedRows(rows, groups=IDS), Y, None),
    ]
    assert all(same(one, fitted(*form, **public)) for form in forms)


def test_rows_without_an_identifier_and_rows_of_weight_0_change_nothing():
    ids = np.append(IDS.astype(object), [None, "", float("nan")])
    more = np.vstack([X, np.ones((3, 5))])
    one = fitted(X, Y, IDS, n_people=PEOPLE)
    assert same(one, fitted(more, np.append(Y, [1, 1, 1]), ids, n_people=PEOPLE))


@pytest.mark.parametrize("solver", ["table", "gradient", "frank_wolfe"])
@pytest.mark.parametrize("k", [1, 3])
def test_the_event_is_the_same_and_the_noise_that_of_a_person(solver, k):
    in_ball = {"max_iter": 9, "radius": 2.0} if solver == "frank_wolfe" else {}
    model = classifier(n_rows=ROWS, solver=solver, **in_ball)
    alone = model.plan(ROWS, 5)
    of_people = model.set_params(n_people=PEOPLE, rows_per_person=k).plan(ROWS, 5)
    assert of_people.n_rows.value == k * PEOPLE
    assert of_people.event == alone.event or solver != "frank_wolfe"
    assert of_people.rho == pytest.approx(alone.rho, rel=1e-9)
    if solver == "frank_wolfe":
        assert of_people.numbers.theta == pytest.approx(alone.numbers.theta / k, rel=1e-12)
    elif solver == "gradient":
        at, of_row = of_people.numbers, alone.numbers
        length = 2.0**at.unit_bits / 2.0**of_row.unit_bits * k
        assert at.mass_sigma == pytest.approx(of_row.mass_sigma * length, rel=1e-12)
    else:
        sigmas = [plan.numbers.mean_sigma(7) for plan in (of_people, alone)]
        assert sigmas[0] == pytest.approx(sigmas[1] * k, rel=1e-12)


@pytest.mark.parametrize("neighboring", ["add_remove", "replace_one"])
def test_the_statement_says_first_whom_it_protects(neighboring, tmp_path):
    model = fitted(X, Y, IDS, n_people=PEOPLE, person="patient_id", neighboring=neighboring)
    first = str(model.privacy_).split(": ")[0]
    wanted = "each person (column patient_id), however many rows they have"
    assert first == f"This PrivateLassoClassifier protects {wanted}"
    assert "rows of one person" in str(model.privacy_)
    assert "rows without an identifier, if there are any, count nothing" in str(model.privacy_)
    model.save(tmp_path / "model")
    loaded = dplasso.load(tmp_path / "model")
    assert loaded.privacy_ == model.privacy_ and str(loaded.privacy_) == str(model.privacy_)
    assert loaded.person == "patient_id" and loaded.n_people == PEOPLE


@pytest.mark.parametrize("names", [(0, 1), ("a", "b")])
def test_weights_of_classes_are_saved(names, tmp_path):
    weights = dict(zip(names, (0.25, 1.0), strict=True))
    labels = np.array(names)[Y]
    model = fitted(X, labels, n_rows=ROWS, classes=list(names), class_weight=weights)
    model.save(tmp_path / "model")
    assert dplasso.load(tmp_path / "model").class_weight == weights
    assert model.privacy_["public"]["class_weight"]["value"] == [
        f"{names[0]}: 0.25",
        f"{names[1]}: 1",
    ]


def test_identifiers_are_nowhere_in_a_model(tmp_path):
    names = np.array([f"secret{number}" for number in IDS])
    model = fitted(X, Y, names, n_people=PEOPLE)
    model.save(tmp_path / "model")
    assert b"secret" not in (tmp_path / "model").read_bytes()
    model.random_state = None
    assert b"secret" not in pickle.dumps(model)


def test_numbers_that_are_not_declared_are_reported():
    with pytest.warns(leaks.PrivacyLeakWarning, match="number of people"):
        model = classifier(n_rows=ROWS, random_state=None).fit(X, Y, groups=IDS)
    assert "READ FROM THE DATA" in model.privacy_["public"]["n_people"]["source"]
    several = {"rows_per_person": 2, "neighboring": "replace_one", "random_state": None}
    with pytest.warns(leaks.PrivacyLeakWarning, match="or that of rows"):
        classifier(**several).fit(X, Y, groups=IDS)
    dplasso.set_strict(True)
    try:
        with pytest.raises(leaks.PrivacyLeakError):
            classifier(n_rows=ROWS, random_state=None).fit(X, Y, groups=IDS)
        classifier(n_people=5, random_state=None).fit(X, Y, groups=IDS)  # nothing is compared
    finally:
        dplasso.set_strict(None)


def test_people_are_public_where_one_is_replaced():
    with warnings.catch_warnings():
        warnings.simplefilter("error", leaks.PrivacyLeakWarning)
        model = classifier(neighboring="replace_one", random_state=None).fit(X, Y, groups=IDS)
    assert "public by the neighbouring relation" in model.privacy_["public"]["n_people"]["source"]


@pytest.mark.parametrize("options", [{"n_people": 9}, {"rows_per_person": 2}, {"person": "id"}])
def test_parameters_of_people_without_groups_are_rejected(options):
    with pytest.raises(ValueError, match="pass groups"):
        classifier(n_rows=ROWS, **options).fit(X, Y)


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"rows_per_person": 0}, "rows_per_person"),
        ({"rows_per_person": 1.5}, "rows_per_person"),
        ({"n_people": 0}, "n_people"),
        ({"person": ""}, "person must be"),
        ({"person": "a\nb"}, "person must be"),
        ({"class_weight": "balanced"}, "class_weight must map"),
        ({"class_weight": {0: 1.0}}, "class_weight must map every class"),
        ({"class_weight": {0: 1.0, 1: 2.0}}, "up to 1"),
        ({"class_weight": {0: 1.0, 1: 0.0}}, "class_weight"),
    ],
)
def test_parameters_that_make_no_sense_are_rejected(options, problem):
    with pytest.raises(ValueError, match=problem):
        classifier(n_rows=ROWS, **options).fit(X, Y, groups=IDS)


def test_groups_of_another_length_are_rejected_without_numbers():
    with pytest.raises(ValueError, match="X and groups differ") as refusal:
        classifier(n_people=PEOPLE, random_state=None).fit(X, Y, groups=IDS[:-1])
    assert not any(sign.isdigit() for sign in str(refusal.value))


def test_streams_and_regressors_reject_what_they_do_not_offer():
    stream = PrivateOnlineClassifier(window=5, classes=[0, 1])
    for learn in (stream.fit, stream.partial_fit):
        with pytest.raises(TypeError, match="windows that protect people are not offered"):
            learn(X, Y, groups=IDS)
    with pytest.raises(TypeError, match="class_weight"):
        PrivateLassoRegressor(class_weight={0: 1.0})


@pytest.mark.parametrize("solver", ["table", "gradient", "frank_wolfe"])
def test_a_class_of_little_weight_is_predicted_less_often(solver):
    labels, shares = np.arange(ROWS) % 2, []
    for weights in ({0: 1.0, 1: 1.0}, {0: 1.0, 1: 0.05}):
        model = fitted(X, labels, n_rows=ROWS, epsilon=50.0, solver=solver, class_weight=weights)
        shares.append(model.predict_proba(X)[:, 1].mean())
    assert 0.4 < shares[0] < 0.6 and shares[1] < 0.15


@pytest.mark.parametrize("solver", ["table", "gradient", "frank_wolfe"])
def test_weights_of_1_for_all_classes_change_no_release_but_the_sum_of_weights(solver):
    one = fitted(X, Y, n_rows=ROWS, solver=solver)
    other = fitted(X, Y, n_rows=ROWS, solver=solver, class_weight={0: 1.0, 1: 1})
    assert same(one, other) or solver == "table"


def test_a_table_learns_what_rows_count_as_where_the_declared_number_is_far_off():
    """A few people with very many rows, and many with one: n_people times k is far too large."""
    rng = np.random.default_rng(2)
    ids = np.append(np.arange(3000), np.repeat(np.arange(3000, 3040), 150))
    rows = rng.uniform(0, 1, (len(ids), 3))
    model = PrivateLassoRegressor(
        20.0, x_bound=[(0, 1)] * 3, y_bound=(0, 3), n_people=3040, n_rows=len(ids)
    ).set_params(rows_per_person=10)
    model.fit(rows, rows @ [1.0, 1.0, 1.0], groups=ids)
    assert np.allclose(model.coef_, 1.0, atol=0.15) and abs(model.intercept_[0]) < 0.2


def test_scikit_learn_routes_groups_to_a_fit():
    rows, labels = X, Y
    model = classifier(n_people=PEOPLE, random_state=None)
    with sklearn.config_context(enable_metadata_routing=True):
        model.set_fit_request(groups=True)
        found = cross_val_score(model, rows, labels, cv=GroupKFold(3), params={"groups": IDS})
    assert len(found) == 3 and np.all(np.isfinite(found))


@pytest.mark.parametrize("bug", [planted.weights_by_row, planted.weights_rounded_up])
def test_planted_weights_that_add_up_to_too_much_are_noticed(bug, monkeypatch):
    bug(monkeypatch)
    with pytest.raises(AssertionError, match="breached"):
        for number in range(60):
            share_of("few scores", 1, number, people)


def test_planted_noise_for_a_row_is_noticed(monkeypatch):
    model = classifier(n_people=9, n_rows=90, rows_per_person=4, solver="gradient")
    right = model.plan(90, 5).numbers
    planted.noise_for_a_row(monkeypatch)
    wrong = model.plan(90, 5).numbers
    assert right.rows_changed == 4 and wrong.rows_changed == 1


def weights_with_and_without_others():
    """Weights of the same rows, in another order and with rows of someone else."""
    model = classifier(n_people=3, solver="gradient", random_state=None)
    order = [0, 2, 1, 3, 4, 5]
    alone = model.prepare(X[:6], Y[:6], ["a", "b", "a", "b", "b", "c"]).weights
    rows = [*order, 6, 7, 8, 9]
    more = model.prepare(X[rows], Y[rows], ["a", "a", "b", "b", "b", "c", *["d"] * 4]).weights
    return alone[order], more[:6]


def test_weights_do_not_depend_on_rows_of_others():
    alone, more = weights_with_and_without_others()
    assert np.array_equal(alone, more)


@pytest.mark.parametrize(
    "bug", [planted.weights_by_all_rows, planted.people_told_apart_by_their_place]
)
def test_planted_weights_that_depend_on_rows_of_others_are_noticed(bug, monkeypatch):
    bug(monkeypatch)
    alone, more = weights_with_and_without_others()
    assert not np.array_equal(alone, more)
