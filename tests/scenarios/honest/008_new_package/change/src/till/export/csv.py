"""As a table."""

import csv
import io


def to_csv(things):
    """One row for each thing."""
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(things.items())
    return out.getvalue()
