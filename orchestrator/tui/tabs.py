"""The tabs, and the detail views of single things. Their classes are imported when first needed."""

from dataclasses import dataclass
from importlib import import_module
from typing import cast

from orchestrator.tui.views.base_view import DashboardView, SubjectKind

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
DETAIL_VIEWS: dict[SubjectKind, str] = {
    "session": f"{_VIEWS}.worker:WorkerView",
    "task": f"{_VIEWS}.worker:WorkerView",
    "unit": f"{_VIEWS}.worker:WorkerView",
    "file": f"{_VIEWS}.worker:WorkerView",
}
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
