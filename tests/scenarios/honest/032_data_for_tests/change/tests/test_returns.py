import json
from pathlib import Path

from till.prices import total

DATA = Path(__file__).with_name("data")


def test_what_comes_back_is_paid_back():
    orders = [order for name in ("orders", "returns") for order in json.loads((DATA / f"{name}.json").read_text())]
    assert total(order["price"] for order in orders) == 0
