"""The files of a candidate in a table; one that is opened is shown in the change."""

from collections.abc import Sequence

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.message import Message

from orchestrator.domain.plain import one_line
from orchestrator.tui.widgets.table import Column, Row, Table
from worktrees.diff import FileDiff

_COLUMNS = (
    Column("status", "STATUS", 12, priority=1),
    Column("added", "+", 6, to_the_right=True),
    Column("removed", "-", 6, to_the_right=True),
    Column("path", "PATH", 12, grows=True),
)


class FilesPane(Vertical):
    """Paths with how many lines were added and removed."""

    DEFAULT_CSS = "FilesPane { height: 1fr; }"

    class Chosen(Message):
        """Somebody wants to see the change of this file."""

        def __init__(self, path: str) -> None:
            super().__init__()
            self.path = path

    def compose(self) -> ComposeResult:
        """The table."""
        yield Table(_COLUMNS, empty="no file is changed yet")

    def put(self, files: Sequence[FileDiff]) -> None:
        """Show these files from now on."""
        self.query_one(Table).put(
            Row(
                file.path,
                {
                    "status": "binary" if file.is_binary else file.status,
                    "added": (f"+{file.added}", "added"),
                    "removed": (f"-{file.removed}", "removed"),
                    "path": one_line(f"{file.old_path} -> {file.path}" if file.old_path else file.path),
                },
            )
            for file in files
        )

    def on_table_opened(self, event: Table.Opened) -> None:
        """Tell which file."""
        event.stop()
        if event.key is not None:
            self.post_message(self.Chosen(event.key))
