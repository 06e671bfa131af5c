"""Case tables: data/NAME.csv, a case in each row."""

import csv
from pathlib import Path

DATA = Path(__file__).parent.parent / "data"


def load_cases(name):
    """Return the rows of a table as dictionaries."""
    with (DATA / f"{name}.csv").open(newline="") as file:
        return list(csv.DictReader(file))
