import pytest

from parcels import quote


@pytest.mark.parametrize(("insured", "fee"), [(0, 0), (1, 250), (25000, 250), (25001, 251), (500000, 5000), (900000, 5000)])
def test_fee(insured, fee):
    assert quote(1000, "EU", insured=insured) - quote(1000, "EU") == fee
