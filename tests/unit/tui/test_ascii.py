"""Text where only ASCII can be shown."""

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.segment import Segment
from textual.color import Color

from orchestrator.tui.terminal.line_filters import AsciiFilter, convert_to_ascii


@given(st.text())
def test_whatever_is_written_becomes_ascii_of_the_same_width(text: str) -> None:
    shown = convert_to_ascii(text)
    assert shown.isascii()
    assert len(shown) == sum(cell_len(character) if not character.isascii() else 1 for character in text)


def test_likenesses_are_kept_where_there_are_some() -> None:
    assert convert_to_ascii("✓ done → Café “x” ▓▓░ ╭─╮│ 数 …") == '+ done > Cafe "x" ##. +-+| ?? .'


def test_a_line_keeps_its_segments_and_their_styles() -> None:
    line = [Segment("plain"), Segment("naïve")]
    assert AsciiFilter().apply(line, Color(0, 0, 0)) == [Segment("plain"), Segment("naive")]
