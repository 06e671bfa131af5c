"""A command under way: asked for by id, carried out once, ended by cancelling its scope."""

import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

import anyio

from orchestrator.domain.ids import slug
from orchestrator.errors import ToolRefused
from orchestrator.hands import files
from orchestrator.ports.hands import Command, CommandResult, Ending
from worktrees.private_directory import make_private_directory

FILES_BYTES = 64 * 1024 * 1024
"""Most that one command may hand back in `Command.files`, together."""


@dataclass
class Call:
    """One started command, its log, and its result once `done` is set."""

    command: Command
    log: Path
    exchange: Path
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    done: anyio.Event = field(default_factory=anyio.Event)
    started: float = field(default_factory=anyio.current_time)
    result: CommandResult | None = None

    def settle(self) -> None:
        """Tell those who wait; without a result it was killed."""
        if self.result is None:
            self.result = self._ended(Ending.KILLED)
        self.done.set()

    def not_started(self, why: str) -> CommandResult:
        """The result when the host could not start it."""
        return self._ended(Ending.NOT_STARTED, why)

    def _ended(self, ending: Ending, detail: str = "") -> CommandResult:
        seconds = anyio.current_time() - self.started
        size = self.log.stat().st_size
        return CommandResult(
            ending=ending, exit_code=None, seconds=seconds, log=self.log, output_bytes=size, detail=detail
        )


def new_call(call_id: str, command: Command, logs: Path, exchanges: Path) -> Call:
    """A call with an empty log; nothing is started yet."""
    name = f"{slug(call_id)}-{hashlib.sha256(call_id.encode(errors='surrogateescape')).hexdigest()[:8]}"
    make_private_directory(logs)
    log = logs / f"{name}.log"
    os.close(os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600))
    return Call(command, log, exchanges / name)


def check(command: Command) -> None:
    """Refuse what no shell could be given.

    Raises:
        ToolRefused: a NUL character or unencodable text, a variable's or a file's name that is none.
    """
    for text in (command.line, command.cwd, *command.env.values()):
        _encodable(text)
    for name in (*command.env, *command.files):
        _encodable(name)
        if not name or "=" in name:
            raise ToolRefused(f"{name!r} is no name for an environment variable.")
    for name in command.files.values():
        if len(PurePosixPath(name).parts) != 1 or "/" in name or name in (".", ".."):
            raise ToolRefused(f"{name!r} is no plain file name.")
        files.tidy(name)


def _encodable(text: str) -> None:
    try:
        encoded = os.fsencode(text)
    except UnicodeEncodeError as error:
        raise ToolRefused(f"The command holds text that cannot be encoded: {text[:80]!r}.") from error
    if b"\0" in encoded:
        raise ToolRefused("The command holds a NUL character, which no shell takes; leave it out.")


def collect(exchange: Path, wanted: Mapping[str, str]) -> dict[str, bytes]:
    """What a command wrote into the files it was asked for, regular ones only, up to `FILES_BYTES` in all."""
    found: dict[str, bytes] = {}
    for variable, name in wanted.items():
        room = FILES_BYTES - sum(map(len, found.values()))
        try:
            found[variable] = files.read(exchange, name, room)
        except ToolRefused:
            continue  # not written, or nothing that could be taken
    return found
