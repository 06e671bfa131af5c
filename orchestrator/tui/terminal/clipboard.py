"""Handing what somebody chose to the clipboard of their terminal, and to a file, as terminals may refuse."""

import os
import tempfile
from functools import cache
from pathlib import Path

from textual.app import App

from orchestrator.domain.text.listing import format_count
from orchestrator.domain.text.sanitization import strip_controls

_MOST = 100_000
"""Bytes: terminals drop longer texts without a word."""


def copy_text(app: App[object], text: str) -> str:
    """Copy a text without anything that a program it is pasted into would act on.

    Returns:
        What to tell: how many lines, and where they lie too.
    """
    text = strip_controls(text)
    count_text = format_count(text.count("\n") + 1, "line")
    is_short = len(text.encode()) <= _MOST
    if is_short:
        app.copy_to_clipboard(text)
    try:
        _locate_file().write_text(f"{text}\n")
    except OSError as error:
        return f"{count_text} {'not ' * (not is_short)}copied; no file could be written: {error.strerror}"
    how = "copied; also in" if is_short else "are too long for the clipboard; they are in"
    return f"{count_text} {how} {_locate_file()}"


@cache
def _locate_file() -> Path:
    """Return the one file of this process, which only its user can read."""
    descriptor, name = tempfile.mkstemp(prefix="orchestrate-copied-", suffix=".txt")
    os.close(descriptor)
    return Path(name)
