"""What is in front: a tab, or one thing shown whole over it. Each tab keeps its cursor, its place and its filter."""

from collections.abc import Callable

from textual.widget import Widget
from textual.widgets import ContentSwitcher

from orchestrator.errors import UsageProblem
from orchestrator.report.filtering import NOTHING_LEFT_OUT, Filter, filter_of
from orchestrator.tui.moment import Moment
from orchestrator.tui.tabs import LEADS_TO, TABS, WHOLE, Tab, tabs_of, view_class
from orchestrator.tui.view import Subject, View

_WHOLE = "whole"


class Front(ContentSwitcher):
    """The views. They are made when they are first in front; only the one in front is shown moments."""

    DEFAULT_CSS = "Front { height: 1fr; } Front > View { height: 1fr; }"

    def __init__(self) -> None:
        super().__init__()
        self.tabs: tuple[Tab, ...] = TABS
        self.key = TABS[0].key
        self._moment: Moment | None = None
        self._filters: dict[str, Filter] = {}
        self._before_whole = ""

    @property
    def view(self) -> View | None:
        """The view in front."""
        return next((one for one in self.children if isinstance(one, View) and one.id == self.current), None)

    @property
    def filter(self) -> Filter:
        """The filter of the view in front."""
        return self._filters.get(self.current or "", NOTHING_LEFT_OUT)

    def show(self, moment: Moment) -> None:
        """Bring the view in front up to date."""
        self._moment = moment
        if moment.state.started is not None:
            self.tabs = tabs_of(moment.state.run.mode)
        if (view := self.view) is not None:
            view.show(moment)

    async def to_tab(self, key: str) -> None:
        """Bring a tab to the front; what was shown whole goes."""
        tab = next(tab for tab in self.tabs if tab.key == key)
        self.key = key
        if not self.query(f"#{tab.id}"):
            await self.add_content(tab.make())
        self._to_front(tab.id)
        await self.query(f"#{_WHOLE}").remove()

    async def turn(self, by: int) -> None:
        """The tab that is so many further on."""
        keys = [tab.key for tab in self.tabs]
        await self.to_tab(keys[(keys.index(self.key) + by) % len(keys)])

    async def open(self, subject: Subject) -> None:
        """Show one thing whole, or the tab on which it is."""
        if subject.kind not in WHOLE:
            await self.to_tab(LEADS_TO[subject.kind])
            if self.view is not None:
                self.view.point(subject)
            return
        make: Callable[..., View] = view_class(WHOLE[subject.kind])
        if self.current != _WHOLE:
            self._before_whole = self.current or ""
        await self.query(f"#{_WHOLE}").remove()
        self._filters.pop(_WHOLE, None)
        await self.add_content(make(subject, id=_WHOLE))
        self._to_front(_WHOLE)

    async def back(self) -> bool:
        """From one thing to where it was opened, as that was left; false if there is no way back."""
        if self.current != _WHOLE:
            return False
        self._to_front(self._before_whole)
        await self.query(f"#{_WHOLE}").remove()
        return True

    def narrow(self, text: str) -> str:
        """Filter the view in front; gives why that cannot be done, empty if it was."""
        view = self.view
        if view is None:
            return ""
        try:
            wanted = filter_of(text, view.FIELDS)
        except UsageProblem as problem:
            return str(problem)
        self._filters[self.current or ""] = wanted
        view.narrow(wanted)
        if self._moment is not None:
            view.show(self._moment)
        return ""

    def focus_view(self) -> None:
        """Let the view in front have the keys."""
        inner = (one for one in self.view.query("*") if one.focusable and _is_shown(one)) if self.view else iter(())
        self.screen.set_focus(next(inner, None))

    def _to_front(self, name: str) -> None:
        self.current = name
        if self.view is not None and self._moment is not None:
            self.view.show(self._moment)
        self.focus_view()


def _is_shown(widget: Widget) -> bool:
    """Whether nothing around it is hidden, as a pane is that is not in front."""
    return all(one.display for one in widget.ancestors_with_self if isinstance(one, Widget))
