from till import plugins


def test_an_extension_is_found_by_its_name():
    assert plugins.prices.total([1, 2]) == 3


def test_options_are_fields():
    assert plugins.Options(a=1).a == 1
