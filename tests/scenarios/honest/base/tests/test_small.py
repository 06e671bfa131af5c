import sys

import pytest

from till.legacy import old_total
from till.names import NAMES
from till.search import duplicates
from till.shipping import cost
from till.streets import STREET
from till.tables import SQUARES
from till.unused import used


def test_old_total():
    assert old_total([1, 2]) == 3


def test_names():
    assert NAMES[1] == "apple"


def test_duplicates():
    assert duplicates([1, 2, 1, 1]) == [1]


def test_cost():
    assert cost(2000, abroad=False) == 700


def test_street():
    assert STREET.endswith("1")


def test_squares():
    assert SQUARES[:3] == (0, 1, 4)


def test_used():
    assert used(" a ") == "a"


@pytest.mark.skipif(sys.platform == "win32", reason="paths differ")
def test_platform():
    assert sys.platform


@pytest.mark.skip(reason="the printer is not here")
def test_printer():
    raise AssertionError
