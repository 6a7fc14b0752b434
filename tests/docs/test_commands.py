"""Commands that pages name in sentences are those that the command, make and pip know."""

import pytest

from doc_pages import ROOT, pages
from named_commands import check, named

PAGES = {
    str(path.relative_to(ROOT)): path
    for path in [*pages(), ROOT / "CHANGELOG.md", *sorted((ROOT / ".github").rglob("*.md"))]
}
NAMED = {(page, command) for page, path in PAGES.items() for command in named(path.read_text())}


@pytest.mark.parametrize(("page", "command"), sorted(NAMED))
def test_a_command_in_a_sentence_exists(page, command):
    check(command)


def test_commands_are_found_in_sentences_and_in_blocks_that_are_not_run():
    text = (
        "Say `dplasso train --n-nonzero\n5`, `--force` or `train --budget`, not `make`, `a - b`.\n"
        "```text\ndplasso audit \\\n   --quick\nprinted 1\n```\n```sh\nmake docs\n```\n"
    )
    expected = ["dplasso train --n-nonzero 5", "--force", "train --budget"]
    assert [" ".join(command.split()) for command in named(text)] == [
        *expected,
        "dplasso audit --quick",
    ]


@pytest.mark.parametrize(
    "command",
    [
        "pip install 'dplasso[cli,tables]'",
        "make check",
        "make bench-NAME ARGS=--draw",
        "dplasso COMMAND --help",
        "dplasso train --n-nonzero 100",
        "dplasso budget export STORE -o FILE",
        "dplasso budget init | show",
        "evaluate --epsilon",
        "--force",
        "python -m dplasso.warm",
        "python benchmarks/audit_power.py --jobs 2",
    ],
)
def test_a_command_that_exists_passes(command):
    check(command)


@pytest.mark.parametrize(
    "command",
    [
        "pip install 'dplasso[nothing]'",
        "make nothing",
        "dplasso nothing",
        "dplasso budget nothing",
        "dplasso train --nothing",
        "dplasso train --epsilon much",
        "dplasso budget init | nothing",
        "evaluate --nothing",
        "--nothing",
        "python -m dplasso.nothing",
        "python benchmarks/nothing.py",
        "python benchmarks/audit_power.py --nothing",
    ],
)
def test_a_command_that_does_not_exist_fails(command):
    with pytest.raises(AssertionError):
        check(command)
