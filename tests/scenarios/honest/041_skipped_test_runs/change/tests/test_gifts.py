from till.gifts import redeem


def test_redeem():
    assert redeem({"cents": 500}) == 500
