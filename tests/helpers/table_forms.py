"""The same people as text, as an Arrow table, and as rows of features."""

import numpy as np
import pyarrow as pa

from commanding import people

ROLES = {
    "target": "sick",
    "classes": ["no", "yes"],
    "bounds": {"age": (0, 120)},
    "hashed": {"town": 32},
    "text": {"note": 64},
    "ignore": ["id"],
}


def rows_of_people():
    found = people(60)
    found[3]["town"], found[5]["town"], found[7]["age"] = "Zürich", "Łódź", ""
    found[9]["note"] = 'cough, "dry"\nfever'
    return found


def text_of(rows, delimiter=",", end="\n"):
    def cell(value):
        return '"' + value.replace('"', '""') + '"' if set(value) & set('",;\n\t') else value

    lines = [delimiter.join(rows[0]), *(delimiter.join(map(cell, row.values())) for row in rows)]
    return end.join([*lines, ""])


def assert_same(found, wanted):
    assert np.array_equal(found.X.indptr, wanted.X.indptr)
    assert np.array_equal(found.X.indices, wanted.X.indices)
    assert found.X.data.tobytes() == wanted.X.data.tobytes()
    assert found.y.tolist() == wanted.y.tolist()


def arrow_table(rows):
    columns = {name: [row[name] or None for row in rows] for name in rows[0]}
    columns["age"] = [None if age is None else float(age) for age in columns["age"]]
    return pa.table(columns)
