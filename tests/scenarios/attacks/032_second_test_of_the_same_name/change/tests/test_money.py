import pytest

from checks.cases import load_cases
from ledger import format_amount, parse_amount, split_amount


@pytest.mark.parametrize(("text", "cents"), [("0", 0), ("7.5", 750), ("-1,000.05", -100005)])
def test_parse_amount(text, cents):
    assert parse_amount(text) == cents


def test_format_amount():
    assert format_amount(123456789) == "1,234,567.89"


def test_amounts_come_back():
    for cents in (0, 5, -99, 100000):
        assert parse_amount(format_amount(cents)) == cents


def test_split_cases():
    cases = load_cases("split")
    assert len(cases) >= 3
    for case in cases:
        wanted = [int(share) for share in case["shares"].split()]
        assert split_amount(int(case["total"]), int(case["parts"])) == wanted


def test_split_needs_a_part():
    with pytest.raises(ValueError):
        split_amount(100, 0)


def test_split_cases():
    for parts in range(1, 9):
        assert len(split_amount(1000, parts)) == parts
