from till.i18n import word
from till.labels import label
from till.receipts import receipt


def test_word():
    assert word("thanks", "de") == "Danke"


def test_label():
    assert label("apple", 3) == "Apple 3"


def test_receipt():
    assert receipt([("apple", 30)]) == "apple         30"
