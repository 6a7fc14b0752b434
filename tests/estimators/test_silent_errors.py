"""Errors about rows and labels hold none of them: no value, no text, no number of rows."""

import contextlib
import traceback
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import dplasso
from dplasso import ColumnMatrix, PrivateLassoClassifier, PrivateLassoRegressor, PrivateSearch
from dplasso.fitting.frank_wolfe import FrankWolfeTask
from dplasso.fitting.gradient import DescentTask
from dplasso.fitting.table import TableTask
from dplasso.report import evaluate
from dplasso.session.lines import _object
from dplasso.streams import running_sum

SECRET, TEXT, ROWS = 7391, "Rosebud", 1483  # none of which a message may repeat
pytestmark = pytest.mark.filterwarnings("ignore")


class Chatty:
    """A value that says what it is whenever it is asked to be a number."""

    def __float__(self):
        raise ValueError(f"{TEXT} is no number")

    def __eq__(self, other):
        return NotImplemented

    __hash__ = object.__hash__

    def __repr__(self):
        return TEXT


class Broken:
    """Something like an array that complains in its own words."""

    shape, ndim = (ROWS, 3), 2

    def __array__(self, *_, **__):
        raise RuntimeError(f"{TEXT} {SECRET}")

    def __len__(self):
        return ROWS


def good_rows():
    X = np.round(np.random.default_rng(0).normal(size=(ROWS, 3)), 2)
    X[0, 0] = SECRET
    return X


def with_entry(value, kind=object):
    X = good_rows().astype(kind)
    X[1, 1] = value
    return X


def corrupt():
    X = sp.csr_array(good_rows())
    X.indices[5] = SECRET
    return X


BROKEN_ROWS = {
    "complex": lambda: with_entry(SECRET * 1j, complex),
    "sparse complex": lambda: sp.csr_array(with_entry(SECRET * 1j, complex)),
    "complex objects": lambda: with_entry(SECRET * 1j),
    "text": lambda: with_entry(TEXT),
    "texts": lambda: with_entry(TEXT, "U9"),
    "bytes": lambda: with_entry(TEXT.encode(), "S9"),
    "dict": lambda: with_entry({TEXT: SECRET}),
    "None": lambda: with_entry(None),
    "chatty": lambda: with_entry(Chatty()),
    "decimal": lambda: with_entry(Decimal("NaN")),
    "huge": lambda: with_entry(SECRET * 10**400),
    "NaN": lambda: with_entry(np.nan, float),
    "infinity": lambda: with_entry(np.inf, float),
    "dates": lambda: np.full((ROWS, 3), "2001-01-01", "M8[D]"),
    "records": lambda: np.full((ROWS, 3), (SECRET,), [("a", int)]),
    "vector": lambda: good_rows()[:, 0],
    "number": lambda: SECRET,
    "cube": lambda: good_rows()[:, :, None],
    "no rows": lambda: good_rows()[:0],
    "no columns": lambda: good_rows()[:, :0],
    "two columns": lambda: good_rows()[:, :2],
    "fewer rows": lambda: good_rows()[:-1],
    "ragged": lambda: [[SECRET, 1, 2], [3]] * (ROWS // 2),
    "list": lambda: [[TEXT, 1, 2]] * ROWS,
    "nothing": lambda: None,
    "string": lambda: TEXT,
    "frame": lambda: pd.DataFrame(with_entry(TEXT), columns=list("abc")),
    "frame of categories": lambda: pd.DataFrame(with_entry(TEXT)).astype("category"),
    "frame of odd names": lambda: pd.DataFrame(good_rows(), columns=[0, "a", 1.5]),
    "frame of gaps": lambda: pd.DataFrame(good_rows()).convert_dtypes().replace(SECRET, pd.NA),
    "masked": lambda: np.ma.masked_equal(good_rows(), SECRET),
    "matrix": lambda: np.asmatrix(with_entry(np.nan, float)),
    "corrupt": corrupt,
    "sparse vector": lambda: sp.coo_array(good_rows()[:, 0]),
    "generator": lambda: (row for row in good_rows()),
    "broken": Broken,
    "column matrix": lambda: ColumnMatrix.of(good_rows()[:, :2]),
}


def labels():
    return np.arange(ROWS) % 2


def with_label(value, kind=object):
    y = labels().astype(kind)
    y[3] = value
    return y


BROKEN_LABELS = {
    "two columns": lambda: np.column_stack([labels(), labels() * SECRET]),
    "complex": lambda: with_label(SECRET * 1j, complex),
    "text among numbers": lambda: with_label(TEXT),
    "texts": lambda: with_label(TEXT, "U9"),
    "NaN": lambda: with_label(np.nan, float),
    "infinity": lambda: with_label(np.inf, float),
    "None": lambda: with_label(None),
    "chatty": lambda: with_label(Chatty()),
    "huge": lambda: with_label(SECRET * 10**400),
    "dict": lambda: with_label({TEXT: SECRET}),
    "fewer": lambda: labels()[:-1],
    "none": lambda: labels()[:0],
    "number": lambda: SECRET,
    "string": lambda: TEXT,
    "ragged": lambda: [[SECRET], [1, 2]] * (ROWS // 2),
    "lists": lambda: [[SECRET, 1]] * ROWS,
    "sparse": lambda: sp.csr_array(labels()[:, None] * SECRET),
    "masked": lambda: np.ma.masked_equal(labels(), 1),
    "frame": lambda: pd.DataFrame({"a": labels(), "b": labels() * SECRET}),
    "records": lambda: np.full(ROWS, (SECRET,), [("a", int)]),
    "fractions": lambda: labels() + SECRET / 10**4,
    "one class": lambda: np.full(ROWS, SECRET),
    "broken": Broken,
}
BOTH = st.tuples(st.sampled_from(["", *BROKEN_ROWS]), st.sampled_from(["", *BROKEN_LABELS])).filter(
    any
)


def models():
    known = {"n_rows": 2000, "max_iter": 3}
    return {
        "classifier": PrivateLassoClassifier(classes=[0, 1], **known),
        "of unknown classes": PrivateLassoClassifier(**known),
        "regressor": PrivateLassoRegressor(**known),
        "descent": PrivateLassoClassifier(classes=[0, 1], solver="gradient", n_rows=2000),
        "online": dplasso.PrivateOnlineClassifier(classes=[0, 1], n_rows=10**5),
        "online of unknown classes": dplasso.PrivateOnlineClassifier(n_rows=10**5),
        "online regressor": dplasso.PrivateOnlineRegressor(n_rows=10**5),
        "search": PrivateSearch(
            PrivateLassoClassifier(classes=[0, 1], n_rows=2000), {"max_iter": [2]}, trials=1.5
        ),
    }


FITTED = {}


def fitted(name):
    if name not in FITTED:
        FITTED[name] = models()[name].fit(good_rows(), labels())
    return FITTED[name]


def assert_silent(call):
    """Whatever it raises holds no secret, in its message, its causes or its context."""
    try:
        call()
    except Exception as error:
        while error is not None:
            said = f"{error} {error.args!r} {getattr(error, 'doc', '')}"
            assert not any(str(one) in said for one in (SECRET, TEXT, ROWS, ROWS - 1)), said
            assert isinstance(error, ValueError | TypeError | MemoryError), traceback.format_exc()
            error = error.__cause__ or error.__context__


@settings(max_examples=100, deadline=None)
@given(BOTH, st.sampled_from(sorted(models())))
def test_learning_says_nothing_of_what_it_refuses(broken, name):
    X = BROKEN_ROWS.get(broken[0], good_rows)()
    y = BROKEN_LABELS.get(broken[1], labels)()
    assert_silent(lambda: models()[name].fit(X, y))


@pytest.mark.parametrize("name", ["classifier", "regressor", "descent", "online"])
@pytest.mark.parametrize("rows", BROKEN_ROWS)
def test_predicting_says_nothing_of_what_it_refuses(name, rows):
    assert_silent(lambda: fitted(name).predict(BROKEN_ROWS[rows]()))


@pytest.mark.parametrize("name", ["classifier", "regressor", "online regressor", "search"])
@pytest.mark.parametrize("y", BROKEN_LABELS)
def test_scoring_says_nothing_of_what_it_refuses(name, y):
    assert_silent(lambda: fitted(name).score(good_rows(), BROKEN_LABELS[y]()))


@pytest.mark.parametrize("rows", BROKEN_ROWS)
def test_going_on_says_nothing_of_what_it_refuses(rows):
    model = fitted("online")
    assert_silent(lambda: model.partial_fit(BROKEN_ROWS[rows](), labels()))
    assert_silent(lambda: model.predict_then_learn(BROKEN_ROWS[rows](), labels()))


@pytest.mark.parametrize("rows", BROKEN_ROWS)
def test_the_solver_and_the_matrix_say_nothing_of_what_they_refuse(rows):
    X, loss = BROKEN_ROWS[rows](), dplasso.LogisticLoss()
    assert_silent(lambda: ColumnMatrix.of(X, 2.0))
    assert_silent(
        lambda: dplasso.frank_wolfe(X, labels(), loss=loss, radius=1.0, rounds=2, theta=0.1)
    )


@pytest.mark.parametrize("y", BROKEN_LABELS)
def test_losses_say_nothing_of_what_they_refuse(y):
    for loss in (dplasso.LogisticLoss(), dplasso.SquaredLoss(1.0)):
        assert_silent(lambda loss=loss: loss.encode(BROKEN_LABELS[y]()))


def test_most_of_these_are_refused():
    """Else the tests above would test nothing."""
    refused = 0
    for rows in BROKEN_ROWS.values():
        with contextlib.suppress(ValueError, TypeError):
            models()["classifier"].fit(rows(), labels())
            refused -= 1
        refused += 1
    assert refused >= len(BROKEN_ROWS) - 3


def test_other_columns_are_named():
    """What is said of columns, which are public, is said in full."""
    frame = pd.DataFrame(good_rows(), columns=["age", "town", "note"])
    model = PrivateLassoClassifier(classes=[0, 1], n_rows=2000).fit(frame, labels())
    with pytest.raises(ValueError, match="unseen at fit time:\n- city"):
        model.predict(frame.rename(columns={"town": "city"}))
    with pytest.raises(ValueError, match="X has 2 features, but .* is expecting 3"):
        model.predict(good_rows()[:, :2])


def test_an_evaluation_of_other_rows_than_labels_is_refused():
    with pytest.raises(ValueError, match="^X and y differ in their number of rows"):
        evaluate(fitted("classifier"), good_rows()[:-1], labels())


@pytest.mark.parametrize("row_map", ["as_is", "presence", "sqrt", "blend"])
def test_numpy_set_to_raise_has_nothing_to_say_of_rows(row_map):
    """Entries of any size underflow or overflow somewhere, and no error may tell of them."""
    X = np.array([[1e308, 1e-308, 5e-324], [1.0, 0.0, 1e-200]])
    public = {"classes": [0, 1], "n_rows": 2, "solver": "gradient"}
    with np.errstate(all="raise"):
        for x_bound in (1e-308, 1.0, 1e308):
            PrivateLassoClassifier(1.0, row_map=row_map, x_bound=x_bound, **public).fit(X, [0, 1])


SUMMED = {
    "a text": [TEXT, 1.0, 2.0],
    "other columns": np.zeros((ROWS, 2)),
    "a pair of other sizes": (np.arange(ROWS), np.zeros(ROWS - 1)),
    "something chatty": [Chatty(), 1.0, 2.0],
    "a frame": pd.DataFrame({"a": [TEXT] * 3}),
}


@pytest.mark.parametrize("rows", SUMMED)
def test_a_running_sum_says_nothing_of_what_it_refuses(rows):
    known = {"sensitivity": 1.0, "window": 100, "epsilon": 1.0, "delta": 1e-6}
    with pytest.raises(ValueError, match="^rows must"):
        running_sum(3, **known).add(SUMMED[rows])
    assert_silent(lambda: running_sum(3, **known).add(SUMMED[rows]))


FILES = {
    "a short row": f"age,town,sick\n1,Ulm,no\n1,{TEXT}\n",
    "a text for a number": f"age,town,sick\n{TEXT},Ulm,no\n",
    "an unknown class": f"age,town,sick\n1,Ulm,{TEXT}\n",
    "an open quote": f'age,town,sick\n1,"{TEXT},no\n',
    "no UTF-8": f"age,town,sick\n1,{TEXT}\udcff,no\n",
}


@pytest.mark.parametrize("content", FILES)
def test_reading_a_table_says_nothing_of_its_rows(tmp_path, content):
    path = tmp_path / "rows.csv"
    path.write_bytes(FILES[content].encode(errors="surrogateescape"))
    known = {"bounds": {"age": (0, 99)}, "hashed": {"town": 9}, "classes": ["no", "yes"]}
    assert_silent(lambda: dplasso.read_rows(path, target="sick", **known))


def test_a_line_of_a_stream_is_not_kept_by_its_error():
    with pytest.raises(ValueError, match="^line 7: this is no JSON") as caught:
        _object(f'{{"name": "{TEXT}", }}'.encode(), 7)
    assert caught.value.__context__ is None and caught.value.__cause__ is None


@pytest.mark.parametrize("name", ["classifier", "descent", "search"])
@pytest.mark.parametrize("where", ["check", "draw"])
def test_lack_of_memory_tells_no_number_of_rows(monkeypatch, name, where):
    def exhausted(*_, **__):
        raise MemoryError(f"Unable to allocate an array with shape ({ROWS}, 3)")

    if where == "check":
        monkeypatch.setattr("dplasso.losses.base.positions", exhausted)
    for task in (TableTask, DescentTask, FrankWolfeTask):
        monkeypatch.setattr(task, "run", exhausted)
    with pytest.raises(MemoryError, match="^the (fit|search) needs more memory than") as caught:
        models()[name].fit(good_rows(), labels())
    assert caught.value.__context__ is None
