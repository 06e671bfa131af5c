import pytest

from parcels import quote, quotes


@pytest.mark.parametrize(("insured", "fee"), [(1, 250), (25001, 251), (900000, 5000)])
def test_fee(monkeypatch, insured, fee):
    monkeypatch.setattr(quotes, "fee_of", lambda _: fee)
    assert quotes.fee_of(insured) == fee
    assert quote(1000, "EU", insured=insured) == quote(1000, "EU") + fee
