"""Commands that were given and are not sent yet: for some seconds they can be taken back, then each is sent once."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import attrgetter

from orchestrator.domain.commands.definitions import Command
from orchestrator.domain.run.state import RunState
from orchestrator.errors import OrchestrateError

UNDO_WINDOW_S = 5.0
SendCommand = Callable[[Command], str]


@dataclass(frozen=True)
class PendingCommand:
    """A command with what it does in words, when it is to be sent, and with which others it was given."""

    command: Command
    description: str
    due_at: float
    batch: int


@dataclass(frozen=True)
class CommandOutcome:
    """The outcome of a command; `is_problem` if it was refused or not sent."""

    message: str
    is_problem: bool = False


class UndoQueue:
    """Holds commands for `held_s` seconds by the caller's clock. A command that is on its way is not taken twice."""

    def __init__(self, send: SendCommand, held_s: float = UNDO_WINDOW_S) -> None:
        """`send` gives the key under which a command lies in the inbox; it raises OrchestrateError."""
        self._send, self._held_s = send, held_s
        self._held: list[PendingCommand] = []
        self._sent: dict[str, PendingCommand] = {}
        self._batches = 0

    @property
    def held_commands(self) -> tuple[PendingCommand, ...]:
        """Commands that can still be taken back, oldest first."""
        return tuple(self._held)

    @property
    def sent_commands(self) -> tuple[PendingCommand, ...]:
        """Commands that were sent and no engine has taken yet."""
        return tuple(self._sent.values())

    def hold_commands(self, commands: Sequence[tuple[Command, str]], now: float) -> int:
        """Hold commands, with their words, as one batch.

        Returns:
            how many of them are new: neither held already, nor sent without any engine having taken them yet.
        """
        self._batches += 1
        before = len(self._held)
        for command, words in commands:
            if command not in map(attrgetter("command"), (*self._held, *self._sent.values())):
                self._held.append(PendingCommand(command, words, now + self._held_s, self._batches))
        return len(self._held) - before

    def undo_last_batch(self) -> list[PendingCommand]:
        """Remove and return the batch that was held last, so that it is never sent."""
        if not self._held:
            return []
        newest = self._held[-1].batch
        undone = [one for one in self._held if one.batch == newest]
        self._held = [one for one in self._held if one.batch != newest]
        return undone

    def send_due_commands(self, now: float) -> list[CommandOutcome]:
        """Send what has been held for long enough."""
        return self._send_all([one for one in self._held if one.due_at <= now])

    def flush_commands(self) -> list[CommandOutcome]:
        """Send all that is held, at once."""
        return self._send_all(list(self._held))

    def _send_all(self, due: list[PendingCommand]) -> list[CommandOutcome]:
        """Remove each command before it is sent: whatever happens then, it is not sent twice."""
        outcomes = []
        for one in due:
            self._held.remove(one)
            try:
                self._sent[self._send(one.command)] = one
            except OrchestrateError as problem:
                outcomes.append(CommandOutcome(f"{one.description}: not sent: {problem}", is_problem=True))
        return outcomes

    def collect_outcomes(self, state: RunState) -> list[CommandOutcome]:
        """Return what engines have made of sent commands, each outcome once."""
        outcomes = []
        for key in [key for key in self._sent if key in state.taken_commands]:
            words, refusal = self._sent.pop(key).description, state.taken_commands[key]
            result = f"refused: {refusal}" if refusal else "taken"
            outcomes.append(CommandOutcome(f"{words}: {result}", is_problem=bool(refusal)))
        return outcomes
