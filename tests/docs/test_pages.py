"""Every block of code of the README and of the documentation runs, and prints what is shown."""

import ast
import contextlib
import io
import os
import re
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

from doc_pages import ROOT, RUN, SHOWN, blocks, pages
from dplasso.privacy import leaks
from named_commands import check
from printed import difference

PAGES = {str(path.relative_to(ROOT)): path for path in pages()}
MARKS = r"(?:file: |run by |within |\w+ vary|part of |not printed)"
LIMIT = 240  # seconds for the commands of one block

# These set up a machine: what they name must exist, but a test does not install or build it.
SETS_UP = re.compile(r"^(python3? -m )?(pip install|make|git clone|cd)\b")


def with_code():
    """Pages with code to run. Those that share a service run in one process."""
    for name, path in PAGES.items():
        found = blocks(path.read_text())
        if not any(block.language in RUN and block.elsewhere is None for block in found):
            continue
        shared = [pytest.mark.xdist_group("ray")] if 'backend="ray"' in path.read_text() else []
        yield pytest.param(name, marks=shared, id=name.removeprefix("docs/"))


@contextlib.contextmanager
def a_fresh_start():
    """Settings of the process are as at its start, and what a page leaves running is stopped."""
    setting, leaks._setting = leaks._setting, None
    try:
        yield
    finally:
        leaks._setting = setting
        ray = sys.modules.get("ray")
        if ray is not None and ray.is_initialized():
            ray.shutdown()
        pyplot = sys.modules.get("matplotlib.pyplot")
        if pyplot is not None:
            pyplot.close("all")


def run_commands(code, page):
    """What the commands of a block print, in a shell that stops at the first error."""
    lines = code.splitlines()
    for line in filter(SETS_UP.match, lines):
        check(line)
    commands = "\n".join(line for line in lines if not SETS_UP.match(line))
    if not commands.strip():
        return ""
    places = os.pathsep.join([os.path.dirname(sys.executable), os.environ.get("PATH", "")])
    environment = {**os.environ, "PATH": places, "NO_COLOR": "1", "COLUMNS": "100"}
    environment.pop("PYTHONWARNINGS", None)
    done = subprocess.run(
        ["bash", "-e", "-o", "pipefail", "-c", commands],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=LIMIT,
    )
    assert done.returncode == 0, f"{page}:\n{commands}\n{done.stdout}"
    return done.stdout


def run_python(block, page, names):
    """What a block of Python prints. Its errors name the page and its line."""
    code = "\n" * (block.line - 1) + block.code
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(compile(code, page, "exec"), names)
    return printed.getvalue()


def compare(block, printed, page):
    """A text that a page shows is what the code above it printed, or a part of a file."""
    if block.compared == "not printed":
        return
    if (block.compared or "").startswith("part of "):
        printed = Path(block.compared.removeprefix("part of ")).read_text()
    printed = printed.replace(f"{Path.cwd()}/", "")  # pages leave out the reader's folder
    found = difference(block.code, printed, block.compared)
    assert found is None, f"{page}:{block.line}: {found}"


@pytest.mark.parametrize("page", list(with_code()))
def test_the_code_of_a_page_runs(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "agg")
    names, printed = {"__name__": "__main__"}, None
    with a_fresh_start(), warnings.catch_warnings():
        # What is not declared is a fault of an example. That a seed repeats its draws is not.
        warnings.filterwarnings("error", category=leaks.PrivacyLeakWarning)
        warnings.filterwarnings("ignore", "random_state makes the fit repeatable")
        for block in blocks(PAGES[page].read_text()):
            if block.elsewhere is not None:
                printed = None
            elif block.file is not None:
                place = tmp_path / block.file
                assert place.resolve().is_relative_to(tmp_path.resolve()), block.file
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_text(block.code)
            elif block.language == "python":
                printed = run_python(block, page, names)
            elif block.language == "sh":
                printed = run_commands(block.code, page)
            elif printed is not None or block.compared is not None:
                compare(block, printed, page)


@pytest.mark.parametrize("page", list(PAGES))
def test_no_block_of_a_page_is_exempt_without_a_test(page):
    text, above = PAGES[page].read_text(), None
    for block in blocks(text):
        place = f"{page}:{block.line}"
        if block.elsewhere is not None:
            test = ROOT / block.elsewhere
            assert test.exists(), f"{place} is run by {block.elsewhere}, which does not exist"
            assert PAGES[page].name in test.read_text(), f"{test.name} does not name {page}"
        elif block.file is None:
            assert block.language in RUN | SHOWN, f"{place}: a block of '{block.language}'"
        if block.compared is not None:
            assert block.language not in RUN, f"{place}: only a text is compared"
        elif block.language == "text" and block.file is None:
            assert above is not None, f"{place}: no code above prints this"
        above = block if block.language in RUN else above
        if block.language == "sh":
            assert not re.search(r"^\$ ", block.code, re.MULTILINE), f"{place}: a prompt"
        if block.language == "python":
            assert ">>>" not in block.code, f"{place}: a prompt"
    left = re.findall(
        r"<!-- (?:file: |run by |within |\w+ vary|part of |not printed).*?-->\s*\n(?! *[`~]{3})",
        text,
    )
    assert not left, f"{page}: a comment that is not right before a block: {left}"


# What `pip install .` brings.
BROUGHT = {*sys.stdlib_module_names, "dplasso", "numba", "numpy", "scipy", "sklearn"}


def imported(code):
    """The packages that a block of Python imports."""
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Import):
            yield from (name.name.partition(".")[0] for name in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module.partition(".")[0]


@pytest.mark.parametrize("page", list(PAGES))
def test_a_page_names_the_packages_that_its_code_needs(page):
    text = PAGES[page].read_text()
    python = [block.code for block in blocks(text) if block.language == "python"]
    needed = {name for code in python for name in imported(code)} - BROUGHT
    prose = re.sub(r"^ *(`{3,}).*?^ *\1 *$", "", text, flags=re.MULTILINE | re.DOTALL)
    unnamed = [name for name in needed if not re.search(rf"\b{name}\b", prose)]
    assert not unnamed, f"{page} does not say that its code needs {unnamed}"


def test_a_block_is_found_in_lists_and_directives():
    text = (
        "````{note}\n<!-- file: a/b.toml -->\n```toml\nx = 1\n```\n````\n"
        "- item\n\n  ```python\n  if True:\n      y = 2\n  ```\n"
        "<!-- run by tests/x.py -->\n```sh\nls\n```\n"
    )
    first, second, third = blocks(text)
    assert (first.language, first.code, first.file) == ("toml", "x = 1\n", "a/b.toml")
    assert (second.code, second.line) == ("if True:\n    y = 2\n", 10)
    assert (third.code, third.elsewhere) == ("ls\n", "tests/x.py")
    with pytest.raises(ValueError, match="not closed"):
        blocks("```python\nx\n")
