"""Rows belong to one person if, and only if, their identifiers are the same text."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dplasso import Schema, read_rows
from dplasso.base.blanks import BLANKS
from dplasso.data.identifiers import NOBODY, count_people, people_of
from dplasso.schema import Number, Person, Target

names = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)


def partition(people):
    """Which rows go together, whatever their numbers; rows of nobody are alone."""
    return [{j for j, other in enumerate(people) if other == one != NOBODY} for one in people]


@given(st.lists(st.integers(-(2**63), 2**63 - 1) | st.integers(0, 3), max_size=20))
def test_whole_numbers_are_the_same_people_however_they_are_stored(numbers):
    texts = [str(number) for number in numbers]
    forms = [numbers, tuple(numbers), texts, np.array(texts, object), np.array(texts, "U25")]
    forms += [[text.encode() for text in texts], np.array(numbers, object)]
    forms += [np.array(numbers, np.int64)]
    wanted = partition(people_of(numbers))
    assert all(partition(people_of(form)) == wanted for form in forms)


@given(st.lists(names, max_size=12), st.randoms())
def test_the_order_and_the_number_of_rows_make_no_difference(given_names, random):
    order = list(range(len(given_names)))
    random.shuffle(order)
    one, other = people_of(given_names), people_of([given_names[k] for k in order])
    for a, b in zip(range(len(order)), order, strict=True):
        for c, d in zip(range(len(order)), order, strict=True):
            assert (other[a] == other[c]) == (one[b] == one[d])


def test_identifiers_that_look_alike_are_different_people():
    alike = ["1", "1.0", "01", "one", "One", "1 0", "10", "\u0661"]
    assert count_people(people_of(alike)) == len(alike)


def test_white_space_at_the_ends_and_composed_characters_make_no_difference():
    same = ["Zo\u00eb", "Zoe\u0308", " Zo\u00eb", "Zo\u00eb\t\n", "Zo\u00eb\0"]
    assert count_people(people_of(same)) == 1
    assert count_people(people_of(np.array(same, object))) == 1


@pytest.mark.parametrize("nothing", [None, float("nan"), np.float32("nan"), "", "  ", b"", "\0"])
def test_rows_without_an_identifier_are_of_nobody(nothing):
    assert people_of(["a", nothing, "a"]).tolist() == [0, NOBODY, 0]


def test_missing_values_of_pandas_are_of_nobody():
    pandas = pytest.importorskip("pandas")
    numbers = pandas.Series([5, None, 5, 7], dtype="Int64")
    texts = pandas.Series(["5", None, "5", "7"])
    kinds = [numbers, texts, texts.astype("category"), texts.astype("string")]
    assert [people_of(kind).tolist() for kind in kinds] == [[0, NOBODY, 0, 1]] * 4


def test_masked_identifiers_are_of_nobody():
    masked = np.ma.MaskedArray([5, 6, 5], mask=[False, True, False])
    assert people_of(masked).tolist() == [0, NOBODY, 0]


@pytest.mark.parametrize(
    "groups",
    [
        np.array([1.0, 2.0]),
        np.array([1.0, np.nan]),
        [1, 2.0],
        [True, False],
        np.array([True, False]),
        np.array(["2020-01-01"], "M8[D]"),
        [("secret",), ("secret",)],
        [object()],
    ],
)
def test_other_kinds_are_rejected_without_being_quoted(groups):
    with pytest.raises(ValueError, match="groups must hold identifiers") as refusal:
        people_of(groups)
    assert "secret" not in str(refusal.value) and "2.0" not in str(refusal.value)


@pytest.mark.parametrize("groups", [np.zeros((3, 1), int), 5, "patient"])
def test_identifiers_have_one_dimension(groups):
    with pytest.raises(ValueError, match="one identifier per row"):
        people_of(groups)


def test_blanks_are_nobody_as_in_tables():
    """The same identifiers protect the same people, as groups and as a column of a table."""
    texts = [*sorted(BLANKS), " NA ", "na", "ann", "None", "0", *"abc"]
    by_groups = people_of(texts)
    schema = Schema({"id": Person(), "x": Number(0, 1), "sick": Target(["no", "yes"])})
    frame = {"id": texts, "x": [0.5] * len(texts), "sick": ["no"] * len(texts)}
    assert np.array_equal(people_of(read_rows(frame, schema=schema).groups), by_groups)
    assert (by_groups == NOBODY).sum() == len(BLANKS) + 1
