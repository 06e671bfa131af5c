"""Commands that were given and are not sent yet: for some seconds they can be taken back, then each is sent once."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from orchestrator.domain.command import Command
from orchestrator.domain.state import RunState
from orchestrator.errors import OrchestrateError

HELD_S = 5.0
Send = Callable[[Command], str]


@dataclass(frozen=True)
class Held:
    """A command with what it does in words, when it is to be sent, and with which others it was given."""

    command: Command
    words: str
    due: float
    batch: int


@dataclass(frozen=True)
class Told:
    """What became of a command; `is_problem` if it does not do what was wanted."""

    words: str
    is_problem: bool = False


class Pending:
    """Holds commands for `held_s` seconds by the caller's clock. A command that is on its way is not taken twice."""

    def __init__(self, send: Send, held_s: float = HELD_S) -> None:
        """`send` gives the key under which a command lies in the inbox; it raises OrchestrateError."""
        self._send, self._held_s = send, held_s
        self._held: list[Held] = []
        self._sent: dict[str, Held] = {}
        self._batches = 0

    @property
    def held(self) -> tuple[Held, ...]:
        """What can still be taken back, oldest first."""
        return tuple(self._held)

    @property
    def sent(self) -> tuple[Held, ...]:
        """What was sent and no engine has taken yet."""
        return tuple(self._sent.values())

    def hold(self, commands: Sequence[tuple[Command, str]], now: float) -> int:
        """Take commands, with their words, that are given at once.

        Returns:
            how many of them are new: neither held already, nor sent without any engine having taken them yet.
        """
        self._batches += 1
        before = len(self._held)
        for command, words in commands:
            if not any(one.command == command for one in (*self._held, *self._sent.values())):
                self._held.append(Held(command, words, now + self._held_s, self._batches))
        return len(self._held) - before

    def undo(self) -> list[Held]:
        """Take back what was given last, all of it, so that it is never sent; nothing if nothing is held."""
        last = [one for one in self._held if one.batch == self._held[-1].batch]
        self._held = [one for one in self._held if one not in last]
        return last

    def send_due(self, now: float) -> list[Told]:
        """Send what has been held for long enough."""
        return self._send_all([one for one in self._held if one.due <= now])

    def flush(self) -> list[Told]:
        """Send all that is held, at once: nobody is there any more to take it back."""
        return self._send_all(list(self._held))

    def _send_all(self, due: list[Held]) -> list[Told]:
        """Forgets a command before it is sent: whatever happens then, it is not sent again."""
        told = []
        for one in due:
            self._held.remove(one)
            try:
                self._sent[self._send(one.command)] = one
            except OrchestrateError as problem:
                told.append(Told(f"{one.words}: not sent: {problem}", is_problem=True))
        return told

    def outcomes(self, state: RunState) -> list[Told]:
        """What engines have made of what was sent, each told once."""
        taken = [(key, one) for key, one in self._sent.items() if key in state.commands]
        for key, _ in taken:
            del self._sent[key]
        return [
            Told(f"{one.words}: refused: {refused}", is_problem=True) if refused else Told(f"{one.words}: taken")
            for refused, one in ((state.commands[key], one) for key, one in taken)
        ]
