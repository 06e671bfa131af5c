"""Problems with a journal file, in words: which file, which event, what to do."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from orchestrator.errors import JournalProblem, RunLocked

REPAIR_ADVICE = (
    "`orchestrate repair` keeps the damaged file aside and goes on from the event before the damage; "
    "what has landed is safe in git"
)
_LOCKED = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}
_CORRUPT = {
    sqlite3.SQLITE_ERROR,  # our statements are sound, so the schema they meet is not
    *(sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_FORMAT),
    *(sqlite3.SQLITE_TOOBIG, sqlite3.SQLITE_MISMATCH, sqlite3.SQLITE_NOMEM),
}


class NewerJournal(JournalProblem):
    """The journal holds what only a newer version of this program can read; it is sound."""


class DamagedJournal(JournalProblem):
    """The file holds something that no writer wrote. Events up to `seq` are sound."""

    def __init__(self, path: Path, seq: int, what: str) -> None:
        super().__init__(f"{path} is damaged: {what}; {REPAIR_ADVICE}")
        self.path = path
        self.seq = seq
        self.what = what

    def for_partial_view(self) -> "DamagedJournal":
        """Return the same error for somebody who has just been shown what could be read."""
        return DamagedJournal(self.path, self.seq, f"{self.what}; what is shown is the run up to event {self.seq}")


class UnusableJournalEvent(DamagedJournal):
    """An event is what was written, and still nothing can go on from it; `seq` is the one before."""


def is_damage(error: BaseException) -> bool:
    """Return True if an error while reading means that the file's content is wrong, not that it cannot be had."""
    if isinstance(error, sqlite3.DataError | sqlite3.InterfaceError | MemoryError | OverflowError):
        return True
    code = getattr(error, "sqlite_errorcode", None)
    return isinstance(error, sqlite3.Error) and code is not None and (code & 0xFF in _CORRUPT or code == _SHORT)


_SHORT = sqlite3.SQLITE_IOERR_SHORT_READ


@contextmanager
def translate_sqlite_errors(path: Path) -> Iterator[None]:
    """Turn SQLite's errors into ours, with the file and what to do."""
    try:
        yield
    except sqlite3.Error as error:
        text = str(error)
        if (getattr(error, "sqlite_errorcode", None) or 0) & 0xFF in _LOCKED:
            hint = "if that one hangs, end it, then try again"
            raise RunLocked(f"the journal {path} is being written by another process right now; {hint}") from error
        if is_damage(error):
            raise DamagedJournal(path, 0, text) from error
        advice = next((advice for sign, advice in _ADVICE.items() if sign in text), "see the disk and the file's owner")
        raise JournalProblem(f"the journal {path} cannot be used: {text}; {advice}") from error


_ADVICE = {
    "full": "free some disk space, then resume the run; nothing recorded before is lost",
    "readonly": "make the state directory writable, or choose another with --state DIR",
    "unable to open": "make the state directory writable, or choose another with --state DIR",
    "UNIQUE": "an effect was recorded twice, which is a defect of orchestrate: please report it",
}
