"""The ways out of the dashboard: leave, drain, stop, or crash. Its end ends nothing but itself."""

from collections.abc import Callable, Mapping
from math import inf
from time import monotonic

from textual.app import App

from orchestrator.domain.commands.definitions import Command, Stop
from orchestrator.errors import OrchestrateError
from orchestrator.tui.actions import DashboardActions
from orchestrator.tui.screens.command_dialogs import LeaveChoice, LeaveDialog
from orchestrator.tui.view_model import Connection, ViewModel

_INTERRUPT_WINDOW_S = 3.0
_STOPS: Mapping[LeaveChoice, Stop] = {"drain": Stop(how="drain"), "stop": Stop(how="interrupt")}


class LeavableApp(App[None]):
    """An app that asks how to leave it, and keeps the error that it crashed with in `crash_error`."""

    def __init__(self, actions: DashboardActions) -> None:
        super().__init__()
        self.actions = actions
        self.view_model: ViewModel | None = None
        self.exit_hooks: list[Callable[[], None]] = []
        self.crash_error: Exception | None = None
        self._interrupted_at = -inf

    def action_detach(self) -> None:
        """Leave the dashboard; the run goes on."""
        self.run_exit_hooks()
        self.exit()

    def run_exit_hooks(self) -> None:
        """Call the exit hooks, once, however the dashboard is left."""
        last, self.exit_hooks = self.exit_hooks, []
        for act in last:
            act()

    def action_interrupt(self) -> None:
        """Say how to leave; the second time within some seconds, ask."""
        before, self._interrupted_at = self._interrupted_at, monotonic()
        if self._interrupted_at - before < _INTERRUPT_WINDOW_S:
            self.action_leave()
        else:
            self.show_message("q leaves, the run goes on; ctrl+c again asks whether to stop it")

    def action_leave(self) -> None:
        """Ask how to leave."""
        if not isinstance(self.screen, LeaveDialog):
            view_model = self.view_model
            is_live = view_model is not None and view_model.connection in {Connection.LIVE, Connection.STALE}
            may_stop = view_model is not None and is_live and not view_model.is_read_only
            self.push_screen(LeaveDialog(may_stop=may_stop), self._leave)

    def _leave(self, way: LeaveChoice | None) -> None:
        if way is not None and (way == "detach" or self.send_command(_STOPS[way])):
            self.action_detach()

    def send_command(self, command: Command) -> bool:
        """Send a command at once; return False after showing why that cannot be done."""
        try:
            self.actions.send_command(command)
        except OrchestrateError as problem:
            self.show_message(str(problem), is_problem=True)
            return False
        return True

    def show_message(self, words: str, *, is_problem: bool = False) -> None:
        """Show words for some seconds."""
        self.notify(words, severity="warning" if is_problem else "information", markup=False)

    def _fatal_error(self) -> None:
        """Keep the error for the caller to print; Textual would print all variables with it."""
        self.crash_error = self._exception
        self._close_messages_no_wait()
