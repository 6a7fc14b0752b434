"""A stream killed with SIGKILL 200 times: its predictions are those of a run never killed.

    python benchmarks/killed_stream.py [--kills 200] [--command]

Rows come in while the command learns; lives are killed at random moments, one in four before it
gets anywhere. With one seed a noise drawn twice, a row learned twice or lost, or a prediction
written twice would show in the last line of output, as every release depends on all before it.
Each life is a process of its own, forked from one that has imported dplasso; with --command it is
the command itself, which takes seconds longer to start.
"""

import tempfile
import time
from pathlib import Path

from harness.options import parser
from harness.results import save

import stream_killing as killing  # the tests kill in the same way, less often


def main() -> None:
    command = parser(__doc__)
    command.add_argument("--kills", type=int, default=200)
    command.add_argument("--command", action="store_true")
    asked = command.parse_args()
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
        f"{len(lines):,} predictions, to nine digits, are those of a run never killed"
    )
    print(told)
    save("killed_stream", told)


if __name__ == "__main__":
    main()
