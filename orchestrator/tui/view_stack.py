"""The stack of views: a tab, or a detail view over it. Each tab keeps its cursor, its place and its filter.

The classes of views are imported when they are first needed.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from operator import attrgetter
from typing import cast

from textual.widget import Widget
from textual.widgets import ContentSwitcher

from orchestrator.errors import UsageProblem
from orchestrator.report.rows.row_filter import NO_FILTER, RowFilter, parse_filter
from orchestrator.tui.view_model import ViewModel
from orchestrator.tui.views.base_view import DashboardView, Subject, SubjectKind

_VIEWS = "orchestrator.tui.views"


@dataclass(frozen=True)
class Tab:
    """A tab: the key that leads to it, its name, and where its view is to be found (`module:class`)."""

    key: str
    title: str
    path: str

    @property
    def id(self) -> str:
        """The id of the tab's widget."""
        return f"tab-{self.key}"

    def create_view(self) -> DashboardView:
        """Create the view of the tab."""
        return load_view_class(self.path)(id=self.id)


TABS = (
    Tab("1", "Fleet", f"{_VIEWS}.fleet:FleetView"),
    Tab("2", "Plan", f"{_VIEWS}.plan:PlanView"),
    Tab("3", "Merge", f"{_VIEWS}.merge:MergeView"),
    Tab("4", "Inbox", f"{_VIEWS}.inbox:InboxView"),
    Tab("5", "Cost", f"{_VIEWS}.cost:CostView"),
    Tab("6", "Log", f"{_VIEWS}.log:LogView"),
)
BURNDOWN_TAB = Tab("2", "Burndown", f"{_VIEWS}.burndown:BurndownView")
"""The tab that a migration has instead of a plan."""
_DETAIL_KINDS: tuple[SubjectKind, ...] = ("session", "task", "unit", "file")
DETAIL_VIEWS = dict.fromkeys(_DETAIL_KINDS, f"{_VIEWS}.worker:WorkerView")
"""The detail views; each has the thing's `Subject` as its first argument."""
TAB_KEYS_BY_KIND: dict[SubjectKind, str] = {"approval": "4", "shard": "3", "event": "6", "run": "1"}
"""The tab on which the other things are to be found."""


def list_tabs(mode: str) -> tuple[Tab, ...]:
    """Return the tabs of a run of a goal or of a migration."""
    if mode == "migration":
        fleet, _plan, *others = TABS
        return (fleet, BURNDOWN_TAB, *others)
    return TABS


def load_view_class(path: str) -> type[DashboardView]:
    """Import and return the class at `module:class`."""
    module, _, name = path.partition(":")
    return cast(type[DashboardView], getattr(import_module(module), name))


_DETAIL_ID = "whole"


class ViewStack(ContentSwitcher):
    """The views. They are made when they are first in front; only the one in front is shown moments."""

    DEFAULT_CSS = "ViewStack { height: 1fr; } ViewStack > DashboardView { height: 1fr; }"

    def __init__(self) -> None:
        super().__init__()
        self.tabs: tuple[Tab, ...] = TABS
        self.tab_key = TABS[0].key
        self._view_model: ViewModel | None = None
        self._filters: dict[str, RowFilter] = {}
        self._id_below_detail = ""

    @property
    def current_view(self) -> DashboardView | None:
        """The view in front."""
        return next((one for one in self.children if isinstance(one, DashboardView) and one.id == self.current), None)

    @property
    def keys(self) -> Sequence[tuple[str, str]]:
        """The keys of the view in front."""
        return self.current_view.KEYS if self.current_view else ()

    @property
    def status_text(self) -> str:
        """The filter and the status of the view in front, for the line of tabs."""
        text, status = self.current_filter.text, self.current_view.status_text if self.current_view else ""
        return "  ".join(filter(None, (f"filter: {text}" * bool(text), f"[{status}]" * bool(status))))

    @property
    def current_filter(self) -> RowFilter:
        """The filter of the view in front."""
        return self._filters.get(self.current or "", NO_FILTER)

    def show_view_model(self, view_model: ViewModel) -> None:
        """Bring the view in front up to date."""
        self._view_model = view_model
        if view_model.state.started is not None:
            self.tabs = list_tabs(view_model.state.run.mode)
        if (view := self.current_view) is not None:
            view.show_view_model(view_model)

    async def switch_to_tab(self, key: str) -> None:
        """Bring a tab to the front; a detail view is closed."""
        tab = next(tab for tab in self.tabs if tab.key == key)
        self.tab_key = key
        if not self.query(f"#{tab.id}"):
            await self.add_content(tab.create_view())
        self._bring_to_front(tab.id)
        await self.query(f"#{_DETAIL_ID}").remove()

    async def switch_tab_by(self, by: int) -> None:
        """Bring the tab to the front that is `by` places further on."""
        keys = list(map(attrgetter("key"), self.tabs))
        await self.switch_to_tab(keys[(keys.index(self.tab_key) + by) % len(keys)])

    async def open_subject(self, subject: Subject) -> None:
        """Open the detail view of a thing, or the tab on which it is."""
        if subject.kind not in DETAIL_VIEWS:
            await self.switch_to_tab(TAB_KEYS_BY_KIND[subject.kind])
            if self.current_view is not None:
                self.current_view.select_subject(subject)
            return
        make: Callable[..., DashboardView] = load_view_class(DETAIL_VIEWS[subject.kind])
        if self.current != _DETAIL_ID:
            self._id_below_detail = self.current or ""
        await self.query(f"#{_DETAIL_ID}").remove()
        self._filters.pop(_DETAIL_ID, None)
        await self.add_content(make(subject, id=_DETAIL_ID))
        self._bring_to_front(_DETAIL_ID)

    async def go_back(self) -> bool:
        """Close the detail view; return False if there is none."""
        if self.current != _DETAIL_ID:
            return False
        self._bring_to_front(self._id_below_detail)
        await self.query(f"#{_DETAIL_ID}").remove()
        return True

    def apply_filter_text(self, text: str) -> str:
        """Filter the view in front; return why that cannot be done, empty if it was."""
        if (view := self.current_view) is None:
            return ""
        try:
            wanted = parse_filter(text, view.FIELDS)
        except UsageProblem as problem:
            return str(problem)
        self._filters[self.current or ""] = wanted
        view.apply_filter(wanted)
        if self._view_model is not None:
            view.show_view_model(self._view_model)
        return ""

    def focus_view(self) -> None:
        """Give the focus to the view in front."""
        inner = self.current_view.query("*") if self.current_view is not None else ()
        self.screen.set_focus(next((widget for widget in inner if widget.focusable and _is_shown(widget)), None))

    def _bring_to_front(self, name: str) -> None:
        self.current = name
        if self.current_view is not None and self._view_model is not None:
            self.current_view.show_view_model(self._view_model)
        self.focus_view()


def _is_shown(widget: Widget) -> bool:
    """Return True if no ancestor of the widget is hidden, as a pane is that is not in front."""
    return all(one.display for one in widget.ancestors_with_self if isinstance(one, Widget))
