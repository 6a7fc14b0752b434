"""`TableEncoder` in scikit-learn: pipelines, clones, tags, and a guarantee of the whole."""

import pickle
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.utils import estimator_checks
from sklearn.utils.estimator_checks import estimator_checks_generator

import dplasso
from dplasso import (
    PrivateLassoClassifier,
    PrivateOnlineClassifier,
    PrivateSearch,
    Schema,
    TableEncoder,
    load,
    private_score,
    read_rows,
)
from dplasso.reading.reader import UncheckedSchemaWarning
from dplasso.schema import Category, Number, Person, Target
from schemas import SMALL

SCHEMA = Schema(
    {"age": Number(0, 100), "town": Category(["Ulm", "Graz"]), "sick": Target(["no", "yes"])},
    n_rows=400,
)


def frame(rows=400):
    rng = np.random.default_rng(0)
    age = rng.integers(0, 100, rows)
    return pd.DataFrame(
        {
            "age": age,
            "town": rng.choice(["Ulm", "Graz", "Rome"], rows),
            "sick": np.where(age > 50, "yes", "no"),
        }
    )


@pytest.mark.filterwarnings("ignore:Can't test estimator")
def test_the_checks_of_scikit_learn_that_apply_pass():
    """All that it applies to estimators of no arrays, and those of parameters and tags besides."""
    own = [check for _, check in estimator_checks_generator(TableEncoder(SMALL))]
    assert own
    for check in own:
        check(TableEncoder(SMALL))
    for check in (
        estimator_checks.check_estimator_cloneable,
        estimator_checks.check_estimator_repr,
        estimator_checks.check_estimator_tags_renamed,
        estimator_checks.check_get_params_invariance,
        estimator_checks.check_mixin_order,
        estimator_checks.check_no_attributes_set_in_init,
        estimator_checks.check_set_params,
        estimator_checks.check_valid_tag_types,
    ):
        check("TableEncoder", TableEncoder(SMALL))


def test_fitting_learns_nothing():
    encoder = TableEncoder(SCHEMA)
    before = encoder.transform(frame(7)).toarray()
    fitted = clone(encoder).fit(frame(100))
    assert np.array_equal(fitted.transform(frame(7)).toarray(), before)
    assert fitted.feature_names_in_.tolist() == ["age", "town"] and fitted.n_features_in_ == 2
    again = pickle.loads(pickle.dumps(fitted))
    assert np.array_equal(again.transform(frame(7)).toarray(), before)
    assert again.get_feature_names_out().tolist() == ["age (scaled)", "town=Ulm", "town=Graz"]


def test_a_schema_may_be_a_file_and_must_have_no_blanks(tmp_path):
    SCHEMA.to_toml(tmp_path / "s.toml")
    assert TableEncoder(tmp_path / "s.toml").fit().transform(frame(3)).shape == (3, 3)
    with pytest.raises(ValueError, match="'age' needs low and high"):
        TableEncoder(Schema({"age": Number()})).fit()
    with pytest.raises(ValueError, match="schema must be a Schema"):
        TableEncoder(5).fit()


def test_a_pipeline_learns_from_frames():
    rows = frame()
    X, y, _ = SCHEMA.split(rows)
    encoder = TableEncoder(SCHEMA)
    model = PrivateLassoClassifier(20.0, classes=["no", "yes"], n_rows=400, x_bound=encoder.bounds_)
    pipeline = make_pipeline(encoder, model).fit(X, y)
    assert pipeline.score(rows, y) > 0.9


@pytest.mark.parametrize("saved", [False, True])
def test_a_model_fitted_to_a_frame_predicts_frames(tmp_path, saved):
    """The same as a file with the same cells, also after it was saved."""
    rows = read_rows(frame(), schema=SCHEMA)
    model = PrivateLassoClassifier(20.0, classes=rows.classes, n_rows=400, x_bound=rows.bounds).fit(
        rows.described(), rows.y
    )
    if saved:
        model.save(tmp_path / "m")
        model = load(tmp_path / "m")
    assert model.score(frame(), frame()["sick"]) > 0.9 and model.schema_ == SCHEMA
    frame(50).drop(columns="sick").to_csv(tmp_path / "rows.csv", index=False)
    model.predict_file(tmp_path / "rows.csv", tmp_path / "out")
    wanted = (tmp_path / "out").read_text().split()
    for given in (frame(50), frame(50)[["town", "age"]], frame(50).to_dict("list")):
        assert model.predict(given).tolist() == wanted
    with pytest.raises(ValueError, match="no column 'town'"):
        model.predict(frame(5)[["age"]])


def test_a_frame_of_the_models_own_features_is_predicted_as_ever():
    rows = read_rows(frame(), schema=SCHEMA)
    model = PrivateLassoClassifier(1.0, classes=rows.classes, n_rows=400, x_bound=rows.bounds)
    model.fit(rows.described(), rows.y)
    assert not hasattr(PrivateLassoClassifier(), "schema_")
    own = pd.DataFrame(rows.X.toarray(), columns=rows.names.tolist())
    assert model.predict(own).tolist() == model.predict(frame()).tolist()


def fitted_to_table(**options):
    rows = read_rows(frame(), schema=SCHEMA)
    public = {"classes": ["no", "yes"], "n_rows": 400, "random_state": 0}
    return PrivateLassoClassifier(20.0, **public, **options).fit(rows.described(), rows.y)


@pytest.mark.filterwarnings("ignore:X does not have valid feature names", "ignore:.*seed")
@pytest.mark.parametrize("options", [{}, {"solver": "frank_wolfe"}])
def test_the_encoder_of_a_model_makes_the_features_that_the_model_and_its_export_take(options):
    model, new = fitted_to_table(**options), frame(50).drop(columns="sick")
    features = TableEncoder.like(model).transform(new)
    assert np.array_equal(
        features.toarray(), read_rows(new, like=model, labelled=False).X.toarray()
    )
    told = model.predict_proba(new)
    assert np.allclose(model.to_sklearn().predict_proba(features), told, rtol=1e-12)
    wrong = TableEncoder(SCHEMA).transform(new)  # in other units
    assert np.abs(model.to_sklearn().predict_proba(wrong) - told).max() > 0.1


@pytest.mark.filterwarnings("ignore:.*seed")
def test_scikit_learn_refuses_a_frame_of_features_in_other_units():
    model, new = fitted_to_table(), frame(5)
    exported = model.to_sklearn()
    for encoder, refused in ((TableEncoder.like(model), False), (TableEncoder(SCHEMA), True)):
        features = encoder.transform(new).toarray()
        named = pd.DataFrame(features, columns=encoder.get_feature_names_out())
        if not refused:
            assert np.allclose(exported.predict_proba(named), model.predict_proba(new))
            continue
        with pytest.raises(ValueError, match=r"age \(scaled\)"):
            exported.predict_proba(named)


def test_a_frame_with_texts_is_refused_with_the_ways_to_encode_it():
    rows = frame()
    with pytest.raises(ValueError, match=r"got text; .* Schema: .*described\(\), .* TableEncoder"):
        PrivateLassoClassifier(1.0, classes=["no", "yes"], n_rows=400).fit(rows, rows["sick"])


def test_a_model_without_a_schema_has_no_encoder():
    with pytest.raises(ValueError, match="model keeps no schema; pass a model that was fitted"):
        TableEncoder.like(PrivateLassoClassifier())


@pytest.mark.filterwarnings("ignore:.*seed")
@pytest.mark.parametrize("scaled", [True, False])
def test_a_given_schema_reads_rows_in_the_units_of_the_encoder_of_a_pipeline(scaled, tmp_path):
    rows = frame()
    X, y, _ = SCHEMA.split(rows)
    encoder = TableEncoder(SCHEMA, scaled=scaled)
    public = {"classes": ["no", "yes"], "n_rows": 400, "x_bound": encoder.bounds_}
    pipeline = make_pipeline(encoder, PrivateLassoClassifier(20.0, **public, random_state=0))
    pipeline.fit(X, y)[-1].save(tmp_path / "model.dpl")
    for model in (pipeline[-1], load(tmp_path / "model.dpl")):
        with pytest.warns(UncheckedSchemaWarning, match="schema is the one .* cannot be checked"):
            again = read_rows(rows, like=model, schema=SCHEMA)
        assert np.array_equal(again.X.toarray(), encoder.transform(X).toarray())


@pytest.mark.parametrize("scaled", [True, False])
def test_names_of_columns_tell_whether_a_given_schema_is_that_of_the_model(scaled, tmp_path):
    rows = frame()
    X, y, _ = SCHEMA.split(rows)
    encoder = TableEncoder(SCHEMA, scaled=scaled)
    features = encoder.transform(X).toarray()
    named = pd.DataFrame(features, columns=encoder.get_feature_names_out())
    model = PrivateLassoClassifier(20.0, classes=["no", "yes"], n_rows=400).fit(named, y)
    model.save(tmp_path / "model.dpl")
    turned = Schema(dict(reversed(SCHEMA.columns.items())), n_rows=SCHEMA.n_rows)
    for known in (model, load(tmp_path / "model.dpl")):
        again = read_rows(rows, like=known, schema=SCHEMA)  # without a warning
        assert np.array_equal(again.X.toarray(), features)
        with pytest.raises(ValueError, match="schema has other features .* in another order"):
            read_rows(rows, like=known, schema=turned)


def test_the_page_on_exports_shows_an_encoder_that_fits_the_model(capsys):
    page = (Path(__file__).parents[2] / "docs" / "how_to" / "export.md").read_text()
    *_, block = re.findall(r"```python\n(.*?)```", page, flags=re.DOTALL)
    names = {"dplasso": dplasso}
    exec(block, names)
    new = {"age": [20, 90]}
    told = names["exported"].predict_proba(names["named"])
    assert np.allclose(told, names["model"].predict_proba(new)) and capsys.readouterr().out


OF_PEOPLE = Schema({"id": Person(), **SCHEMA.columns}, n_rows=400, n_people=100)


def visits():
    return frame().assign(id=np.arange(400) // 4)


def pipeline_of(last, **options):
    return make_pipeline(TableEncoder(OF_PEOPLE, **options), last)


def private_model():
    return PrivateLassoClassifier(3.0, classes=["no", "yes"], n_rows=400, x_bound=1.0)


def test_a_schema_that_names_people_is_refused_until_it_is_said_what_that_means():
    X, y, _ = OF_PEOPLE.split(visits())
    for work in (
        lambda: pipeline_of(private_model()).fit(X, y),
        lambda: TableEncoder(OF_PEOPLE).fit(X),
        lambda: TableEncoder(OF_PEOPLE).transform(X),
    ):
        with pytest.raises(ValueError, match=r"\(column 'id'\).*person='groups'.*'ignored'"):
            work()
    with pytest.raises(ValueError, match="person must be 'groups', 'ignored' or None"):
        TableEncoder(SCHEMA, person="column").fit(X)


def test_a_pipeline_of_people_does_not_forget_them():
    X, y, groups = OF_PEOPLE.split(visits())
    pipeline = pipeline_of(private_model(), person="groups")
    with pytest.raises(ValueError, match="groups are missing; pass groups"):
        pipeline.fit(X, y)
    pipeline.set_params(privatelassoclassifier__n_people=100)
    pipeline.fit(X, y, privatelassoclassifier__groups=groups)
    assert pipeline[-1].privacy_.unit == "person" and len(pipeline.predict(X)) == 400
    search = PrivateSearch(private_model(), {"solver": ["table"]}, epsilon=3.0, trials=2)
    with pytest.raises(ValueError, match="groups are missing; pass groups"):
        pipeline_of(search, person="groups").fit(X, y)
    rows = TableEncoder(OF_PEOPLE, person="groups").transform(X)
    with pytest.raises(ValueError, match="groups are missing; pass groups"):
        private_score(pipeline[-1], rows, y, epsilon=1.0)
    with pytest.raises(ValueError, match="whom a stream does not protect"):
        PrivateOnlineClassifier(1.0, classes=["no", "yes"], window=100).fit(rows, y)
    for part in (rows[:100], pickle.loads(pickle.dumps(rows)), rows.copy()):
        with pytest.raises(ValueError, match="groups are missing"):
            private_model().fit(part, y[: part.shape[0]])


def test_rows_of_people_are_protected_one_by_one_if_that_is_asked_for():
    X, y, _ = OF_PEOPLE.split(visits())
    pipeline = pipeline_of(private_model(), person="ignored").fit(X, y)
    assert pipeline[-1].privacy_.unit == "row"
    same = TableEncoder(OF_PEOPLE, person="groups").transform(X)
    assert np.array_equal(pipeline[0].transform(X).toarray(), same.toarray())


def test_the_encoder_of_a_model_of_people_makes_rows_to_predict():
    rows = read_rows(visits(), schema=OF_PEOPLE)
    model = PrivateLassoClassifier(3.0).fit(rows.described(), rows.y)
    X = TableEncoder.like(model).transform(visits())
    assert np.array_equal(model.decision_function(visits()), _nameless(model, X))


def _nameless(model, X):
    frame_of_features = pd.DataFrame(X.toarray(), columns=list(model.feature_names_in_))
    return model.decision_function(frame_of_features)
