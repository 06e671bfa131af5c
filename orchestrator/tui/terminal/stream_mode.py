"""Stream mode: the lines of what is in front on the terminal's own screen, each once, until the key comes again.

There they can be scrolled, searched and copied with what the terminal has for that.
"""

import os
import string
import sys
import termios
import tty
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import anyio
from anyio import to_thread
from textual.app import App
from textual.keys import _character_to_key

from orchestrator.domain.text.lazy_pattern import compile_lazily
from orchestrator.tui.widgets.styled_text import get_clean_text
from orchestrator.tui.widgets.text_search import LineSource

_SLICE = 500
_POLL_S = 0.1
_ENDING = frozenset("q\x03\x04\x1b")
"""q, ctrl+c, ctrl+d and escape return as well."""
_SEQUENCE = compile_lazily(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|O.)")
_CHARACTERS = {_character_to_key(one): one for one in string.printable} | {
    f"ctrl+{one}": chr(ord(one) & 0x1F) for one in string.ascii_lowercase
}
"""The character of a key by Textual's name for it; without keys that send more than one character."""


class LinePrinter:
    """Printer of lines as they come: every line once, in order."""

    def __init__(self, lines: LineSource) -> None:
        self._lines = lines
        self.printed_count = 0

    def render_next_lines(self) -> str:
        """Return the next lines, at most some hundred, each with its end; empty while there are none."""
        indexes = range(self.printed_count, min(len(self._lines), self.printed_count + _SLICE))
        self.printed_count = indexes.stop
        return "".join(f"{get_clean_text(self._lines.get_line(index))}\n" for index in indexes)


def can_stream(app: App[None]) -> bool:
    """Return True if the app has a terminal that it can leave for a while."""
    return app._driver is not None and app._driver.can_suspend


class StreamMode:
    """The terminal while it is not the dashboard's. Moments come and views are brought up to date all the while."""

    def __init__(self, app: App[None], lines: LineSource) -> None:
        self._app = app
        self._printing = LinePrinter(lines)

    async def run(self, title: str, keys: Sequence[str]) -> int:
        """Print lines as they come until one of `keys` is pressed; return their number."""
        names = list(filter(_CHARACTERS.__contains__, keys))
        with self._app.batch_update(), self._app.suspend(), _key_by_key() as terminal:
            await _write(f"── {title}: {' or '.join(names or ['q'])} returns ──\n")
            is_over = False
            has_said_waiting = False
            while not is_over:
                some = self._printing.render_next_lines()
                await _write(some)
                if not some and not has_said_waiting:
                    has_said_waiting = True
                    await _write(f"── {' or '.join(keys)} returns; more follows as it comes ──\n")
                pressed = await _pressed(terminal, 0 if some else _POLL_S)
                is_over = has_return_key(pressed, names)
            while some := self._printing.render_next_lines():
                await _write(some)
            await _write(f"── {self._printing.printed_count:,} lines ──\n")
        return self._printing.printed_count

    def ring_bell(self) -> None:
        """Ring the terminal's bell."""
        _write_now("\a")


def has_return_key(pressed: str, keys: Sequence[str]) -> bool:
    """Return True if pressed keys, as a terminal sends them, contain one of these or one that always returns.

    Arrows and other keys that send whole sequences do nothing, though those begin like escape.
    """
    ending = _ENDING.union(filter(None, map(_CHARACTERS.get, keys)))
    return not ending.isdisjoint(_SEQUENCE.sub("", pressed))


async def _pressed(terminal: int, wait_s: float) -> str:
    with anyio.move_on_after(wait_s):
        await anyio.wait_readable(terminal)
        return os.read(terminal, 64).decode(errors="replace") or "q"
    return ""


async def _write(text: str) -> None:
    await to_thread.run_sync(_write_now, text)


def _write_now(text: str) -> None:
    if (screen := sys.__stderr__) is not None:
        screen.write(text)
        screen.flush()


@contextmanager
def _key_by_key() -> Iterator[int]:
    """Read keys one by one and without an echo; ctrl+c is a key."""
    terminal = sys.__stdin__.fileno() if sys.__stdin__ else 0
    before = termios.tcgetattr(terminal)
    tty.setcbreak(terminal)
    now = termios.tcgetattr(terminal)
    now[tty.LFLAG] &= ~termios.ISIG
    termios.tcsetattr(terminal, termios.TCSANOW, now)
    try:
        yield terminal
    finally:
        termios.tcsetattr(terminal, termios.TCSANOW, before)
