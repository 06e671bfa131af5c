"""Expected texts: golden/NAME."""

from pathlib import Path

GOLDEN = Path(__file__).parents[2] / "golden"


def assert_same_text(text, name):
    """Fail unless a text is what the golden file holds."""
    assert text == (GOLDEN / name).read_text()
