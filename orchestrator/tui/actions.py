"""The effects that a dashboard can have on the world; the command line gives it real ones, a test its own."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from orchestrator.domain.commands.definitions import Command


@dataclass(frozen=True)
class DashboardActions:
    """The ways out of a dashboard.

    send_command: leave a command in the run's inbox; gives its key. Raises OrchestrateError.
    wake_engine: see to it that an engine takes it, also where none lives. Returns at once; raises OrchestrateError.
    open_editor: show a file or directory in the user's editor, which has the terminal until it ends.
    open_shell: a shell in a directory, which has the terminal until it ends.
    """

    send_command: Callable[[Command], str]
    wake_engine: Callable[[], None]
    open_editor: Callable[[Path], None]
    open_shell: Callable[[Path], None]
