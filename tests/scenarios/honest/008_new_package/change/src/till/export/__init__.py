"""Writing carts to files."""

from till.export.csv import to_csv
from till.export.json import to_json

__all__ = ["to_csv", "to_json"]
