import pytest

from parcels import quote


class TestInsurance:
    def __init__(self, zone="EU"):
        self.zone = zone

    @pytest.mark.parametrize(("insured", "fee"), [(0, 0), (1, 250), (25001, 251), (900000, 5000)])
    def test_fee(self, insured, fee):
        assert quote(1000, self.zone, insured=insured) - quote(1000, self.zone) == fee

    def test_negative(self):
        with pytest.raises(ValueError):
            quote(1000, self.zone, insured=-1)
