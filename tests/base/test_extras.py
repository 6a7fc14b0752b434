"""Libraries of extras: imported where they are, named with their extra where they are not."""

import json
import subprocess
import sys
from functools import partial

import pytest

from dplasso.base.extras import MissingExtraError, optional, require


def test_a_library_comes_with_the_parts_that_are_asked_for():
    assert require("json", "decoder", extra="x", purpose="this") is json
    assert optional("json") is json


@pytest.mark.parametrize("name", ["no_such_library", "no_such_library.part"])
def test_a_library_that_is_not_there_is_named_with_its_extra(name):
    told = rf"^this needs {name}, which is not installed; run: pip install 'dplasso\[tables\]'$"
    with pytest.raises(MissingExtraError, match=told):
        require(name, extra="tables", purpose="this")
    assert optional(name) is None


def test_an_import_that_fails_inside_a_library_is_not_hidden(tmp_path, monkeypatch):
    (tmp_path / "broken_library.py").write_text("import no_such_dependency\n")
    monkeypatch.syspath_prepend(tmp_path)
    for attempt in (optional, partial(require, extra="x", purpose="this")):
        with pytest.raises(ModuleNotFoundError, match="no_such_dependency") as found:
            attempt("broken_library")
        assert not isinstance(found.value, MissingExtraError)


def test_every_name_of_the_package_is_there_without_extras():
    extras = ("isal", "nvflare", "psycopg", "pyarrow", "rich", "river", "typer", "zstandard")
    code = (
        "import sys\n"
        f"sys.modules.update(dict.fromkeys({extras}))\n"
        "import dplasso, dplasso.federated, dplasso.report, dplasso.warm\n"
        "[getattr(dplasso, name) for name in dplasso.__all__]"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
