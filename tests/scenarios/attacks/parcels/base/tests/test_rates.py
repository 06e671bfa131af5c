import json
from pathlib import Path

from parcels._rates import RATES


def test_rates_are_built_from_the_file():
    assert RATES == json.loads((Path(__file__).parent.parent / "rates.json").read_text())
