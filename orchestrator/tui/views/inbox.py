"""The inbox: what waits for a person, with all that is needed to answer it, and what was answered."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar

from anyio import to_thread
from textual.actions import SkipAction
from textual.app import ComposeResult
from textual.binding import Binding, BindingType

from orchestrator.domain.text.durations import format_short_duration
from orchestrator.report.rows import questions
from orchestrator.tui.rows.empty_screens import NO_QUESTION
from orchestrator.tui.view_model import ViewModel
from orchestrator.tui.views.base_view import Subject, ThrottledView
from orchestrator.tui.widgets.panel import Panel
from orchestrator.tui.widgets.styled_text import Cell, Span
from orchestrator.tui.widgets.table import CellContext, Column, Table, build_row
from orchestrator.tui.widgets.text_pager import LineList, TextPager
from worktrees.diffs.file_diffs import read_diff_text
from worktrees.errors import GitError
from worktrees.object_store.tree_overlay import overlay_tree
from worktrees.object_store.trees import read_tree_id
from worktrees.repositories.repository import GitRepository


def _render_age(question: questions.QuestionRow, _context: CellContext) -> Cell:
    return "" if question.age_s is None else format_short_duration(question.age_s)


def _render_answer(question: questions.QuestionRow, _context: CellContext) -> Cell:
    """Return the answer, or the one that counts if nobody gives any."""
    if question.is_open and question.left_s is not None:
        return f"{question.default} in {format_short_duration(max(question.left_s, 0))}"
    if question.is_open:
        return "waits"
    if question.decision:
        return f"{question.decision} by {question.by}"
    return "closed"


_COLUMNS = (
    Column("id", "ID", 4, cell=lambda row, _: row.id_text),
    Column("age", "AGE", 7, 2, to_the_right=True, cell=_render_age),
    Column("who", "WHO", 16, 4, cell=lambda row, _: row.who),
    Column("matter", "MATTER", 12, 1, cell=lambda row, _: (row.matter, "ask" * row.is_open)),
    Column("title", "WHAT", 24, grows=True, cell=lambda row, _: row.title),
    Column("default", "DEFAULT", 16, 5, cell=_render_answer),
    Column("blocks", "BLOCKS", 24, 3, cell=lambda row, _: row.blocks or row.reason or row.closed),
)


class InboxView(ThrottledView):
    """Questions above, all lines of the chosen one below; enter gives it the whole room, with its diff."""

    TITLE = "Inbox"
    FIELDS = questions.QUESTION_KEYS
    KEYS: ClassVar[Sequence[tuple[str, str]]] = (
        ("a", "approve"), ("d", "reject"), ("b", "send back"), ("e", "change the plan"), ("enter", "diff"),
        ("space", "mark"), ("*", "mark same matter"), ("u", "undo"),
    )  # fmt: skip
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("asterisk", "mark_alike", "mark the same matter", show=False),
        Binding("D", "detail", "all of it, with its diff", show=False),
        Binding("escape", "shut", "back to the list", show=False),
    ]
    DEFAULT_CSS = """
    InboxView > #inbox-question { height: 50%; }
    InboxView.-detail > #inbox-rows { display: none; }
    InboxView.-detail > #inbox-question { height: 1fr; }
    """

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self._questions: Mapping[str, questions.QuestionRow] = {}
        self._shown: tuple[str, Sequence[str]] = ("", ())
        self._diffs: dict[str, Sequence[str]] = {}

    def compose(self) -> ComposeResult:
        """Build the questions, and the text of the one with the cursor."""
        with Panel(id="inbox-rows"):
            yield Table(_COLUMNS, empty=NO_QUESTION)
        with Panel(id="inbox-question"):
            yield TextPager(wrap=True, empty="The chosen question is shown here, with all that it is about.")

    # --- what is shown -----------------------------------------------------------------------------------------------

    def paint_view(self, view_model: ViewModel) -> None:
        """Show new questions and answers."""
        found = questions.build_question_rows(view_model.state, view_model.now)
        before = self._questions.get(self.table.cursor or "")
        self._questions = {one.item: one for one in found}
        rows = []
        for row in self.filter_rows(found):
            rows.append(build_row(row.item, row, _COLUMNS, self.cell_context, "dim" * (not row.is_open)))
        self.table.show_rows(rows)
        if before is not None and before.is_open and not self._questions[before.item].is_open:
            self._move_to_next_question()
        self._show_text()

    def _move_to_next_question(self) -> None:
        """Move to the next question and close the detail, once the one with the cursor has its answer."""
        for row in self.table.rows:
            if self._questions[row.key].is_open:
                self.table.move_to(row.key)
                break
        if self.has_class("-detail"):
            self.action_shut()

    def find_subject(self, key: str) -> Subject:
        """Return the question of a row."""
        return Subject("approval", key, self._questions[key].title)

    def select_subject(self, subject: Subject) -> None:
        """Put the cursor on a question."""
        self.table.move_to(subject.id)

    @property
    def status_text(self) -> str:
        """Since when the oldest waits; how many do stands beside the tab's name."""
        waiting = [question for question in self._questions.values() if question.is_open]
        if not waiting:
            return "nothing waits"
        ages_s = [question.age_s for question in waiting if question.age_s is not None]
        return f"oldest {format_short_duration(max(ages_s))}" if ages_s else f"{len(waiting)} waiting"

    def _show_text(self) -> None:
        """Show the lines of the question with the cursor; they keep their place while they stay the same."""
        item = self.table.cursor or ""
        lines: list[str] = []
        if item in self._questions:
            lines = [*questions.render_question_lines(self._questions[item]), *self._diffs.get(item, ())]
        before, shown = self._shown
        if (item, lines) == (before, shown):
            return
        self._shown = (item, lines)
        self._show_panel_titles(self._questions.get(item))
        text = self.query_one(TextPager)
        if item == before:
            text.source.lines = _style_lines(lines)  # type: ignore[attr-defined]
            text.invalidate_lines(0)
        else:
            text.show_text(LineList(_style_lines(lines)), at_end=False)

    def _show_panel_titles(self, question: questions.QuestionRow | None) -> None:
        """Show what the panels hold, and the keys that answer the question with the cursor."""
        waiting = sum(one.is_open for one in self._questions.values())
        count: list[Span] = [(f"  {waiting} waiting", "ask")] * bool(waiting)
        self.query_one("#inbox-rows", Panel).show_title([("Inbox", "title"), *count])
        panel = self.query_one("#inbox-question", Panel)
        panel.show_title([(question.matter, "ask" if question.is_open else "dim")] if question else [])
        shown = 3 + question.is_editable if question and question.is_open else 0
        panel.show_keys(self.KEYS[:shown])

    # --- keys and mouse ----------------------------------------------------------------------------------------------

    def on_table_row_highlighted(self, event: Table.RowHighlighted) -> None:
        """Show the question with the cursor."""
        self._show_text()

    def open_row(self, key: str) -> None:
        """Show the whole question, with the change it is about."""
        self.action_detail()

    def action_detail(self) -> None:
        """Give the question with the cursor the whole room, and read the change it is about."""
        item = self.table.cursor
        if item is None:
            return
        self.set_class(True, "-detail")
        self.query_one(TextPager).focus()
        if item not in self._diffs:
            self.run_worker(self._read_change(item), group="change")

    def action_shut(self) -> None:
        """Return to the list, if one question had the whole room."""
        if not self.has_class("-detail"):
            raise SkipAction
        self.set_class(False, "-detail")
        self.table.focus()

    def action_mark_alike(self) -> None:
        """Mark all waiting questions of the same matter as the one with the cursor."""
        one = self._questions.get(self.table.cursor or "")
        if one is not None:
            alike = {other.item for other in self._questions.values() if other.is_open and other.matter == one.matter}
            self.table.toggle_marks(alike.difference(self.table.marked_keys))

    async def _read_change(self, item: str) -> None:
        if self.view_model is None or (change := questions.find_questioned_change(self.view_model.state, item)) is None:
            return
        try:
            repository = await to_thread.run_sync(GitRepository.open, Path(self.view_model.state.run.repository))
            new = change.new
            if change.files:
                new = await overlay_tree(repository.git, await read_tree_id(repository.git, new), change.files)
            text = await read_diff_text(repository.git, change.old, new)
        except GitError as error:
            text = f"the change cannot be shown: {error}"
        self._diffs[item] = ["", *text.splitlines()]
        self._show_text()


def _style_lines(lines: Sequence[str]) -> list[Cell]:
    """Return the lines of a diff with the styles of their signs, the first line as a title."""
    return [(line, _style(line) if number else "title") for number, line in enumerate(lines)]


def _style(line: str) -> str:
    if line.startswith(("+++", "---", "@@", "diff ")):
        return "accent"
    if line.startswith("+"):
        return "added"
    if line.startswith("-"):
        return "removed"
    return ""
