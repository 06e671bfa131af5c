"""The terminal while it is lent to plain lines: which keys come back from there."""

import pytest

from orchestrator.tui.terminal.stream_mode import has_return_key


@pytest.mark.parametrize(
    ("pressed", "keys", "is_back"),
    [
        ("L", ["L"], True),
        ("l", ["L"], False),
        ("\x0c", ["ctrl+l"], True),
        ("/", ["slash"], True),
        ("q", ["f10"], True),
        ("\x1b", ["L"], True),
        ("\x03", ["L"], True),
        ("\x1b[A\x1b[B", ["L"], False),
        ("\x1bOP", ["P"], False),
        ("\x1b[<64;10;10M", ["M"], False),
        ("\x1b[6~ L", ["L"], True),
    ],
)
def test_the_key_that_led_there_leads_back_whatever_it_is_mapped_to(
    pressed: str, keys: list[str], is_back: bool
) -> None:
    assert has_return_key(pressed, keys) is is_back
