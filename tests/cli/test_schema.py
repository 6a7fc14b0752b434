"""One schema file for all commands: drafted from names alone, filled in, and kept by models."""

import gzip
import json
import os
import signal

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest

from commanding import FEW, people, write_table
from dplasso import PrivateLassoClassifier, Schema, TableEncoder, load, read_rows
from dplasso.reading.table_header import read_header
from dplasso.schema import Category, Identifier, Ignore, Number, Person, Target, Text

PEOPLE = Schema(
    {
        "id": Identifier(),
        "age": Number(0, 120),
        "town": Category(["Ulm", "Bern", "Graz"]),
        "note": Text(64),
        "sick": Target(["no", "yes"]),
    },
    n_rows=200,
)


@pytest.fixture
def table(tmp_path):
    return write_table(tmp_path / "people.csv", people())


@pytest.fixture
def schema(tmp_path):
    path = tmp_path / "people.toml"
    PEOPLE.to_toml(path)
    return path


def test_a_draft_has_every_column_and_train_names_its_blanks(tmp_path, table, good, run):
    path = tmp_path / "draft.toml"
    good("schema", table, "-o", path, "--target", "sick")
    draft = Schema.from_toml(path)
    assert list(draft.columns) == ["id", "age", "town", "note", "sick"]
    assert [role.kind for role in draft.columns.values()] == [
        *("identifier", "number", "category", "text", "target"),
    ]
    done = run("train", table, "-o", tmp_path / "m", "--schema", path)
    assert done.code == 1 and not (tmp_path / "m").exists()
    assert "'age' needs low and high; 'town' needs levels; 'sick' needs classes" in done.err
    assert "publicly known" in done.err and "--schema" in done.err
    filled = path.read_text().replace("# levels = [", "levels = [").replace("# classes", "classes")
    filled = filled.replace("# low = 0     #", "low = 0 #").replace(
        "# high = 100  #", "high = 100 #"
    )
    path.write_text(filled)
    filled = filled.replace("# n_rows = 10000", "n_rows = 10000")
    path.write_text(filled)
    good("train", table, "-o", tmp_path / "m", "--schema", path, *FEW)
    assert load(tmp_path / "m").schema_.columns["note"].buckets == 1024  # about a sixteenth
    assert Schema.from_dict(load(tmp_path / "m").table_plan_) == Schema.from_toml(path)
    done = run("schema", table, "-o", path)
    assert done.code == 1 and "exists, and may state facts" in done.err
    assert "role =" in good("schema", table)


def test_whether_people_are_protected_is_decided_and_never_guessed(tmp_path, good, run):
    rows = [
        {"patient_id": str(k // 4), "visit_id": str(k), **row} for k, row in enumerate(people())
    ]
    data, path = write_table(tmp_path / "visits.csv", rows), tmp_path / "draft.toml"
    good("schema", data, "-o", path, "--target", "sick")
    kinds = {name: role.kind for name, role in Schema.from_toml(path).columns.items()}
    assert kinds["patient_id"] == "" and kinds["visit_id"] == kinds["id"] == "identifier"
    filled = path.read_text().replace("# levels", "levels").replace("# classes", "classes")
    filled = filled.replace("# low = 0     #", "low = 0 #").replace("# high = 100  #", "high = 9 #")
    path.write_text(filled)
    train = ("train", data, "-o", tmp_path / "m", "--schema", path, *FEW)
    for more in ((), ("--dry-run",)):
        done = run(*train, *more)
        assert done.code == 1 and not (tmp_path / "m").exists()
        assert "'patient_id' needs a role: \"person\"" in done.err and "one by one" in done.err
    for role, told in (("identifier", "row on its own"), ("person", "person (column pat")):
        text = filled.replace(f'# role = "{role}" ', f'role = "{role}" ', 1)
        path.write_text(text.replace("# n_people", "n_people") if role == "person" else text)
        for more in (("--dry-run",), ("--force",)):
            done = run(*train, *more)
            assert done.code == 0 and f"the model protects each {told}" in done.err
        unit = load(tmp_path / "m").privacy_.unit
        assert unit == ("row" if role == "identifier" else "person: patient_id")


@pytest.mark.filterwarnings("always::dplasso.reading.reader.UncheckedSchemaWarning")
def test_a_model_of_a_pipeline_cannot_tell_whether_a_schema_is_its_own(tmp_path, run):
    columns = {"age": Number(0, 120), "town": Category(["Ulm", "Graz"])}
    schema = Schema({**columns, "sick": Target(["no", "yes"])}, n_rows=200)
    encoder, data = TableEncoder(schema), write_table(tmp_path / "people.csv", people())
    X, y, _ = schema.split(pd.DataFrame(people()))
    public = {"classes": ["no", "yes"], "n_rows": 200, "x_bound": encoder.bounds_}
    PrivateLassoClassifier(1.0, **public).fit(encoder.transform(X), y).save(tmp_path / "m.dpl")
    schema.to_toml(tmp_path / "s.toml")
    for command, more in (("evaluate", ["--public"]), ("predict", ["--id", "id"])):
        asked = (command, tmp_path / "m.dpl", data, *more)
        done = run(*asked)
        assert done.code == 1 and "keeps no schema; give --schema" in done.err
        done = run(*asked, "--schema", tmp_path / "s.toml")
        assert done.code == 0 and "whether --schema is the one" in done.err


def test_the_owner_is_told_of_rows_of_nobody_before_anything_is_charged(tmp_path, good, run):
    path, roles = tmp_path / "visits.toml", {"patient_id": Person(), "age": Number(0, 120)}
    Schema({**roles, "sick": Target(["no", "yes"])}, n_rows=200, n_people=200).to_toml(path)
    poor = tmp_path / "poor.sqlite"  # has too little left, so a fit ends where it would be charged
    good("budget", "init", poor, "--epsilon", 0.01, "--delta", 1e-6)
    for name, ids in {"blank": [""] * 200, "half": ["", "7"] * 100, "full": ["7"] * 200}.items():
        rows = [{"patient_id": who, **row} for who, row in zip(ids, people(), strict=True)]
        data = write_table(tmp_path / f"{name}.csv", rows)
        for more, code in ((("--dry-run",), 0), (("--budget", poor), 1)):
            done = run("train", data, "-o", tmp_path / "m", "--schema", path, *FEW, *more)
            assert done.code == code, done.err
            told = "have no identifier in column 'patient_id'" in done.err
            assert told == (name != "full"), done.err


@pytest.mark.parametrize(
    "name", ["patient_id", "customerID", "USERID", "member no", "client", "ssn"]
)
def test_names_of_people_are_blanks_whatever_the_type_of_their_column(tmp_path, good, name):
    pa.parquet.write_table(pa.table({name: [1], "age": [1]}), tmp_path / "x.parquet")
    good("schema", tmp_path / "x.parquet", "-o", tmp_path / "x.toml")
    assert Schema.from_toml(tmp_path / "x.toml").blanks[name] == ("role",)


def test_the_types_of_parquet_columns_suggest_roles(tmp_path, good):
    columns = {"a": [1.5], "b": ["x"], "c": [True], "d": [[1]], "f": pa.array([0], pa.date32())}
    pa.parquet.write_table(pa.table(columns), tmp_path / "x.parquet")
    good("schema", tmp_path / "x.parquet", "-o", tmp_path / "x.toml")
    found = Schema.from_toml(tmp_path / "x.toml").columns
    kinds = {name: role.kind for name, role in found.items()}
    assert kinds == {"a": "number", "b": "", "c": "category", "d": "ignore", "f": "date"}
    assert found["c"].levels == ("0", "1")


@pytest.mark.parametrize("header", ["age,town", '"a\nb","say ""x""",é', "\ufeffage;b,x", "\n\nx,y"])
def test_nothing_beyond_the_header_is_read(tmp_path, header):
    """The body is a pipe that nobody writes to: reading one byte of it would wait for ever."""
    pipe = tmp_path / "rows.csv"
    os.mkfifo(pipe)
    end = os.open(pipe, os.O_RDWR)
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    try:
        os.write(end, f"{header}\n".encode())
        signal.alarm(20)
        assert len(read_header(pipe).names) == header.count(",") + 1
        os.write(end, b"rows")
        assert os.read(end, 99) == b"rows"  # and not a byte was taken
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
        os.close(end)


def test_a_header_ends_where_the_values_begin(tmp_path):
    """The body is no text at all, and its compressed form is cut off."""
    (tmp_path / "x.csv").write_bytes(b'age,town\n\xff\xfe\x00"""')
    packed = gzip.compress(b"age,town\n" + os.urandom(1 << 20))
    (tmp_path / "x.csv.gz").write_bytes(packed[: 1 << 19])
    for name in ("x.csv", "x.csv.gz"):
        assert read_header(tmp_path / name).names == ["age", "town"]
    (tmp_path / "x.csv").write_text("age;town\n")
    with pytest.raises(ValueError, match="seems to be separated by ';'"):
        read_header(tmp_path / "x.csv")
    assert read_header(tmp_path / "x.csv", ";").names == ["age", "town"]
    (tmp_path / "x.csv").write_text("\n")
    with pytest.raises(ValueError, match="has no header"):
        read_header(tmp_path / "x.csv")


def test_all_commands_take_the_same_file(tmp_path, table, schema, good, run):
    given = ("--schema", schema, "--seed", 3, *FEW)
    path, store, other = tmp_path / "m.dpl", tmp_path / "store", tmp_path / "m2.dpl"
    out = good("train", table, "-o", path, *given, "--test", table, "--test-is-public")
    assert "category of 3 levels" in out and "number, clipped to 0:120" in out
    good("convert", table, "-o", store, "--schema", schema)
    good("train", store, "-o", other, "--seed", 3, *FEW)
    assert np.array_equal(load(path).coef_, load(other).coef_)
    assert load(other).table_plan_ == load(path).table_plan_
    predicted = good("predict", path, table)
    assert good("predict", path, table, "--schema", schema) == predicted
    assert good("predict", path, store) == predicted
    scores = json.loads(good("evaluate", path, table, "--public", "--json", "--schema", schema))
    frame = pd.read_csv(table, dtype={"id": str})
    model = load(path)
    assert model.predict(frame).tolist() == predicted.split()
    assert scores["accuracy"] == model.score(frame, PEOPLE.split(frame)[1])
    assert model.n_rows == 200 and model.privacy_["public"]["classes"]["source"] == "declared"
    PEOPLE.without_target().to_toml(schema)
    done = run("predict", path, table, "--schema", schema)
    assert done.code == 0
    Schema({**PEOPLE.columns, "age": Number(0, 99)}).to_toml(schema)
    done = run("predict", path, table, "--schema", schema)
    assert done.code == 1 and "--schema has other features" in done.err


@pytest.mark.parametrize(
    ("option", "named"),
    [
        (("--target", "sick"), "--target"),
        (("--bounds", "age=0:1"), "--bounds"),
        (("--hash", "town"), "--hash"),
        (("--text", "note"), "--text"),
        (("--ignore", "id"), "--ignore"),
        (("--missing", "age"), "--missing"),
        (("--person", "id"), "--person"),
        (("--buckets", 9), "--buckets"),
        (("--classes", "no,yes"), "--classes"),
        (("--rows", 100), "--rows"),
        (("--regression",), "--regression"),
        (("--y-bound", 3), "--y-bound"),
    ],
)
def test_options_that_the_schema_states_are_refused_by_name(
    tmp_path, table, schema, run, option, named
):
    done = run("train", table, "-o", tmp_path / "m", "--schema", schema, *option)
    assert done.code == 1 and f"{named} is stated by --schema; leave it out" in done.err


def test_a_delimiter_of_the_schema_that_is_not_the_file_s_is_mended_in_the_schema(
    tmp_path, table, schema, run
):
    """The option would be refused, because the schema states it."""
    schema.write_text('delimiter = ";"\n' + schema.read_text())
    done = run("train", table, "--schema", schema, "--dry-run")
    assert done.code == 1 and "correct the delimiter that the schema states" in done.err


def test_a_schema_is_for_tables(tmp_path, text, schema, run):
    for command in ("train", "convert"):
        done = run(command, text, "-o", tmp_path / "m", "--schema", schema)
        assert done.code == 1 and "--schema is for a table" in done.err
    done = run("schema", text)
    assert done.code == 1 and "a schema describes a table" in done.err


def test_numbers_are_predicted_where_the_schema_bounds_them(tmp_path, good, run):
    rows = [{"age": k, "pay": 3 * k} for k in range(100)]
    data = write_table(tmp_path / "pay.csv", rows)
    schema = Schema({"age": Number(0, 100), "pay": Target(low=0, high=300)}, n_rows=100)
    schema.to_toml(tmp_path / "pay.toml")
    good("train", data, "-o", tmp_path / "m", "--schema", tmp_path / "pay.toml", "-e", 50)
    model, frame = load(tmp_path / "m"), pd.DataFrame(rows)
    assert tuple(model.y_bound) == (0.0, 300.0) and model.score(frame, frame.pay) > 0.8
    good("convert", data, "-o", tmp_path / "store", "--schema", tmp_path / "pay.toml")
    done = run("train", tmp_path / "store", "-o", tmp_path / "other")
    assert done.code == 1 and "labels are numbers" in done.err and "--regression" in done.err


def test_hostile_names_levels_and_classes_work_everywhere(tmp_path, good):
    odd = ['a "b", c', "x.y=z", "é日 #1", "[t]"]
    schema = Schema(
        {
            odd[0]: Number(0, 9),
            odd[1]: Category(["NA", "a,b", 'say "x"', " "]),
            odd[2]: Ignore(),
            odd[3]: Target(['"no", never', "null"]),
        },
        n_rows=40,
        delimiter=";",
    )
    schema.to_toml(tmp_path / "odd.toml")
    levels, classes = [*schema.columns[odd[1]].levels, "other"], schema.labels.classes
    frame = pd.DataFrame(
        {
            odd[0]: range(40),
            odd[1]: [levels[k % 5] for k in range(40)],
            odd[2]: ["x;y\nz"] * 40,
            odd[3]: [classes[k % 2] for k in range(40)],
        }
    )
    frame.to_csv(tmp_path / "odd.csv", sep=";", index=False)
    good("train", tmp_path / "odd.csv", "-o", tmp_path / "m", "--schema", tmp_path / "odd.toml")
    model = load(tmp_path / "m")
    assert model.feature_names_in_.tolist()[1:4] == [f"{odd[1]}={level}" for level in levels[:3]]
    rows = read_rows(tmp_path / "odd.csv", schema=schema)
    assert (rows.X != read_rows(frame, schema=schema).X).nnz == 0
    assert rows.y.tolist() == frame[odd[3]].tolist()
    assert rows.X[:, [1]].toarray()[:, 0].tolist() == [float(k % 5 == 0) for k in range(40)]
    good("predict", tmp_path / "m", tmp_path / "odd.csv", "-o", tmp_path / "out", "--raw")
    good("report", tmp_path / "m", "-o", tmp_path / "x.html")
    assert model.predict(frame).tolist() == read_lines(tmp_path / "out")


def read_lines(path):
    return path.read_text().splitlines()


@pytest.mark.filterwarnings("ignore::dplasso.reading.reader.UncheckedSchemaWarning")
def test_a_model_of_a_pipeline_predicts_files_with_the_schema(tmp_path, table, schema, good, run):
    frame = pd.read_csv(table)
    X, y, _ = PEOPLE.split(frame)
    encoder = TableEncoder(PEOPLE)
    model = PrivateLassoClassifier(1.0, classes=["no", "yes"], n_rows=200, x_bound=encoder.bounds_)
    model.fit(encoder.transform(X), y).save(tmp_path / "m")
    out = good("predict", tmp_path / "m", table, "--schema", schema, "--id", "id").splitlines()
    assert [line.split("\t")[1] for line in out[1:]] == model.predict(encoder.transform(X)).tolist()
    Schema({"age": Number(0, 1), "sick": Target(["no", "yes"])}).to_toml(schema)
    done = run("predict", tmp_path / "m", table, "--schema", schema)
    assert done.code == 1 and "as many features as the model has columns" in done.err


def test_a_stream_of_csv_is_learned_from_and_continued(tmp_path, table, schema, good, run):
    given = ("--schema", schema, "--window", 100, "--seed", 1, "--every", 50, "-q")
    lines = table.read_text().splitlines(keepends=True)
    (tmp_path / "first.csv").write_text("".join(lines[:101]))
    whole = ("online", table, "--state", tmp_path / "a", "-o", tmp_path / "a.txt", *given)
    good(*whole, "--model", tmp_path / "m.dpl")
    growing = tmp_path / "growing.csv"
    for end in (101, 201):
        growing.write_text("".join(lines[:end]))
        good("online", growing, "--state", tmp_path / "b", "-o", tmp_path / "b.txt", *given)
    assert read_lines(tmp_path / "a.txt") == read_lines(tmp_path / "b.txt")
    assert len(read_lines(tmp_path / "a.txt")) == 200
    snapshot = load(tmp_path / "m.dpl")
    encoder = TableEncoder(PEOPLE)
    wanted = snapshot.predict(encoder.transform(pd.read_csv(table)))
    assert good("predict", tmp_path / "m.dpl", table).split() == wanted.tolist()
    done = run("online", table, "--state", tmp_path / "c", *given, "--classes", "no,yes")
    assert done.code == 1 and "--classes is stated by --schema" in done.err
    Schema({**PEOPLE.columns, "age": Number(0, 99)}, n_rows=200).to_toml(schema)
    done = run(*whole)
    assert done.code == 1 and "schema" in done.err


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("1,2\n", "line 2: there is not one cell per column of the schema"),
        ('1,"2,Ulm,x,no\n', "line 2: this is no row of CSV"),
        ("1,s3cret,Ulm,x,no\n", "line 2 has no number in column 'age'"),
        ("1,2,Ulm,x,s3cret\n", "line 2 has a label that is not among the classes"),
    ],
)
def test_a_broken_line_of_a_stream_is_named_but_not_shown(tmp_path, schema, run, line, reason):
    data = tmp_path / "rows.csv"
    data.write_text("id,age,town,note,sick\n" + line)
    given = ("--schema", schema, "--window", 100)
    done = run("online", data, "--state", tmp_path / "s", "-o", tmp_path / "out", *given)
    assert done.code == 1 and reason in done.err and "s3cret" not in done.err


def test_people_are_kept_apart_in_files_and_stores(tmp_path, table, schema, good):
    with_people = Schema({**PEOPLE.columns, "id": Person()}, n_rows=200, n_people=200)
    rows = read_rows(table, schema=with_people)
    assert rows.groups.tolist() == [str(k) for k in range(200)]
    assert read_rows(table, like=rows, labelled=False).groups is None
    quick = read_rows(table, person="id", **_quick())
    assert quick.groups.tolist() == rows.groups.tolist()
    with_people.to_toml(schema)
    good("convert", table, "-o", tmp_path / "store", "--schema", schema)
    stored = read_rows(tmp_path / "store")
    assert len(set(stored.groups.tolist())) == 200 and stored.schema.n_people == 200
    same = [
        {**row, "id": ["e\u0301", " \u00e9 ", "E", ""][k % 4]} for k, row in enumerate(people(8))
    ]
    write_table(table, same)
    good("convert", table, "-o", tmp_path / "again", "--schema", schema)
    first, second, third, none = read_rows(tmp_path / "again").groups[:4].tolist()
    assert first == second != third and none is None


def _quick():
    roles = {"bounds": {"age": (0, 120)}, "hashed": ["town"], "text": ["note"]}
    return {"target": "sick", "classes": ["no", "yes"], **roles}


def test_train_passes_on_whose_rows_they_are_or_says_that_it_cannot(tmp_path, table, schema, run):
    """Never a model that protects rows where people were asked for."""
    roles = (
        "--target",
        "sick",
        "--classes",
        "no,yes",
        "--bounds",
        "age=0:120",
        "--hash",
        "town,note",
    )
    done = run("train", table, "-o", tmp_path / "m", *roles, "--ignore", "id", "--people", 9)
    assert done.code == 1 and "--person" in done.err
    done = run(
        "train", table, "-o", tmp_path / "m", *roles, "--person", "id", "--people", 200, *FEW
    )
    if "person" in PrivateLassoClassifier().get_params():
        assert done.code == 0 and load(tmp_path / "m").person == "id"
    else:
        assert done.code == 1 and not (tmp_path / "m").exists()


def test_a_new_file_may_be_written_in_another_way(tmp_path, good):
    """A file in UTF-8 is read so, and any other as the training rows were."""
    schema = Schema(
        {"größe": Number(0, 9), "ort": Category(["Köln", "Ulm"]), "y": Target(["nö", "ja"])},
        n_rows=40,
        delimiter=";",
        encoding="latin-1",
    )
    schema.to_toml(tmp_path / "s.toml")
    lines = [
        "größe;ort;y",
        *(f"{k % 10};{['Köln', 'Ulm'][k % 2]};{['nö', 'ja'][k % 2]}" for k in range(40)),
    ]
    (tmp_path / "a.csv").write_text("\n".join(lines), "latin-1")
    (tmp_path / "b.csv").write_text("\n".join(lines).replace(";", ","), "utf-8")
    good("train", tmp_path / "a.csv", "-o", tmp_path / "m", "--schema", tmp_path / "s.toml", "-q")
    model = load(tmp_path / "m")
    rows = read_rows(tmp_path / "a.csv", like=model)
    new = read_rows(tmp_path / "b.csv", like=model, delimiter=",")
    assert (rows.X != new.X).nnz == 0 and rows.y.tolist() == new.y.tolist()
    assert rows.X[:, [1]].toarray().sum() == 20


@pytest.mark.parametrize("row", ["Anna Huber,1974-03-02,4", "Anna Huber,x,34.5", "02.03.1974,x"])
def test_a_first_row_of_data_never_becomes_names(tmp_path, run, row):
    (tmp_path / "people.csv").write_text(f"{row}\n{row}\n")
    done = run("schema", tmp_path / "people.csv", "-o", tmp_path / "s.toml")
    assert done.code == 1 and "seems to be a row" in done.err
    assert "Anna" not in done.err and "1974" not in done.err and not (tmp_path / "s.toml").exists()
    (tmp_path / "years.csv").write_text("name,2019,2020\n")
    assert run("schema", tmp_path / "years.csv").code == 0


def test_a_stream_refuses_a_schema_that_names_people(tmp_path, run):
    people = Schema({"id": Person(), "age": Number(0, 9), "y": Target(["a", "b"])}, n_rows=9)
    people.to_toml(tmp_path / "s.toml")
    (tmp_path / "rows.csv").write_text("1,2,a\n")
    done = run(
        *("online", tmp_path / "rows.csv", "--schema", tmp_path / "s.toml"),
        *("--state", tmp_path / "state", "--window", 10),
    )
    assert done.code == 1 and "whom a stream does not protect" in done.err


def test_every_command_that_reads_a_table_tells_its_owner(tmp_path, table, run):
    schema, good = tmp_path / "people.toml", tmp_path / "good.toml"
    PEOPLE.to_toml(good)
    schema.write_text(good.read_text().replace('"Ulm", "Bern", "Graz"', '"ulm", "Bern "'))
    model, store = tmp_path / "m.dpl", tmp_path / "store"
    for command in (
        ("train", table, "-o", model, "--schema", schema, "--epsilon", 1, *FEW),
        ("convert", table, "-o", store, "--schema", schema),
        ("predict", model, table, "-o", tmp_path / "predicted.csv"),
        ("evaluate", model, table),
    ):
        done = run(*command)
        assert done.code == 0 and "declared levels of 'town'" in done.err, (command, done.err)
        assert "owner's eyes only" not in done.out
    assert "levels" not in str(load(model).privacy_)
    fine = run("train", table, "-o", tmp_path / "g.dpl", "--schema", good, "--epsilon", 1, *FEW)
    assert fine.code == 0 and "owner's eyes only" not in fine.err
    strict = run("train", table, "-o", tmp_path / "s.dpl", "--schema", schema, "--strict", *FEW)
    assert strict.code == 0 and "owner's eyes only" not in strict.err
