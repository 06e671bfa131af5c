"""What can be wrong with a journal file, in words: which file, which event, what to do."""

import sqlite3
from pathlib import Path
from types import TracebackType

from orchestrator.errors import JournalProblem, RunLocked

REPAIR = "run `orchestrate repair` to go on from the event before it; landed work is safe in git"


class Damaged(JournalProblem):
    """The file holds something that no writer wrote. `seq` is the last event before the damage."""

    def __init__(self, path: Path, seq: int, what: str) -> None:
        super().__init__(f"{path} is damaged after event {seq}: {what}; {REPAIR}")
        self.seq = seq
        self.what = what


class explained:
    """Turns SQLite's errors into ours, with the file and what to do."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __enter__(self) -> None:
        return None

    def __exit__(
        self, _kind: type[BaseException] | None, error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        if not isinstance(error, sqlite3.Error):
            return
        text = str(error)
        if "locked" in text:
            raise RunLocked(f"the journal {self._path} is being written by another process right now") from error
        advice = next((advice for sign, advice in _ADVICE.items() if sign in text), "see the disk and the file's owner")
        raise JournalProblem(f"the journal {self._path} cannot be used: {text}; {advice}") from error


_ADVICE = {
    "full": "free some disk space, then resume the run; nothing recorded before is lost",
    "readonly": "make the state directory writable, or choose another with --state DIR",
    "unable to open": "make the state directory writable, or choose another with --state DIR",
    "malformed": "the file is corrupt: `orchestrate repair` saves what can be read; landed work is safe in git",
    "not a database": "the file is no journal: restore it from a backup; landed work is safe in git",
    "UNIQUE": "an effect was recorded twice, which is a defect of orchestrate: please report it",
}
