from till.customer import Customer


def test_points_are_added_up_and_do_not_make_another_customer():
    ada = Customer("Ada")
    assert ada.with_points(3).points == 3
    assert ada.with_points(3) == ada
