"""Send a run a command, without importing any of what works on runs."""

import os
from getpass import getuser
from uuid import uuid4

from orchestrator.domain.commands.definitions import Command, InboxCommand
from orchestrator.journal.journal import SystemClock
from orchestrator.journal.locations.run_directory import RunDirectory


def send_command(directory: RunDirectory, command: Command, key: str = "", by: str = "") -> str:
    """Leave a command in a run's inbox and return its key; the engine acts on it, now or when one is started."""
    sent = InboxCommand(key=key or uuid4().hex, at=SystemClock().now(), by=by or get_user_name(), command=command)
    directory.inbox.send_command(sent)
    return sent.key


def get_user_name() -> str:
    """Return the name of whoever gives commands here."""
    try:
        return getuser()
    except (KeyError, OSError):
        return f"user {os.getuid()}"
