"""Commands in the sandbox that go on as soon as a test lets them: nobody sleeps for as long as something may take."""

from itertools import count
from pathlib import Path
from typing import Any

_LONGEST_S = 120
_NUMBERS = count()


class Hold:
    """A gate in front of commands: open until it is closed, and told by a file that the sandbox shows them.

    `folder` is one for many tests: what a sandbox shows belongs to its walls, and these are tried once in a process.
    """

    def __init__(self, folder: Path) -> None:
        folder.chmod(0o755)  # commands are another user
        self._folder = folder
        self._closed = folder / f"closed-{next(_NUMBERS)}"

    @property
    def command(self) -> str:
        """A shell command that ends at once where the gate is open, and else when it is opened."""
        seen, late = f"test -r {self._folder}", f"test $SECONDS -lt {_LONGEST_S}"
        return f"{seen} || exit 9; while test -e {self._closed}; do {late} || exit 9; sleep 0.02; done"

    @property
    def settings(self) -> dict[str, Any]:
        """The `[hands]` of a run whose commands are to see the gate."""
        return {"read_only": [str(self._folder)]}

    def close(self) -> None:
        """Have commands that come to it wait."""
        self._closed.touch()

    def open(self) -> None:
        """Let them go on."""
        self._closed.unlink(missing_ok=True)
