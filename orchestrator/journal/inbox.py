"""The inbox of a run: commands as files, so that people can tell a run something also while no engine lives."""

import json
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from pydantic import ValidationError

from orchestrator.domain.commands.definitions import InboxCommand
from orchestrator.domain.text.encoding import make_value_encodable
from orchestrator.errors import EnvironmentProblem
from worktrees.durable_files import write_durably
from worktrees.safety.private_directory import create_durable_directory

_SUFFIX = ".json"


class Inbox:
    """A directory with one file a command. Files appear whole, by rename, and go when the engine has recorded them."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def send_command(self, sent: InboxCommand) -> None:
        """Leave a command; it is durable when this returns.

        Raises:
            EnvironmentProblem: the directory cannot be written.
        """
        try:
            create_durable_directory(self._path)
            # the words of a command line need not be UTF-8
            body = json.dumps(make_value_encodable(sent.model_dump(mode="json")), ensure_ascii=False)
            name = f"{sent.at:%Y%m%dT%H%M%S.%f}-{os.getpid()}{_SUFFIX}"
            write_durably(self._path / name, body.encode())
        except OSError as error:
            raise EnvironmentProblem(
                f"cannot write {self._path}: {error.strerror}; make the state directory writable"
            ) from error

    def is_empty(self) -> bool:
        """Return True if no command waits; quick enough for an event loop to ask."""
        return not self._list_files()

    def iterate_commands(self) -> Iterator[tuple[Path, InboxCommand]]:
        """Yield the commands that no engine has taken, oldest first; put a file aside that holds none."""
        for path in self._list_files():
            try:
                yield path, InboxCommand.model_validate_json(path.read_bytes())
            except (FileNotFoundError, PermissionError):
                continue
            except ValidationError:
                with suppress(FileNotFoundError):  # somebody else has put it aside
                    path.rename(path.with_suffix(".unreadable"))

    def _list_files(self) -> list[Path]:
        try:
            return sorted(path for path in self._path.iterdir() if path.suffix == _SUFFIX)
        except FileNotFoundError:
            return []
