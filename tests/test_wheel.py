"""The wheel works in an environment that has nothing but what the wheel declares.

Environments are empty at first. Each distribution that the wheel's metadata asks for, and what
those ask for in turn, is linked from the environment of the tests. So nothing is downloaded, and
what is not declared cannot be imported.
"""

import os
import subprocess
import sys
import venv
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement

import dplasso

ROOT = Path(__file__).resolve().parent.parent
EXTRAS = ("isal", "nvflare", "psycopg", "pyarrow", "rich", "river", "typer", "zstandard")

ABSENT = f"""
import importlib.util
found = [name for name in {EXTRAS} if importlib.util.find_spec(name)]
assert not found, found
"""

# The gradient solver compiles in a fraction of the time that Frank-Wolfe needs.
FIT = """
import numpy as np
import dplasso

X, y = np.random.default_rng(0).random((100, 5)), np.arange(100) % 2
model = dplasso.PrivateLassoClassifier(
    8.0,
    classes=[0, 1],
    n_rows=100,
    x_bound=1.0,
    solver="gradient",
    accountant=dplasso.Budget(10.0, 1e-5, "budget.sqlite"),
    verbose=1,
)
predicted = model.fit(X, y).predict(X)
model.save("model.dpl")
assert np.array_equal(dplasso.load("model.dpl").predict(X), predicted)
assert len(dplasso.Budget.open("budget.sqlite").entries()) == 1
"""

PACKED = """
import bz2, gzip, lzma
from dplasso.reading.byte_source import line_blocks

for module in (bz2, gzip, lzma):
    with module.open("rows", "wb") as file:
        file.write(b"1 1:0.5\\n" * 1000)
    assert b"".join(map(bytes, line_blocks("rows"))) == b"1 1:0.5\\n" * 1000
damaged = bytearray(gzip.compress(b"1 1:0.5\\n" * 1000))
damaged[12] ^= 255
with open("rows", "wb") as file:
    file.write(damaged)
try:
    list(line_blocks("rows"))
except ValueError as error:
    assert "the compressed data are damaged" in str(error), error
else:
    raise AssertionError("damaged gzip")
with open("rows", "wb") as file:
    file.write(b"\\x28\\xb5\\x2f\\xfd and more")
try:
    list(line_blocks("rows"))
except ImportError as error:
    assert "pip install 'dplasso[tables]'" in str(error), error
else:
    raise AssertionError("zstd without zstandard")
"""

TABLE = """
try:
    import dplasso.reading.tables
except ImportError as error:
    assert "pip install 'dplasso[tables]'" in str(error), error
else:
    raise AssertionError("tables without pyarrow")
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """Built from the source distribution, as it would be published, or what is to be published."""
    if "DPLASSO_DIST" in os.environ:
        (found,) = (ROOT / os.environ["DPLASSO_DIST"]).glob("dplasso-*.whl")
        return found
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", folder, ROOT]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert len(list(folder.glob("dplasso-*.tar.gz"))) == 1
    (found,) = folder.glob("dplasso-*.whl")
    return found


class Environment:
    """A virtual environment with the wheel and what the wheel asks for with some extras."""

    def __init__(self, folder, wheel, extras=""):
        venv.create(folder)
        self.folder, self.programs = folder, folder / "bin"
        (self.packages,) = folder.glob("lib/python*/site-packages")
        pip = [sys.executable, "-m", "pip", "--python", self.programs / "python", "--quiet"]
        subprocess.run([*pip, "install", "--no-deps", "--no-index", wheel], check=True)
        (asked,) = metadata.distributions(name="dplasso", path=[str(self.packages)])
        self._link(asked, extras)
        subprocess.run([*pip, "check"], check=True)

    def _link(self, distribution, extra=""):
        """Everything that a distribution asks for."""
        for text in distribution.requires or ():
            asked = Requirement(text)
            if asked.marker is not None and not asked.marker.evaluate({"extra": extra}):
                continue
            found = metadata.distribution(asked.name)
            tops = {path.parts[0] for path in found.files} - {"..", "__pycache__"}
            places = [(self.packages / top, Path(found.locate_file(top))) for top in sorted(tops)]
            if all(place.is_symlink() for place, _ in places):
                continue
            for place, target in places:
                place.symlink_to(target)
            self._link(found)

    def run(self, *command):
        """Run a program of the environment, without the settings of the tests' own."""
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "NUMBA"))}
        return subprocess.run(
            [self.programs / command[0], *command[1:]],
            cwd=self.folder,
            env=kept,
            capture_output=True,
            text=True,
        )


@pytest.fixture(scope="module")
def base(tmp_path_factory, wheel):
    return Environment(tmp_path_factory.mktemp("base"), wheel)


@pytest.mark.parametrize("code", [ABSENT, FIT, PACKED, TABLE], ids=["absent", "fit", "gz", "csv"])
def test_the_base_install_is_complete_and_empty(base, code):
    done = base.run("python", "-c", code)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_command_without_its_extra_names_it(base):
    done = base.run("dplasso", "--version")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "error: the command dplasso needs typer, which is not installed; "
        "run: pip install 'dplasso[cli]'\n"
    )


def test_the_command_without_tables_names_that_extra(tmp_path, wheel):
    environment = Environment(tmp_path, wheel, "cli")
    assert environment.run("dplasso", "--version").stdout == f"{dplasso.__version__}\n"
    (tmp_path / "rows.csv").write_text("age,y\n1,0\n2,1\n")
    options = ("--target", "y", "--bounds", "age=0:120", "--classes", "0,1", "--rows", "2")
    done = environment.run("dplasso", "train", "rows.csv", "-o", "model", *options)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "error: reading CSV and Parquet files needs pyarrow, which is not installed; "
        "run: pip install 'dplasso[tables]'\n"
    )
    assert not (tmp_path / "model").exists()
