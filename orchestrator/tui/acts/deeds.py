"""The actions that keys stand for: what each does to what is chosen, and whether words go with it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from orchestrator.domain.state import RunState
from orchestrator.tui.acts import choices

Wish = Literal["", "may", "must"]
"""Whether a note goes with an action."""


@dataclass(frozen=True)
class Deed:
    """An action. `note` and `in_migrations` say whether it takes a note, in a goal and in a migration."""

    choice: choices.Choice
    title: str
    note: Wish = ""
    in_migrations: Wish | None = None

    def wish(self, state: RunState) -> Wish:
        """Whether a note goes with it in this run."""
        is_migration = state.run.mode == "migration"
        return self.note if self.in_migrations is None or not is_migration else self.in_migrations


DEEDS: Mapping[str, Deed] = {
    "approve": Deed(choices.approve, "Approve"),
    "deny": Deed(choices.deny, "Deny; why? It goes to whoever asked", "may"),
    "tell": Deed(choices.deny, "Deny, and tell whoever asked", "must"),
    "pause": Deed(choices.pause, "Pause"),
    "retry": Deed(choices.retry, "Try again; what is to be known this time? It goes to the worker", "may"),
    "give-up": Deed(choices.give_up, "Leave out; why? It is shown in reports and pull requests", "", "must"),
    "stop-call": Deed(choices.stop_call, "Stop what it waits for"),
    "hold": Deed(choices.hold, "Hold or release"),
    "rollback": Deed(choices.rollback, "Take back; why?", "may"),
    "publish": Deed(choices.publish, "Publish"),
}
"""The actions by name; `keymap` has their keys."""
