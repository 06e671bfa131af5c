"""The files of a candidate in a table; one that is opened is shown in the change."""

from collections.abc import Sequence

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.message import Message

from orchestrator.domain.text.sanitization import to_one_line
from orchestrator.tui.widgets.table import Column, Row, Table
from worktrees.diffs.file_diffs import FileDiff

_COLUMNS = (
    Column("status", "STATUS", 12, priority=1),
    Column("added", "+", 6, to_the_right=True),
    Column("removed", "-", 6, to_the_right=True),
    Column("path", "PATH", 12, grows=True),
)


class FilesPane(Vertical):
    """Paths with how many lines were added and removed."""

    DEFAULT_CSS = "FilesPane { height: 1fr; }"

    class FileChosen(Message):
        """A file was chosen, to see its change."""

        def __init__(self, path: str) -> None:
            super().__init__()
            self.path = path

    def compose(self) -> ComposeResult:
        """Build the table."""
        yield Table(_COLUMNS, empty="no file is changed yet")

    def show_files(self, files: Sequence[FileDiff]) -> None:
        """Show these files from now on."""
        self.query_one(Table).show_rows(map(_build_row, files))

    def on_table_row_opened(self, event: Table.RowOpened) -> None:
        """Post the chosen file."""
        if event.key is not None:
            self.post_message(self.FileChosen(event.key))


def _build_row(file: FileDiff) -> Row:
    return Row(
        file.path,
        {
            "status": "binary" if file.is_binary else file.status,
            "added": (f"+{file.added}", "added"),
            "removed": (f"-{file.removed}", "removed"),
            "path": to_one_line(" -> ".join(filter(None, (file.old_path, file.path)))),
        },
    )
