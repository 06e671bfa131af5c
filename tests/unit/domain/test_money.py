"""Amounts of money as people read them."""

import pytest

from orchestrator.domain.text.money import format_known_dollars


@pytest.mark.parametrize(
    ("usd", "usd_known", "shown"),
    [
        (0.0, 0.0, "$0.00"),
        (0.42, 0.42, "$0.42"),
        (1204.2, 1204.2, "$1,204"),
        (None, 0.42, "$0.42+"),
        (None, 0.0, "n/a"),
    ],
)
def test_an_amount_with_unknown_parts_is_never_told_as_exact(usd: float | None, usd_known: float, shown: str) -> None:
    assert format_known_dollars(usd, usd_known) == shown
