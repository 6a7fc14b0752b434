"""Files in other encodings: training rows as stated, rows for a model as their bytes say."""

import json
from dataclasses import replace

import pytest

from dplasso import Budget, Schema, read_rows
from dplasso.schema import Category, Number, Target

LATIN = Schema(
    {"größe": Number(0, 9), "ort": Category(["Köln", "Ulm"]), "y": Target(["nö", "ja"])},
    n_rows=40,
    encoding="latin-1",
)


@pytest.fixture
def latin(tmp_path):
    """A table in latin-1, its schema, and an empty ledger."""
    LATIN.to_toml(tmp_path / "s.toml")
    cells = [(k % 10, ["Köln", "Ulm"][k % 2], ["nö", "ja"][k % 2]) for k in range(40)]
    lines = ["größe,ort,y", *(",".join(map(str, row)) for row in cells)]
    (tmp_path / "a.csv").write_text("\n".join(lines), "latin-1")
    Budget(5.0, 1e-5, store=tmp_path / "ledger")
    return tmp_path


def training(folder, test, *more):
    where = (folder / "a.csv", "--schema", folder / "s.toml", "-o", folder / "m", *more)
    return ("train", *where, "--budget", folder / "ledger", "--test", test, "--test-is-public")


@pytest.mark.parametrize("encoding", ["latin-1", "utf-8", "utf-8-sig", "utf-16"])
def test_rows_for_a_model_are_in_utf8_or_in_the_encoding_of_its_schema(latin, good, encoding):
    new = latin / "new.csv"
    new.write_text((latin / "a.csv").read_text("latin-1"), encoding)
    good(*training(latin, new))
    predicted = good("predict", latin / "m", latin / "a.csv", "--id", "ort")
    assert "Köln" in predicted and good("predict", latin / "m", new, "--id", "ort") == predicted
    scored = json.loads(good("evaluate", latin / "m", new, "--public", "--json"))
    assert scored["rows"] == 40
    good("report", latin / "m", "--public-data", new, "--by", "ort", "-o", latin / "x.html")
    assert "Köln" in (latin / "x.html").read_text()


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "does not exist"),
        (b"ort,y\nUlm,ja\nUlm,ja\n", "has no column 'gr"),
        ("größe,ort,y\n1,Ulm,ja\n".encode("latin-1"), "fewer than two labels"),
        ("größe,ort,y\n1,Ulm,ja\n2,Ulm,si\n".encode(), "not among the classes"),
        ("größe,ort,y\n1,Ulm,ja\n".encode("utf-16-le"), "NUL"),
        (b"\xef\xbb\xbfa,\xff\n1,2\n", "no text in UTF-8"),
    ],
)
def test_a_test_file_is_refused_before_anything_is_charged(latin, run, content, said):
    if content is not None:
        (latin / "new.csv").write_bytes(content)
    done = run(*training(latin, latin / "new.csv"))
    assert done.code == 1 and said in done.err and not (latin / "m").exists()
    assert Budget.open(latin / "ledger").spent_rho == 0


def test_one_training_row_never_decides_how_the_others_are_read(tmp_path):
    """Training rows follow the schema alone, also if they happen to be valid UTF-8."""
    for name, last in (("a.csv", b"\xff"), ("b.csv", b"Ulm")):
        (tmp_path / name).write_bytes("größe,ort,y\n1,Köln,ja\n".encode() + b"2," + last + b",ja\n")
        with pytest.raises(ValueError, match="has no column"):
            read_rows(tmp_path / name, schema=LATIN)
        with pytest.raises(ValueError, match="has no column|no text"):
            read_rows(tmp_path / name, schema=replace(LATIN, encoding=None), encoding="cp1252")


def test_an_encoding_that_is_given_wins(latin, good, run):
    good(*training(latin, latin / "a.csv"))
    done = run("predict", latin / "m", latin / "a.csv", "--encoding", "utf-8")
    assert done.code == 1 and "no text in UTF-8" in done.err


def test_a_header_in_another_encoding_is_drafted_and_named_with_the_remedy(latin, good, run):
    done = run("schema", latin / "a.csv")
    assert (
        done.code == 1 and "line 1: this is no text in UTF-8; pass --encoding latin-1" in done.err
    )
    good("schema", latin / "a.csv", "--encoding", "latin-1", "-o", latin / "draft.toml")
    draft = Schema.from_toml(latin / "draft.toml")
    assert list(draft.columns) == list(LATIN.columns) and draft.encoding == "latin-1"
    wide = latin / "wide.csv"
    for encoding, given in (("utf-16", ()), ("utf-16-le", ("--encoding", "utf-16-le"))):
        wide.write_text("age,ort\n\ud800" * 2, encoding, errors="surrogatepass")
        assert "[columns.ort]" in good("schema", wide, *given)
    done = run("schema", wide)
    assert done.code == 1 and "pass --encoding utf-16" in done.err
    done = run("schema", latin / "a.csv", "--encoding", "klingon")
    assert done.code == 1 and "--encoding must be the name of an encoding" in done.err


def test_a_report_reads_public_rows_as_they_are_written(latin, good, run):
    good(*training(latin, latin / "a.csv"))
    public = latin / "public.csv"
    public.write_text((latin / "a.csv").read_text("latin-1").replace(",", ";"), "cp850")
    written = ("--delimiter", ";", "--encoding", "cp850")
    page = ("report", latin / "m", "-o", latin / "x.html")
    good(*page, "--public-data", public, *written, "--by", "ort")
    text = (latin / "x.html").read_text()
    assert "Köln" in text and "--encoding cp850" in text
    done = run(*page, "--force", *written)
    assert done.code == 1 and "are for --public-data" in done.err
