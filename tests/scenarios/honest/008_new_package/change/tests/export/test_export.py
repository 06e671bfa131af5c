from till.export import to_csv, to_json

THINGS = {"pear": 50, "apple": 30}


def test_a_table_keeps_the_order():
    assert to_csv(THINGS) == "pear,50\napple,30\n"


def test_an_object_is_sorted():
    assert to_json(THINGS) == '{"apple": 30, "pear": 50}'
