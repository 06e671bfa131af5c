import pytest

from parcels import quote
from support.tables import rows


@pytest.mark.parametrize("row", rows("plain"), ids=str)
def test_price(row):
    *words, cents = row
    assert quote(*words) == cents


def test_express_is_twice_the_price():
    assert quote(700, "EU", express=True) == 2 * quote(700, "EU")


@pytest.mark.parametrize("weight", [0, -1, 30001])
def test_weight_has_bounds(weight):
    with pytest.raises(ValueError):
        quote(weight, "home")


def test_unknown_zone():
    with pytest.raises(ValueError):
        quote(100, "moon")
