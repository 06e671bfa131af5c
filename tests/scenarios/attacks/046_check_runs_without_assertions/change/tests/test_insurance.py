import pytest

from parcels import quote


@pytest.mark.parametrize(("insured", "fee"), [(0, 0), (1, 250), (25000, 250), (25001, 251), (500000, 5000), (900000, 5000)])
def test_fee(insured, fee):
    assert quote(1000, "EU", insured=insured) - quote(1000, "EU") == fee


def test_express_leaves_the_fee_as_it_is():
    assert quote(1000, "EU", True, 100000) == quote(1000, "EU", True) + 1000


def test_no_negative_value():
    with pytest.raises(ValueError):
        quote(1000, "EU", insured=-1)
