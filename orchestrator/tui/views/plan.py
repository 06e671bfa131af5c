"""The plan: the tree of tasks, how far each branch is, what tasks wait for, and why some ended otherwise."""

from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.message import Message

from orchestrator.domain.ids import TaskId
from orchestrator.domain.run.state import RunState
from orchestrator.domain.text.sanitization import to_one_line
from orchestrator.tui.keymap import get_key_hints
from orchestrator.tui.panes.preview import PreviewPanel
from orchestrator.tui.rows.empty_screens import NO_PLAN, NOTHING_BLOCKED
from orchestrator.tui.rows.plan_tree import PLAN_KEYS, PlanRow, PlanTree
from orchestrator.tui.rows.row_preview import render_task_preview
from orchestrator.tui.rows.state_counts import count_states
from orchestrator.tui.rows.text_plots import get_glyphs
from orchestrator.tui.view_model import ViewModel
from orchestrator.tui.views.base_view import STATE_COLUMN, Subject, ThrottledView, format_nonzero, render_bar
from orchestrator.tui.widgets.drawing import Drawing
from orchestrator.tui.widgets.panel import Panel
from orchestrator.tui.widgets.styled_text import Cell, Span
from orchestrator.tui.widgets.table import CellContext, Column, Table, build_row

_MANY = 300
"""The number of tasks from which on branches below the first ones are folded at first."""
_BAR_CELLS = 8
_WIDE, _PREVIEW_LINES = 100, 16
_SMALL = (
    STATE_COLUMN,
    Column("task", "TASK", 16, grows=True),
    Column("done", "DONE", 16, priority=2),
    Column("tries", "TRY", 3, priority=3, to_the_right=True),
    Column("cost", "COST", 8, priority=1, to_the_right=True),
)


class _Tree(Table):
    """Leaves it to the plan what `space` does: a branch is folded, a leaf is marked."""

    class SpacePressed(Message):
        """The space bar was pressed."""

    def action_mark(self) -> None:
        """Post the row with the cursor to the plan."""
        self.post_message(self.SpacePressed())


class PlanView(ThrottledView):
    """The plan tree of a goal."""

    TITLE = "Plan"
    KEYS = (
        *(("space", "fold, mark"), ("enter", "open"), ("v", "only blocked"), ("z", "fold all")),
        ("← →", "fold, unfold"),
    )
    FIELDS = PLAN_KEYS
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left", "set_folded(True)", "Fold", show=False, id="plan.fold"),
        Binding("right", "set_folded(False)", "Unfold", show=False, id="plan.unfold"),
        Binding("v", "only_blocked", "Only what is blocked", show=False, id="plan.blocked"),
        Binding("z", "fold_all", "Fold or unfold all", show=False, id="plan.fold-all"),
    ]

    DEFAULT_CSS = """
    PlanView > PreviewPanel { display: none; height: 2fr; }
    PlanView > #plan-rows { height: 3fr; }
    PlanView.-previewed > PreviewPanel { display: block; }
    """

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self._folded: set[TaskId] | None = None
        self._is_only_blocked = False
        self._branches: frozenset[TaskId] = frozenset()
        self._rows: dict[str, PlanRow] = {}

    def compose(self) -> ComposeResult:
        """Build a line that sums up, the tree, and a line for what has no column where it is narrow."""
        yield Drawing(id="plan-line")
        with Panel(id="plan-rows"):
            yield _Tree(_SMALL, empty=NO_PLAN)
        yield Drawing(id="plan-why")
        yield PreviewPanel(is_ascii=self.is_ascii)

    def paint_view(self, view_model: ViewModel) -> None:
        """Paint the tree anew."""
        tree = PlanTree(view_model.state)
        self._branches = tree.list_branches()
        rows = tree.build_rows(self._folds(view_model.state), self.active_filter, only_blocked=self._is_only_blocked)
        self.total_count = len(view_model.state.tasks)
        is_wide = self.size.width >= _WIDE
        self.table.show_columns(_LARGE if is_wide else _SMALL)
        has_preview = self.size.height >= _PREVIEW_LINES
        self.set_class(has_preview, "-previewed")
        self.query_one("#plan-why", Drawing).display = not is_wide and not has_preview
        empty = NOTHING_BLOCKED if self._is_only_blocked else self.get_empty_text(NO_PLAN)
        self.table.set_empty_text(empty)
        self._rows = {row.id: row for row in rows}
        self.table.show_rows(self.build_rows(self._rows, lambda row, context: build_row(row.id, row, _LARGE, context)))
        self.show_reason()
        goal = to_one_line(view_model.state.run.goal, 400)
        iteration = view_model.state.goal.iteration
        spans: list[Span] = [(" goal ", "dim"), (goal, "title")]
        if iteration > 1:
            spans.insert(0, (f" iteration {iteration} ", "accent"))
        self.query_one("#plan-line", Drawing).show_rows([spans])
        counts = count_states(tree.count_activities().items())
        self.query_one("#plan-rows", Panel).show_title([("Plan", "title"), *counts])

    @on(Table.RowHighlighted)
    def show_reason(self) -> None:
        """Show what the task with the cursor waits for, or why it ended."""
        row = self._rows.get(self.table.cursor or "")
        self.query_one("#plan-why", Drawing).show_rows([_render_reason(row)] if row else [])
        if row is not None and self.has_class("-previewed"):
            self._show_preview(row)

    def _show_preview(self, row: PlanRow) -> None:
        task = self.view_model.state.tasks.get(row.id) if self.view_model is not None else None
        if self.view_model is None or task is None:
            return
        preview = self.query_one(PreviewPanel)
        label: Span = (row.activity.render_label(self.is_ascii), row.activity.style)
        lines = render_task_preview(self.view_model.state, task, row.activity)
        preview.show_lines([label, (f" {row.id} {row.title}", "title")], row.id, lines)
        preview.show_keys((("enter", "opens it"), *get_key_hints(row.activity)))

    def find_subject(self, key: str) -> Subject:
        """Return the task of a row."""
        return Subject("task", key, self._rows[key].title)

    def _folds(self, state: RunState) -> set[TaskId]:
        """Return the folded branches; of large plans, at first all below the top."""
        if self._folded is None:
            if len(state.tasks) < _MANY:
                return set()
            self._folded = {name for name in self._branches if state.tasks[name].spec.depth > 0}
        return self._folded

    # --- keys --------------------------------------------------------------------------------------------------------

    @on(_Tree.SpacePressed)
    def fold_or_mark(self) -> None:
        """Fold or unfold the branch with the cursor; mark a leaf and move on."""
        name = TaskId(self.table.cursor or "")
        if name in self._branches:
            self._set(name, name not in (self._folded or ()))
        else:
            self.table.toggle_marks([name])
            self.table.action_move(1)

    def action_set_folded(self, is_folded: bool) -> None:
        """Fold or unfold the branch with the cursor; from what cannot be folded, move to its parent."""
        name = TaskId(self.table.cursor or "")
        if name in self._branches and (name in (self._folded or ())) != is_folded:
            self._set(name, is_folded)
        elif is_folded and self.view_model and name in self.view_model.state.tasks:
            self.table.move_to(self.view_model.state.tasks[name].spec.parent or name)

    def _set(self, name: TaskId, is_folded: bool) -> None:
        folded = self._folded or set()
        self._folded = folded - {name}
        if is_folded:
            self._folded.add(name)
        self.repaint_now()

    def action_fold_all(self) -> None:
        """Fold everything below the root; unfold all, if something is folded."""
        if self._folded or self.view_model is None:
            self._folded = set()
        else:
            tasks = self.view_model.state.tasks
            self._folded = {name for name in self._branches & tasks.keys() if tasks[name].spec.parent is not None}
        self.repaint_now()

    def action_only_blocked(self) -> None:
        """Show only what cannot go on by itself, or all again."""
        self._is_only_blocked = not self._is_only_blocked
        self.repaint_now()

    @property
    def status_text(self) -> str:
        """The number of tasks shown, of all, where some are left out."""
        if self._is_only_blocked:
            return f"only blocked  {len(self.table.rows)} of {self.total_count}"
        return super().status_text


def _render_task(row: PlanRow, context: CellContext) -> Cell:
    title = f"  {row.title}" * (row.title != row.key)
    if not row.is_branch and not row.is_folded:
        return [("  " * (row.depth + 1), "dim"), (row.id, ""), (title, "")]
    glyphs = get_glyphs(context.is_ascii)
    sign = glyphs.folded if row.is_folded else glyphs.unfolded
    return [(f"{'  ' * row.depth}{sign} ", "dim"), (row.id, "title"), (title, "dim")]


def _render_done(row: PlanRow, context: CellContext) -> Cell:
    if not row.is_branch or not row.total:
        return []
    label = f"{f'{row.done}/{row.total}':>7} "
    return render_bar(label, row.done, row.total, _BAR_CELLS, is_ascii=context.is_ascii)


def _render_reason(row: PlanRow) -> list[Span]:
    """Return what a task waits for, or why it ended otherwise."""
    spans: list[Span] = []
    if row.blocked_text:
        spans.append((f"{row.blocked_text}  ", "state-queue"))
    if row.cause:
        spans.append((f"{row.cause}: ", "state-fail"))
    if row.note:
        spans.append((row.note, ""))
    return spans


_LARGE = (
    STATE_COLUMN,
    Column("task", "TASK", 36, cell=_render_task),
    Column("done", "DONE", 16, cell=_render_done),
    Column("tries", "TRY", 3, to_the_right=True, cell=lambda row, _: format_nonzero(row.attempts, "a")),
    Column("cost", "COST", 7, to_the_right=True, cell=lambda row, _: row.price),
    Column("why", "WAITS FOR, OR WHY", 12, grows=True, cell=lambda row, _: _render_reason(row)),
)
