"""Rows that do not match their schema: the owner is told, and nothing else changes."""

import warnings

import numpy as np
import pytest

from commanding import people, write_table
from dplasso import OwnerWarning, PrivateLassoClassifier, Schema, TableEncoder, read_rows
from dplasso.privacy import leaks
from dplasso.reading import convert
from dplasso.schema import Category, FeatureSpace, Hashed, Number, Person, Target
from dplasso.schema.frames import encode_frame
from dplasso.schema.unmatched import LevelCounts

TOWNS = ["Ulm", "Bern", "Graz"]


def schema_of(levels, **options):
    columns = {"town": Category(levels, **options), "age": Number(0, 120)}
    return Schema({**columns, "sick": Target(["no", "yes"])}, n_rows=200)


def frame_of(towns):
    rows = len(towns)
    return {"town": towns, "age": [50] * rows, "sick": ["no", "yes"] * (rows // 2)}


def told(work):
    """The warnings for the owner that some work gives."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        work()
    return [str(one.message) for one in found if one.category is OwnerWarning]


def unmatched(schema, *frames):
    counts = LevelCounts(FeatureSpace(schema))
    for frame in frames:
        counts.add(encode_frame(FeatureSpace(schema), frame, labelled=False))
    return counts.unmatched


@pytest.mark.parametrize(
    "levels", [["ulm", "bern"], ["Ulm ", "Bern "], ["no", "yes"]], ids=["case", "space", "other"]
)
def test_levels_that_no_cell_has_are_told(levels):
    (said,) = told(lambda: read_rows(frame_of(TOWNS * 40), schema=schema_of(levels)))
    assert "owner's eyes only" in said and "'town'" in said and "to the letter" in said
    assert not any(town in said for town in TOWNS), "a cell is shown"
    assert not any(character.isdigit() for character in said), "a number of rows is shown"


def test_levels_are_counted_over_all_parts_of_a_table():
    schema, none = schema_of(["Ulm"]), frame_of(["Rome"] * 1000)
    assert unmatched(schema, none, none) == ["town"]
    assert unmatched(schema, none, frame_of(["Ulm"] * 4 + ["Rome"] * 96)) == ["town"]
    assert unmatched(schema, none, frame_of(["Ulm"] * 40)) == []


def test_a_category_that_is_mostly_other_is_told_without_a_cell():
    schema, mostly = schema_of(["Ulm"]), frame_of(["Ulm"] * 8 + ["Rome"] * 92)
    (said,) = told(lambda: read_rows(mostly, schema=schema))
    assert "most cells have none of the declared levels of 'town'" in said and "Rome" not in said
    assert not any(character.isdigit() for character in said), "a number of rows is shown"
    even = frame_of(["Ulm"] * 50 + ["Rome"] * 50)
    assert not told(lambda: read_rows(even, schema=schema))


def test_few_cells_and_missing_ones_say_nothing():
    assert unmatched(schema_of(["Ulm"]), frame_of(["Rome"] * 8)) == []
    missing = frame_of([None] * 996 + ["Ulm"] * 4)
    assert unmatched(schema_of(["Ulm"], missing="level"), missing) == []
    assert unmatched(schema_of(["Ulm"], missing="level"), frame_of(["Rome"] * 20)) == ["town"]


def test_neighbouring_categories_are_kept_apart():
    columns = {name: Category(["a", "b"], missing="level") for name in "xyz"}
    schema = Schema({**columns, "w": Hashed(10**12), "v": Category(["a"])})
    cells = {"x": ["a"], "y": ["c"], "z": ["b"], "w": ["a"], "v": ["c"]}
    assert unmatched(schema, {name: column * 50 for name, column in cells.items()}) == ["y", "v"]


def test_strict_mode_tells_nothing_and_reads_the_same(monkeypatch):
    schema, frame = schema_of(["ulm"]), frame_of(TOWNS * 40)
    made = []
    assert len(told(lambda: made.append(read_rows(frame, schema=schema)))) == 1
    monkeypatch.setattr(leaks, "_setting", True)
    assert told(lambda: made.append(read_rows(frame, schema=schema))) == []
    assert np.array_equal(made[0].X.toarray(), made[1].X.toarray())
    assert made[0].facts == made[1].facts


def test_frames_of_encoders_and_models_are_watched():
    schema, frame = schema_of(["ulm"]), frame_of(TOWNS * 40)
    encoder = TableEncoder(schema)
    assert len(told(lambda: encoder.transform(frame))) == 1
    rows = read_rows(frame_of(["ulm", "Graz"] * 60), schema=schema)
    model = PrivateLassoClassifier(1.0).fit(rows.described(), rows.y)
    assert len(told(lambda: model.predict(frame))) == 1
    assert told(lambda: model.predict(frame_of(["ulm"] * 20))) == []


def test_a_converted_file_is_told_of_once(tmp_path):
    table = write_table(tmp_path / "people.csv", people())
    found = told(lambda: convert(table, tmp_path / "store", schema=schema_of(["ulm"])))
    assert len(found) == 1


@pytest.mark.filterwarnings("error")
def test_what_is_told_never_raises(capsys):
    rows = read_rows(frame_of(TOWNS * 40), schema=schema_of(["ulm"]))
    assert rows.X.shape[0] == 120
    assert capsys.readouterr().err.startswith("warning: for the data owner's eyes only")


def visits_of(patients):
    schema = Schema(
        {"patient_id": Person(), "age": Number(0, 120), "sick": Target(["no", "yes"])}, n_rows=200
    )
    rows = len(patients)
    frame = {"patient_id": patients, "age": [50] * rows, "sick": ["no", "yes"] * (rows // 2)}
    return frame, schema


@pytest.mark.parametrize(
    "patients",
    [[None] * 100, ["", "7"] * 50, ["  ", "7"] * 50, ["NA"] * 12 + ["7"] * 88],
    ids=["none", "half", "spaces", "above a tenth"],
)
def test_rows_of_nobody_are_told_in_general_terms(patients):
    frame, schema = visits_of(patients)
    (said,) = told(lambda: read_rows(frame, schema=schema))
    assert "owner's eyes only" in said and "'patient_id'" in said and "identifiers" in said
    assert not any(character.isdigit() for character in said), "a number of rows is shown"


@pytest.mark.parametrize(
    "patients", [[None] * 10 + ["7"] * 90, ["7"] * 100, [None] * 8], ids=["tenth", "all", "few"]
)
def test_a_few_rows_of_nobody_say_nothing(patients):
    frame, schema = visits_of(patients)
    assert told(lambda: read_rows(frame, schema=schema)) == []


def test_rows_to_predict_need_no_identifiers():
    frame, schema = visits_of([None] * 100)
    assert told(lambda: read_rows(frame, schema=schema, labelled=False)) == []
