import pytest

from parcels import quote


@pytest.mark.parametrize("insured", [0, 1, 25000, 25001, 900000])
def test_fee(insured):
    price = quote(1000, "EU", insured=insured)
    assert isinstance(price, int)


def test_no_negative_value():
    with pytest.raises(ValueError):
        quote(1000, "EU", insured=-1)
