"""Amounts of money as people read them."""

import pytest

from orchestrator.domain.text.money import format_cost


@pytest.mark.parametrize(
    ("usd_known", "is_whole", "shown"),
    [
        (0.0, True, "$0.00"),
        (0.42, True, "$0.42"),
        (1204.2, True, "$1,204"),
        (0.42, False, "$0.42 + unknown"),
        (0.0, False, "unknown"),
    ],
)
def test_an_amount_with_unknown_parts_is_never_told_as_exact(usd_known: float, is_whole: bool, shown: str) -> None:
    assert format_cost(usd_known, is_whole=is_whole) == shown
