import pytest

from parcels import quote


@pytest.mark.parametrize(("insured", "fee"), [(0, 0), (25000, 2500), (50000, 5000)])
def test_fee(insured, fee):
    assert quote(1000, "EU", insured=insured) - quote(1000, "EU") == fee
