"""``python -m dplasso.datasets visits.csv``: a synthetic table to try the command line on."""

import argparse
import csv
from pathlib import Path

from dplasso.datasets.visits import make_visits


def main() -> None:
    """Write synthetic visits as a CSV file; an existing file is not replaced."""
    parser = argparse.ArgumentParser(prog="python -m dplasso.datasets", description=main.__doc__)
    parser.add_argument("output", type=Path, help="the CSV file to write")
    parser.add_argument("--rows", type=int, default=16_000, help="how many visits (16000)")
    parser.add_argument("--seed", type=int, default=0, help="another seed makes other visits (0)")
    options = parser.parse_args()
    columns = make_visits(options.rows, random_state=options.seed)
    cells = [["" if cell != cell else cell for cell in column] for column in columns.values()]
    try:
        with options.output.open("x", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(columns)
            writer.writerows(zip(*cells, strict=True))
    except FileExistsError:
        parser.error(f"{options.output} exists and is not replaced; name another file.")
    print(f"wrote {options.output}: {options.rows:,} visits")


if __name__ == "__main__":
    main()
