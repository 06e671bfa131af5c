"""The actions that keys stand for: what each does to what is chosen, and whether words go with it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from orchestrator.domain.run.state import RunState
from orchestrator.tui.commands import builders

NotePolicy = Literal["", "may", "must"]
"""A note with an action: none, one that may be empty, or one that is required."""


@dataclass(frozen=True)
class KeyAction:
    """An action. `note_policy` and `migration_note_policy` say whether goals and migrations take a note with it."""

    build_commands: builders.CommandBuilder
    title: str
    note_policy: NotePolicy = ""
    migration_note_policy: NotePolicy | None = None

    def get_note_policy(self, state: RunState) -> NotePolicy:
        """Return whether a note goes with the action in this run."""
        is_migration = state.run.mode == "migration"
        if self.migration_note_policy is None or not is_migration:
            return self.note_policy
        return self.migration_note_policy


KEY_ACTIONS: Mapping[str, KeyAction] = {
    "approve": KeyAction(builders.build_approvals, "Approve"),
    "deny": KeyAction(builders.build_denials, "Deny; why? It goes to whoever asked", "may"),
    "tell": KeyAction(builders.build_denials, "Deny, and tell whoever asked", "must"),
    "pause": KeyAction(builders.build_pause_or_continue, "Pause"),
    "retry": KeyAction(
        builders.build_retries, "Try again; what is to be known this time? It goes to the worker", "may"
    ),
    "give-up": KeyAction(
        builders.build_cancellations, "Leave out; why? It is shown in reports and pull requests", "", "must"
    ),
    "stop-call": KeyAction(builders.build_call_stops, "Stop what it waits for"),
    "hold": KeyAction(builders.build_shard_holds, "Hold or release"),
    "rollback": KeyAction(builders.build_rollback, "Take back; why?", "may"),
    "publish": KeyAction(builders.build_publish, "Publish"),
}
"""The actions by name; `keymap` has their keys."""
