"""The reference names everything that users may import, and says what it takes."""

import inspect
import re
import sys
from importlib import import_module

import pytest

import dplasso
from doc_pages import DOCS

numpydoc = pytest.importorskip("numpydoc.docscrape", reason="numpydoc is not installed")
sys.path.insert(0, str(DOCS / "_ext"))
command_line = pytest.importorskip("command_line")

LISTED = re.compile(r"^   (dplasso\.[\w.]+)$", re.MULTILINE)
NAMES = [
    name
    for page in sorted((DOCS / "reference").glob("*.md"))
    for name in LISTED.findall(page.read_text())
]


def found(name):
    module, _, attribute = name.rpartition(".")
    return getattr(import_module(module), attribute)


def test_every_public_name_is_in_the_reference():
    listed = {name.removeprefix("dplasso.") for name in NAMES}
    missing = set(dplasso.__all__) - listed - {"audit"}  # a module, whose names are listed
    assert not missing
    assert "audit.run" in listed


def test_no_name_is_listed_twice():
    assert len(NAMES) == len(set(NAMES))


@pytest.mark.parametrize("name", NAMES)
def test_a_docstring_describes_the_parameters_that_there_are(name):
    item = found(name)
    numpydoc.NumpyDocString.sections.setdefault("Formal Guarantees", "")
    is_class = inspect.isclass(item)
    described = numpydoc.ClassDoc(item) if is_class else numpydoc.FunctionDoc(item)
    assert described["Summary"], f"{name} has no docstring"
    listed = [
        part.strip().lstrip("*")
        for parameter in described["Parameters"]
        for part in parameter.name.split(",")
    ]
    if not listed:
        return
    taken = inspect.signature(item).parameters
    passed_on = {known for known, what in taken.items() if what.kind is what.VAR_KEYWORD}
    missing, unknown = set(taken) - passed_on - set(listed), set(listed) - set(taken)
    assert not missing and (passed_on or not unknown), f"{name}: {missing | unknown}"


def test_the_page_of_the_command_line_is_made_from_the_command():
    page = (DOCS / "reference" / "command_line.md").read_text()
    assert "```{command-line} dplasso.cli.app:app\n```" in page
    from dplasso.cli.app import COMMANDS, app

    whole = command_line.get_command(app)
    calls = dict(command_line.commands(whole, "dplasso"))
    assert {f"dplasso {name}" for name in COMMANDS} < set(calls)
    assert "dplasso budget show" in calls and "dplasso federated submit" in calls
    for words, command in calls.items():
        assert command.help, words
        for records in command_line.parameters(command, words).values():
            for spelling, meaning in records:
                assert meaning, f"{words} {spelling} has no help"
