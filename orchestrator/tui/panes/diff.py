"""A change on the screen: unified or side by side, against several bases; lines take comments. And its files."""

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar, Literal

from anyio import to_thread
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.events import Resize
from textual.message import Message
from textual.widgets import Input

from orchestrator.domain.text.sanitization import to_one_line
from orchestrator.errors import OrchestrateError
from orchestrator.journal.locations.run_directory import RunDirectory
from orchestrator.tui.rows.diff_rows import NO_COMMENTS, CommentTexts, DiffOptions, DiffRows
from orchestrator.tui.rows.empty_screens import NO_CHANGE, NO_FILE_CHANGED
from orchestrator.tui.run_feed.diff_reader import DiffEndpoints
from orchestrator.tui.widgets.styled_text import Cell
from orchestrator.tui.widgets.table import Column, Row, Table
from orchestrator.tui.widgets.text_pager import LazyLines, LineList, TextPager
from worktrees.diffs.file_diffs import Diff, FileDiff
from worktrees.errors import GitError

SIDE_BY_SIDE_COLUMNS = 140
"""Columns from which on a change can be shown side by side."""
LARGE_DIFF_LINES = 20_000
"""Changed lines above which hunks are read file by file, when they are opened."""

_FILE_COLUMNS = (
    Column("status", "STATUS", 12, priority=1),
    Column("added", "+", 6, to_the_right=True),
    Column("removed", "-", 6, to_the_right=True),
    Column("path", "PATH", 12, grows=True),
)


class CommentSubmitted(Message):
    """A comment on a line: its number is that after the change, or before it if the line is gone."""

    def __init__(self, path: str, line: int, text: str) -> None:
        super().__init__()
        self.path, self.line, self.text = path, line, text


class DiffPane(Vertical):
    """The change of one candidate. `show_diff` says of what; reading it goes on in a thread."""

    KEYS: ClassVar[Sequence[tuple[str, str]]] = (
        *(("c", "comment"), ("S", "send comments"), ("[ ]", "hunk"), ("{ }", "file"), ("B", "base")),
        *(("w", "white space"), ("|", "side by side")),
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("right_square_bracket", "go_to_head('hunk', 1)", "Next hunk", show=False, id="diff.next-hunk"),
        Binding("left_square_bracket", "go_to_head('hunk', -1)", "Hunk before", show=False, id="diff.previous-hunk"),
        Binding("right_curly_bracket", "go_to_head('file', 1)", "Next file", show=False, id="diff.next-file"),
        Binding("left_curly_bracket", "go_to_head('file', -1)", "File before", show=False, id="diff.previous-file"),
        Binding("vertical_line", "side_by_side", "Side by side", show=False, id="diff.side-by-side"),
        Binding("w", "toggle_white_space", "White space", show=False, id="diff.white-space"),
        Binding("c", "comment", "Comment", show=False, id="diff.comment"),
        Binding("B", "base", "Other base", show=False, id="diff.base"),
        Binding("escape", "no_comment", "No comment", show=False, id="diff.no-comment"),
    ]
    DEFAULT_CSS = """
    DiffPane { height: 1fr; }
    DiffPane > Input { display: none; }
    DiffPane.-commenting > Input { display: block; }
    """

    class DiffLoaded(Message):
        """The change was read, or another part of it."""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self._directory: RunDirectory | None = None
        self._ends: Sequence[DiffEndpoints] = ()
        self._base = 0
        self._diff = Diff(())
        self._unloaded: set[str] = set()
        self._how = DiffOptions()
        self._rows = DiffRows(())
        self._about: tuple[str, int] | None = None
        self._comments = NO_COMMENTS

    def compose(self) -> ComposeResult:
        """Build the lines, and the box for a comment."""
        yield TextPager(empty=NO_CHANGE)
        yield Input(compact=True, placeholder="what is to be said of this line; enter keeps it, esc drops it")

    @property
    def pager(self) -> TextPager:
        """The widget that shows the rows."""
        return self.query_one(TextPager)

    @property
    def files(self) -> Sequence[FileDiff]:
        """The files that differ."""
        return self._diff.files

    @property
    def status_text(self) -> str:
        """The base of the comparison, and the size of the change."""
        if not self._ends:
            return ""
        size = f"+{self._diff.added}/-{self._diff.removed} ({len(self.files)} files)"
        how = "  white space ignored" * self._how.ignores_space
        return f"against {self._ends[self._base].base_label}  {size}{how}"

    def show_diff(self, directory: RunDirectory, ends: Sequence[DiffEndpoints]) -> None:
        """Show a change; it is read anew only if it is another one. A growing change is read once, when it is shown."""
        if ends == self._ends and directory == self._directory:
            return
        if [one.base_label for one in ends] != [one.base_label for one in self._ends]:
            self._base = 0
        self._directory, self._ends = directory, ends
        self.reload_diff()

    def reload_diff(self) -> None:
        """Read the change from git."""
        if self._directory is None or not self._ends:
            self._put(Diff(()), set())
            return
        if not self.files:
            self.pager.show_text(LineList([("reading the change", "dim")]))
        self.run_worker(self._read(self._directory, self._ends[self._base]), group="diff", exclusive=True)

    async def _read(self, directory: RunDirectory, ends: DiffEndpoints) -> None:
        try:
            found = await to_thread.run_sync(lambda: ends.read_diff(directory, has_hunks=False))
            is_large = found.added + found.removed > LARGE_DIFF_LINES
            if not is_large:
                found = await to_thread.run_sync(ends.read_diff, directory)
        except (GitError, OrchestrateError) as problem:
            self.pager.show_text(LineList([(str(problem), "bad")]))
            return
        self._put(found, {file.path for file in found.files if is_large and file.added + file.removed})

    def _put(self, found: Diff, unloaded: set[str]) -> None:
        self._diff, self._unloaded = found, unloaded
        self._draw()
        if not found.files:
            self.pager.show_text(LineList(_list_empty_lines(has_ends=bool(self._ends))))
        self.post_message(self.DiffLoaded())

    def _draw(self) -> None:
        """Make the rows anew; the cursor stays on its line."""
        before = self._rows.get_row(self.pager.cursor) if self.pager.cursor < len(self._rows) else None
        how = replace(self._how, is_wide=self._how.is_wide and self.size.width >= SIDE_BY_SIDE_COLUMNS)
        rows = self._rows = DiffRows(self.files, how, frozenset(self._unloaded), self._comments)
        lines = LazyLines(rows.__len__, lambda index: rows.render_row(index, self.size.width))
        self.pager.show_text(lines, at_end=False)
        if before is not None:
            self.pager.move_to(self._rows.find_nearest_row(before))

    def show_comments(self, comments: CommentTexts) -> None:
        """Mark the lines of which something was said and not sent yet, with the words below them."""
        if comments != self._comments:
            self._comments = dict(comments)
            if self.files:
                self._draw()

    def move_to_file(self, path: str) -> None:
        """Go to the head of a file."""
        self.pager.move_to(self._rows.find_file_row(path))

    def on_resize(self, _event: Resize) -> None:
        """Draw anew: side by side needs room."""
        if self._how.is_wide:
            self._draw()

    def on_text_pager_line_opened(self, event: TextPager.LineOpened) -> None:
        """Read the hunks of a file that has none yet."""
        path = self._rows.get_row(event.index).path if len(self._rows) else ""
        file = next((file for file in self.files if file.path == path), None)
        if file is not None and path in self._unloaded and self._directory is not None:
            self.run_worker(self._read_file(self._directory, self._ends[self._base], file), group="diff-file")

    async def _read_file(self, directory: RunDirectory, ends: DiffEndpoints, file: FileDiff) -> None:
        paths = tuple(filter(None, (file.path, file.old_path)))
        try:
            part = await to_thread.run_sync(ends.read_diff, directory, paths)
        except (GitError, OrchestrateError) as problem:
            self.notify(str(problem), severity="warning", markup=False)
            return
        read = {one.path: one for one in part.files}
        self._unloaded.discard(file.path)
        self._put(Diff(tuple(read.get(one.path, one) for one in self.files)), self._unloaded)

    # --- keys --------------------------------------------------------------------------------------------------------

    def action_go_to_head(self, kind: Literal["file", "hunk"], by: int) -> None:
        """Go to the next hunk or file, or the one before."""
        self.pager.move_to(self._rows.find_next_head(kind, self.pager.cursor, by))

    def action_side_by_side(self) -> None:
        """Show the change side by side, or one below the other again."""
        if self.size.width < SIDE_BY_SIDE_COLUMNS and not self._how.is_wide:
            self.notify(f"side by side needs {SIDE_BY_SIDE_COLUMNS} columns, there are {self.size.width}", markup=False)
            return
        self._how = replace(self._how, is_wide=not self._how.is_wide)
        self._draw()

    def action_toggle_white_space(self) -> None:
        """Hide changes of white space, or show them again."""
        self._how = replace(self._how, ignores_space=not self._how.ignores_space)
        self._draw()
        self.post_message(self.DiffLoaded())

    def action_base(self) -> None:
        """Compare with the next thing there is to compare with."""
        if self._ends:
            self._base = (self._base + 1) % len(self._ends)
            self.reload_diff()

    def action_comment(self) -> None:
        """Open the box for a comment on the line with the cursor."""
        row = self._rows.get_row(self.pager.cursor) if len(self._rows) else None
        if row is None or row.number is None:
            self.notify("a comment is about a line of the change", markup=False)
            return
        self._about = (row.path, row.number)
        self.add_class("-commenting")
        box = self.query_one(Input)
        box.value = self._comments.get(self._about, "")
        box.focus()

    def action_no_comment(self) -> None:
        """Drop the comment that is being typed."""
        self._end_comment()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Allow escape only while a comment is typed."""
        return action != "no_comment" or self._about is not None

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Submit a comment; without words, the one that was there is gone."""
        if self._about is not None and (event.value.strip() or self._about in self._comments):
            self.post_message(CommentSubmitted(*self._about, event.value.strip()))
        self._end_comment()

    def _end_comment(self) -> None:
        self._about = None
        self.query_one(Input).value = ""
        self.remove_class("-commenting")
        self.pager.focus()


def _list_empty_lines(*, has_ends: bool) -> list[Cell]:
    """Return the lines for a change without files."""
    if has_ends:
        return [("nothing differs", "dim")]
    return [(line, "dim") for line in NO_CHANGE.splitlines()]


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
        yield Table(_FILE_COLUMNS, empty=NO_FILE_CHANGED)

    def show_files(self, files: Sequence[FileDiff]) -> None:
        """Show these files from now on."""
        self.query_one(Table).show_rows(map(_build_file_row, files))

    def on_table_row_opened(self, event: Table.RowOpened) -> None:
        """Post the chosen file."""
        if event.key is not None:
            self.post_message(self.FileChosen(event.key))


def _build_file_row(file: FileDiff) -> Row:
    return Row(
        file.path,
        {
            "status": "binary" if file.is_binary else file.status,
            "added": (f"+{file.added}", "added"),
            "removed": (f"-{file.removed}", "removed"),
            "path": to_one_line(" -> ".join(filter(None, (file.old_path, file.path)))),
        },
    )
