"""A stream killed with SIGKILL 200 times: its predictions are those of a run never killed.

    python benchmarks/killed_stream.py [--kills 200] [--command | --python]

Rows come in while the command learns; lives are killed at random moments, one in four before it
gets anywhere. With one seed a noise drawn twice, a row learned twice or lost, or a prediction
written twice would show in the last line of output, as every release depends on all before it.
Each life is a process of its own, forked from one that has imported dplasso; with --command it is
the command itself, which takes seconds longer to start. With --python it is a program that learns
from single rows and blocks, by name and from matrices, in a `DurableStream`, and that writes its
weights after every call.
"""

import tempfile
import time
from pathlib import Path

from harness.machine import machine
from harness.options import allow_seeds, parser
from harness.results import save

import durable_killing
import stream_killing as killing  # the tests kill in the same way, less often


def killed_programs(kills: int) -> str:
    """Kill a Python program so often; returns what was found."""
    allow_seeds()
    X, y = durable_killing.made_rows(100 * kills + 400)
    begun = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        whole, killed = Path(folder) / "whole", Path(folder) / "killed"
        for place in (whole, killed):
            place.mkdir()
        durable_killing.live(whole, X, y, {})
        wanted = durable_killing.releases((whole / "released").read_text().splitlines())
        found = durable_killing.releases(durable_killing.killed_often(killed, X, y, kills, 0, {}))
    assert max(found) == len(y), "rows were lost"
    assert all(len(each) == 1 for each in found.values()), "two releases shared their noise"
    assert all(wanted.get(rows, each) == each for rows, each in found.items())
    return (
        f"{kills} lives of a Python program ended by SIGKILL, {time.monotonic() - begun:.0f} s: "
        f"all {len(found):,} releases after {len(y):,} rows, to the last bit, are those of a run "
        f"never killed, and none was made twice from other rows; {machine()}"
    )


def main() -> None:
    command = parser(__doc__)
    command.add_argument("--kills", type=int, default=200)
    command.add_argument("--command", action="store_true")
    command.add_argument("--python", action="store_true")
    asked = command.parse_args()
    if asked.python:
        told = killed_programs(asked.kills)
        print(told)
        save("killed_python_stream", told)
        return
    start = killing.Command if asked.command else killing.Forked
    lines = killing.made_lines(100 * asked.kills + 400)
    begun = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        wanted = killing.undisturbed(start, lines, Path(folder) / "whole")
        place = Path(folder) / "killed"
        found, left = killing.killed_often(start, lines, place, asked.kills, seed=0)
    assert found == wanted, "a stream that was killed went on differently"
    told = (
        f"{asked.kills} lives of a stream ended by SIGKILL, {len(lines) - left:,} rows among them "
        f"and {left:,} for the last life, {time.monotonic() - begun:.0f} s: all "
        f"{len(lines):,} predictions, to nine digits, are those of a run never killed; {machine()}"
    )
    print(told)
    save("killed_stream", told)


if __name__ == "__main__":
    main()
