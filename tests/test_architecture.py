"""The map of the code in docs/architecture.md is true: files, names and rooms exist."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src" / "dplasso"
NAMES = ("architecture.md", "explanation/engine.md", "reference/glossary.md")
PAGES = [ROOT / "docs" / name for name in NAMES]
MAP = PAGES[0].read_text()
PATH = re.compile(r"`([\w/.-]+(?:\.(?:py|md|toml)|/))`")
ROW = re.compile(r"^\| (.+?) \| `([\w/]+\.py)` \| `(\w+)` \|$", flags=re.MULTILINE)


def test_every_file_that_is_named_exists():
    for page in PAGES:
        named = PATH.findall(page.read_text())
        assert named
        for path in named:
            assert (SOURCE / path).exists() or (ROOT / path).exists(), f"{page.name} names {path}"


def test_names_are_defined_in_the_files_that_the_tables_give():
    rows = ROW.findall(MAP)
    assert len(rows) >= 60
    for concept, path, name in rows:
        text = (SOURCE / path).read_text()
        defined = rf"^\s*(?:async )?(?:def|class) {name}\b|^(?:\w+, )*{name}\b.*="
        assert re.search(defined, text, flags=re.MULTILINE), f"{concept}: no {name} in {path}"


def test_every_concept_is_in_one_place():
    concepts = [concept for concept, _, _ in ROW.findall(MAP)]
    assert len(concepts) == len(set(concepts))


def test_the_drawing_has_the_layers_of_the_import_contract():
    drawing = re.search(r"## The rooms.*?```text\n(.*?)```", MAP, flags=re.DOTALL)
    assert drawing is not None
    drawn = re.findall(r"^ +([a-z]+(?: \| [a-z]+)*)(?:  |$)", drawing[1], flags=re.MULTILINE)
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    layers = contracts["contracts"][0]["layers"]
    assert drawn == [layer.replace("dplasso.", "") for layer in layers]
