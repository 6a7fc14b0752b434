"""Broken model files and options, and how they must be handled. Shared with benchmarks.

Every check takes a seed and returns the problem found, or None: input must be rejected with a
readable error or be read correctly, and nothing else may be changed.
"""

import contextlib
import io
import random
import sys
import warnings
from pathlib import Path

import numpy as np
import typer
from typer.core import TyperGroup

from archives import signed
from dplasso import PrivateLassoClassifier, load
from dplasso.cli import app as application
from dplasso.privacy import leaks
from dplasso.storage import ModelFileError

ROWS = "".join(f"{k % 2} 1:0.{k} {2 + k % 3}:1\n" for k in range(1, 20))
TABLE = "age,town,note,y\n" + "".join(f"{k},Ulm,well {k},{k % 2}\n" for k in range(30))
VALUES = (
    "", "0", "-1", "1", "3", "nan", "inf", "-inf", "1e400", "1e-400", "0x10", "1_0", "٣", "auto",
    "yes", "no,yes", "0,1", "0,0", ",", "=", ":", "age=0:9", "age=9:0", "age=nan:1", "age=0:inf",
    "age=:", "=0:1", "a=0:1,b=", "town=0", "town=-3", "town=9", "town=1e3",
    "town=99999999999999999999", "note=5", "y", "town", "none", "\x00", "\ud800", "é" * 300,
    "../..", "/", ".", "{rows}", "{table}", "{model}", "{new}", "{folder}", "lazy", "heap",
    "replace_one", "2G", "-1G", "1e3M", "G", "--", "-o",
)  # fmt: skip


def model_bytes(folder):
    """A small fitted model in a file."""
    rng = np.random.default_rng(0)
    X = np.round(rng.uniform(-1, 1, (40, 6)), 2)
    model = PrivateLassoClassifier(1.0, classes=["no", "yes"], n_rows=40, max_iter=8, radius=2.0)
    model.fit(X, np.where(X[:, 0] > 0, "yes", "no"))
    model.save(Path(folder) / "model.dpl")
    return (Path(folder) / "model.dpl").read_bytes()


def bent(rng, content):
    """Replace, insert, delete, repeat or cut off a few bytes."""
    content = bytearray(content)
    for _ in range(rng.choice((1, 1, 1, 2, 4, 16))):
        place, size = rng.randrange(len(content) + 1), rng.choice((0, 0, 1, 1, 2, 8))
        new = rng.choice((b"", rng.randbytes(1), content[place : place + 20], b"\x00" * 8, b"9"))
        content[place : place + size] = new
    return bytes(content[: rng.randrange(len(content))] if rng.random() < 0.05 else content)


def check_model(path, content, seed):
    """Check that a changed file, half of the time with a valid digest, is sound or rejected."""
    rng = random.Random(seed)
    if rng.random() < 0.5:
        altered = bent(rng, content)
    else:
        altered = signed(bent(rng, content.split(b"\n", 1)[1]))
    path.write_bytes(altered)
    try:
        model = load(path)
    except ModelFileError as error:
        return None if str(path) in str(error) else "an error that does not name the file"
    if len(model.predict(np.zeros((3, model.n_features_in_)))) != 3:
        return "a model that does not predict"
    return None


def options_of(name):
    """Options of a command that take a value, and those that take none."""
    group = typer.main.get_command(application.app)
    assert isinstance(group, TyperGroup)
    command = group.commands[name]
    found = [p for p in command.params if p.param_type_name == "option" and p.name != "help"]
    flags = [o for p in found if p.is_flag for o in (*p.opts, *p.secondary_opts)]
    return [o for p in found if not p.is_flag for o in p.opts], flags


def arguments(rng, places):
    """A command with odd options; some are valid, so that not all commands fail at the first."""
    reading = ("predict", "evaluate", "inspect", "report", "export")
    name = rng.choice(("train", "train", "convert", *reading))
    valued, flags = options_of(name)
    values = [value.format(**places) if value.startswith("{") else value for value in VALUES]
    chosen = [name]
    if name in reading:
        chosen.append(rng.choice((places["model"], *values)))
    if name in ("train", "predict", "evaluate", "convert"):
        chosen.append(rng.choice((places["rows"], places["table"], *values)))
    if name in ("train", "convert", "report", "predict", "export"):
        chosen += ["-o", rng.choice((places["new"], places["new"], *values))]
    if rng.random() < 0.5:
        chosen += rng.choice((["--features", "5"], ["--target", "y", "--bounds", "age=0:9"]))
    for _ in range(rng.randrange(4)):
        chosen += [rng.choice(valued), rng.choice(values)] if valued else []
    return chosen + ([rng.choice(flags)] if flags and rng.random() < 0.3 else [])


def check_command(folder, seed):
    """Check odd options: exit code 0, 1 or 2, no defect reported, files in the folder unchanged."""
    rng = random.Random(seed)
    places = {name: str(folder / name) for name in ("rows", "table", "model", "new")}
    places = {**places, "folder": str(folder), "table": places["table"] + ".csv"}
    before = {path: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    given = arguments(rng, places)
    if "--budget" in given or "--memory" in given[:-1]:
        return None  # fuzzed elsewhere; and no test may use all memory
    code, told = _run(given)
    if code not in (0, 1, 2) or "defect" in told or "Traceback" in told:
        return f"{given}: {code}: {told[-300:]}"
    kept = all(path.exists() and path.read_bytes() == was for path, was in before.items())
    if not kept and not set(given) & set(map(str, before)):
        return f"{given}: a file was altered"
    return None


def _run(given):
    """Exit code and standard error of the command in this process."""
    out, err = io.StringIO(), io.StringIO()
    argv, sys.argv = sys.argv, ["dplasso", *given]
    leaks._told.clear()
    try:
        with (
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
            warnings.catch_warnings(),
        ):
            warnings.simplefilter("ignore")
            application.main()
    except SystemExit as end:
        return end.code or 0, err.getvalue()
    finally:
        sys.argv = argv
        leaks.set_strict(None)
    return None, err.getvalue()


def playground(folder):
    """Files that commands find."""
    (folder / "rows").write_text(ROWS)
    (folder / "table.csv").write_text(TABLE)
    content = model_bytes(folder)
    (folder / "model").write_bytes(content)
    return content
