"""Plans of models and stores of earlier versions are read as they were."""

import json

import numpy as np
import pytest

from dplasso import read_rows
from dplasso.data.row_chunks import assemble
from dplasso.reading.tables import table_chunks
from dplasso.schema import FeatureSpace, Schema
from dplasso.schema.roles import ROLES

# As version 0.1.0 wrote it before there were schemas.
PLAN = {
    "target": "sick",
    "bounds": [["age", 0.0, 120.0], ["bmi", 10.0, 60.0]],
    "hashed": [["town", 3], ["note", 4]],
    "buckets": 64,
    "text": ["note"],
    "ignore": ["id"],
    "classes": ["no", "yes"],
    "delimiter": None,
    "complete": True,
    "cell_rule": 2,
}
ROWS = "id,town,age,bmi,note,sick\n1,,,9,,no\n2,Ulm,130,,well,yes\n3,NA,30,20,NA,yes\n"


def test_numbers_come_first_with_their_indicators_and_missing_ones_are_0(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text(ROWS)
    schema = Schema.from_dict(json.loads(json.dumps(PLAN)))
    space, chunks, classes = table_chunks(path, schema)
    X, y = assemble(chunks, space.size)
    assert list(space.names)[:5] == ["age", "age is missing", "bmi", "bmi is missing", "town#0"]
    assert space.size == 4 + 3 + 4 and classes == ["no", "yes"] and y.tolist() == [0, 1, 1]
    assert X.toarray()[:, :4].tolist() == [[0, 1, 10, 0], [120, 0, 0, 1], [30, 0, 20, 0]]
    assert np.diff(X.indptr).tolist() == [2, 4, 2]
    assert space.bounds.with_pairs()[:5] == [(0, 120), (0, 1), (10, 60), (0, 1), 1.0]
    again = Schema.from_dict(json.loads(json.dumps(schema.to_dict())))
    assert again == schema and FeatureSpace(again).names == space.names


@pytest.mark.parametrize("role", ["text", "hashed"])
def test_buckets_that_were_left_out_were_4096_whatever_the_number_of_rows(role):
    columns = [["note", {"role": role}], ["sick", {"role": "target", "classes": ["no", "yes"]}]]
    content = {"target": "sick", "columns": columns, "n_rows": 100_000, "cell_rule": 3}
    assert Schema.from_dict(content).columns["note"].size == 4096
    stated = Schema({"note": ROLES[role]()}, n_rows=100_000)
    assert stated.columns["note"].size == 8192
    assert Schema.from_dict(json.loads(json.dumps(stated.to_dict()))) == stated


def test_blank_texts_of_parquet_were_texts(tmp_path):
    pa = pytest.importorskip("pyarrow.parquet")
    import pyarrow

    path = tmp_path / "rows.parquet"
    cells = {"town": ["NA", ""], "note": ["", "NA"], "age": [1.0, 2.0], "bmi": [20.0, 30.0]}
    pa.write_table(pyarrow.table(cells), path)
    old = Schema.from_dict(PLAN)
    X = read_rows(path, schema=old.without_target(), labelled=False).X
    assert np.diff(X.indptr).tolist() == [3, 4]
    new = Schema(old.columns).without_target()
    X = read_rows(path, schema=new, labelled=False).X
    assert np.diff(X.indptr).tolist() == [2, 2]


@pytest.mark.parametrize(
    "change",
    [
        {"hashed": [["age", 3]]},
        {"ignore": ["sick"]},
        {"bounds": [["age", 1.0, 0.0]]},
        {"hashed": [["town", 0]]},
        {"classes": ["no"]},
    ],
)
def test_a_plan_that_contradicts_itself_is_refused(change):
    with pytest.raises(ValueError, match="two roles|below high|buckets|classes"):
        Schema.from_dict({**PLAN, **change})
