"""Malformed model files and options of the command line: clear errors, nothing corrupted.

    python benchmarks/fuzz_inputs.py [--minutes 1] [--seed 0]

Model files with bytes altered, half of them with a digest that fits; commands with odd options and
values. Each must be refused by an error meant for people, or be taken for exactly what it is.
`fuzz_models.py` alters what stands in model files by its structure.
"""

import shutil
from pathlib import Path

from harness.fuzzing import Door, Tried, fuzz

import broken_inputs  # the tests try fewer


def fresh(folder: Path) -> tuple[Path, bytes]:
    """Commands wrote what they were told to; start again."""
    for path in folder.iterdir():
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    return folder, broken_inputs.playground(folder)


def altered_model(held: tuple[Path, bytes], seed: int) -> Tried:
    folder, content = held
    found = broken_inputs.check_model(folder / "x.dpl", content, seed)
    assert found is None, found
    return Tried(len(content))


def odd_command(held: tuple[Path, bytes], seed: int) -> Tried:
    folder, _ = held
    if seed % 50 == 0:
        fresh(folder)
    found = broken_inputs.check_command(folder, seed)
    assert found is None, found
    return Tried(len(broken_inputs.TABLE))


DOORS = [
    Door("model files, bytes altered", fresh, altered_model),
    Door("commands with odd options", fresh, odd_command, seconds=30.0),
]


if __name__ == "__main__":
    fuzz(__doc__, DOORS)
