"""The stack of views: a tab, or a detail view over it. Each tab keeps its cursor, its place and its filter."""

from collections.abc import Callable, Sequence

from textual.widget import Widget
from textual.widgets import ContentSwitcher

from orchestrator.errors import UsageProblem
from orchestrator.report.rows.row_filter import NO_FILTER, RowFilter, parse_filter
from orchestrator.tui.tabs import DETAIL_VIEWS, TAB_KEYS_BY_KIND, TABS, Tab, list_tabs, load_view_class
from orchestrator.tui.view_model import ViewModel
from orchestrator.tui.views.base_view import DashboardView, Subject

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
        words = []
        if self.current_filter.text:
            words.append(f"filter: {self.current_filter.text}")
        if self.current_view is not None and self.current_view.status_text:
            words.append(f"[{self.current_view.status_text}]")
        return "  ".join(words)

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
        keys = [tab.key for tab in self.tabs]
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
        view = self.current_view
        if view is None:
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
        focus = None
        if self.current_view is not None:
            inner = (widget for widget in self.current_view.query("*") if widget.focusable and _is_shown(widget))
            focus = next(inner, None)
        self.screen.set_focus(focus)

    def _bring_to_front(self, name: str) -> None:
        self.current = name
        if self.current_view is not None and self._view_model is not None:
            self.current_view.show_view_model(self._view_model)
        self.focus_view()


def _is_shown(widget: Widget) -> bool:
    """Return True if no ancestor of the widget is hidden, as a pane is that is not in front."""
    return all(one.display for one in widget.ancestors_with_self if isinstance(one, Widget))
