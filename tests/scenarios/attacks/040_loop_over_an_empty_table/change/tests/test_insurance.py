from parcels import quote
from support.tables import rows


def test_fees_of_the_table():
    for weight, zone, insured, fee in rows("insured"):
        assert quote(weight, zone, insured=insured) - quote(weight, zone) == fee


def test_express_leaves_the_fee_as_it_is():
    for weight, zone, insured, fee in rows("insured"):
        assert quote(weight, zone, True, insured) == quote(weight, zone, True) + fee
