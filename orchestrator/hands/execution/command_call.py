"""A command under way: asked for by id, carried out once, ended by cancelling its scope."""

import hashlib
import os
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

import anyio

from orchestrator.domain.ids import make_slug
from orchestrator.errors import ToolRefused
from orchestrator.hands.execution.process_pipes import LocalPipes
from orchestrator.hands.files import workspace_files
from orchestrator.ports.hands import CommandEnding, CommandResult, OutputEnd, ShellCommand
from worktrees.safety.private_directory import create_private_directory


@dataclass
class CommandCall:
    """One started command, its log, and its result once `done` is set. `pipes` are those of one that is spoken with."""

    command: ShellCommand
    log: Path
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    done: anyio.Event = field(default_factory=anyio.Event)
    started_at: float = field(default_factory=anyio.current_time)
    result: CommandResult | None = None
    pipes: LocalPipes | None = None

    def finish_call(self) -> None:
        """Wake those who wait for the result; without one the command was killed."""
        if self.result is None:
            self.result = self._build_result(CommandEnding.KILLED)
        if self.pipes is not None:
            self.pipes.close_child()
        self.done.set()

    def close_pipes(self) -> None:
        """Close the pipes of a call that is over, if it has some."""
        if self.pipes is not None:
            self.pipes.close_all()

    def build_not_started_result(self, reason: str) -> CommandResult:
        """Return the result of a command that the host could not start."""
        return self._build_result(CommandEnding.NOT_STARTED, reason)

    def _build_result(self, ending: CommandEnding, detail: str = "") -> CommandResult:
        seconds = anyio.current_time() - self.started_at
        size = self.log.stat().st_size
        return CommandResult(
            ending=ending, exit_code=None, seconds=seconds, log=self.log, output_bytes=size, detail=detail
        )


class CommandCalls(dict[str, CommandCall]):
    """The calls of a workspace by their ids; one that was never started is an error that names it."""

    def __missing__(self, call_id: str) -> CommandCall:
        raise ValueError(f"no command was started as {call_id!r}")


def create_call(call_id: str, command: ShellCommand, logs: Path, pipes: LocalPipes | None = None) -> CommandCall:
    """Return a call with an empty log; nothing is started yet."""
    name = f"{make_slug(call_id)}-{hashlib.sha256(call_id.encode(errors='surrogateescape')).hexdigest()[:8]}"
    create_private_directory(logs)
    log = logs / f"{name}.log"
    os.close(os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600))
    return CommandCall(command, log, pipes=pipes)


def read_output_end(log: Path, limit_bytes: int) -> OutputEnd:
    """Return the last bytes of a log that may still be written to. Blocks."""
    with log.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - limit_bytes))
        return OutputEnd(content=file.read(limit_bytes), is_cut=size > limit_bytes)


def check_command(command: ShellCommand) -> None:
    """Refuse a command that cannot be passed to a shell.

    Raises:
        ToolRefused: it holds a NUL character, unencodable text, or an invalid name of a variable or file.
    """
    secrets = command.grant.secrets if command.grant else {}
    for text in (command.line, command.cwd, *command.env.values(), *secrets.values()):
        _check_encodable(text)
    for name in (*command.env, *command.files, *secrets):
        _check_encodable(name)
        if not name or "=" in name:
            raise ToolRefused(f"{name!r} is no name for an environment variable.")
    for name in command.files.values():
        if len(PurePosixPath(name).parts) != 1 or "/" in name or name in (".", ".."):
            raise ToolRefused(f"{name!r} is no plain file name.")
        workspace_files.normalize_path(name)


def _check_encodable(text: str) -> None:
    try:
        encoded = os.fsencode(text)
    except UnicodeEncodeError as error:
        raise ToolRefused(f"The command holds text that cannot be encoded: {text[:80]!r}.") from error
    if b"\0" in encoded:
        raise ToolRefused("The command holds a NUL character, which no shell takes; leave it out.")
