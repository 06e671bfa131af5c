import pytest

from till.labels import label


@pytest.mark.parametrize(
    ("name", "price", "said"), [("apple", 1, "Apple 1"), ("red apple", 0, "Red Apple 0"), ("", 2, " 2")]
)
def test_a_label_stays_what_it_was(name, price, said):
    assert label(name, price) == said
