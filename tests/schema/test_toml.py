"""Schema files: read strictly, written so that the same schema is read again."""

import tomllib

import pytest
from hypothesis import given, settings

from dplasso import Schema
from dplasso.schema import Category, Number, SchemaError, Target
from dplasso.schema.toml import parse, text_of
from schemas import HOSTILE, SMALL, schemas


@given(schema=schemas())
@settings(deadline=None, max_examples=60)
def test_a_schema_is_read_as_it_was_written(schema):
    text = text_of(schema)
    again = Schema(**parse(text))
    assert again == schema and text_of(again) == text
    assert Schema.from_dict(schema.to_dict()) == schema
    assert list(tomllib.loads(text)["columns"]) == list(schema.columns)


def test_a_file_is_written_and_read(tmp_path):
    path = tmp_path / "people.toml"
    assert SMALL.to_toml(path) == path.read_text()
    assert Schema.from_toml(path) == SMALL
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes().replace(b"\n", b"\r\n"))
    assert Schema.from_toml(path) == SMALL  # as editors on Windows write it


def test_the_order_of_columns_matters():
    """Features are numbered in this order."""
    columns = list(SMALL.columns.items())
    assert Schema(dict(columns[::-1]), n_rows=100, n_people=50) != SMALL


@pytest.mark.parametrize("name", HOSTILE)
def test_names_levels_and_classes_may_hold_any_sign(name):
    schema = Schema({name: Category([name, f"{name}."]), f"{name}!": Target([name, f"{name}?"])})
    assert Schema(**parse(text_of(schema))) == schema


AGE = '[columns.age]\nrole = "number"\n'


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("n_rows = \n", "not valid TOML: .*line 1.*; correct that line"),
        (AGE + AGE, r"not valid TOML: .*line 3"),
        ("n_rows = 5\n", r"has no columns; add one table per column: \[columns.age\]"),
        ("n_row = 5\n" + AGE, "has an unknown key 'n_row'; did you mean 'n_rows'?"),
        ("colour = 5\n" + AGE, "has an unknown key 'colour'; did you mean 'columns'"),
        ("[columns]\nage = 5\n", r"\[columns.age\] must be a table with a role"),
        (AGE + "lo = 0\n", r"\[columns.age\] has an unknown key 'lo'; did you mean 'low'?"),
        (AGE + "levels = []\n", "unknown key 'levels'; the role \"number\" takes low, high"),
        (AGE + "low = 'x'\n", r"\[columns.age\]: low must be a finite number"),
        (AGE + "low = nan\n", "low must be a finite number"),
        (AGE + "low = true\n", "low must be a finite number"),
        (AGE + "low = 5\nhigh = 1\n", "low must be below high; exchange or correct them"),
        (AGE + "log = 1\n", "log must be true or false"),
        (AGE + "missing = 'yes'\n", "missing must be 'indicator', or left out"),
        (AGE + "low = 0\nhigh = 9\nfill = 10\n", "fill must lie between low and high, or be 0"),
        (AGE + "bins = 1\n", "bins must be from 2 to 10,000, or a list of edges"),
        (AGE + "bins = [3, 2]\n", "bins must have edges that rise"),
        (AGE + "low = 0\nhigh = 9\nbins = [0, 5]\n", "edges between low and high"),
        (AGE + "log = true\nbins = [3]\n", "log has no effect on bins with edges"),
        ('[columns.a]\nrole = "numbr"\n', "unknown role; did you mean 'number'?"),
        ('[columns.a]\nrole = "wrong"\n', "unknown role; it is one of number, category"),
        ("[columns.a]\nlow = 5\n", "unknown key 'low'; give it a role first"),
        ('[columns.a]\nrole = "ignore"\nlow = 5\n', 'the role "ignore" takes no settings'),
        ('[columns.a]\nrole = "category"\nlevels = "x"\n', "levels must be a list of texts"),
        ('[columns.a]\nrole = "category"\nlevels = ["x", "x"]\n', "the one that is there twice"),
        ('[columns.a]\nrole = "category"\nlevels = [true]\n', "levels must be texts or numbers"),
        ('[columns.a]\nrole = "hashed"\nbuckets = 0\n', "buckets must be a positive whole"),
        ('[columns.a]\nrole = "date"\nfeatures = ["era"]\n', "features must be a list of"),
        ('[columns.a]\nrole = "date"\nstart = "x"\n', "start must be a date without a time zone"),
        (
            '[columns.a]\nrole = "date"\nstart = 2020-01-01\nend = 2019-01-01\n',
            "start must be before end",
        ),
        ('[columns.a]\nrole = "date"\nformat = "d"\n', "format must be one of strptime"),
        ('[columns.a]\nrole = "target"\nclasses = ["x"]\n', "classes must be two or more"),
        (
            '[columns.a]\nrole = "target"\nclasses = ["x", "y"]\nlow = 0\n',
            "classes have no low and high",
        ),
        (
            '[columns.a]\nrole = "target"\nclasses = ["x", "y"]\nclass_weight = {x = 2}\n',
            "class_weight must be above 0 and at most 1",
        ),
        (
            '[columns.a]\nrole = "target"\nclasses = ["x", "y"]\nclass_weight = {z = 1}\n',
            "class_weight must name classes",
        ),
        (
            '[columns.a]\nrole = "target"\nlog = true\n',
            'the role "target" takes classes, low, high, class_weight; log is for the role "num',
        ),
        ("n_people = 5\n" + AGE, 'n_people needs a column with the role "person"'),
        ("n_rows = 0\n" + AGE, "n_rows must be a positive whole number"),
        ("delimiter = ';;'\n" + AGE, "delimiter must be one character"),
        ("encoding = 'utf-99'\n" + AGE, "encoding must be the name of an encoding"),
        (
            '[columns.a]\nrole = "person"\n[columns.b]\nrole = "person"\n',
            "columns 'a' and 'b' both have the role person; give it to one",
        ),
    ],
)
def test_errors_name_the_file_the_key_and_the_remedy(text, reason):
    with pytest.raises(SchemaError, match=f"^people.toml.*{reason}"):
        parse(text, "people.toml")


def test_a_file_in_another_encoding_is_refused(tmp_path):
    (tmp_path / "x.toml").write_bytes(b'[columns."caf\xe9"]\nrole = "ignore"\n')
    with pytest.raises(SchemaError, match="is not in UTF-8; save it in that encoding"):
        Schema.from_toml(tmp_path / "x.toml")


def test_blanks_are_listed_with_their_columns():
    text = AGE + "low = 0\n[columns.town]\nrole = 'category'\n[columns.x]\n"
    schema = Schema(**parse(text + "[columns.y]\nrole = 'target'\n"))
    assert schema.blanks == {
        "age": ("high",),
        "town": ("levels",),
        "x": ("role",),
        "y": ("classes (or low and high)",),
    }
    with pytest.raises(ValueError, match="'age' needs high; 'town' needs levels; 'x' needs role"):
        schema.check_filled()
    with pytest.raises(ValueError, match='give one column the role "target"'):
        Schema({"age": Number(0, 1)}).check_filled()


def test_numbers_among_levels_are_the_texts_of_their_cells():
    assert Category([1, 2.0, 0.5, "x"]).levels == ("1", "2", "0.5", "x")
