"""Finding runs for the verbs that only read: without a git library, a subprocess or the configuration."""

import fcntl
import os
from pathlib import Path

from orchestrator.errors import UsageProblem
from orchestrator.journal.runs import RunDirectory, StateDirectory


def top_of(path: Path) -> Path:
    """The top of the checkout that `path` lies in: the nearest directory upwards that holds `.git`.

    Raises:
        UsageProblem: there is none.
    """
    start = path.resolve()
    for directory in (start, *start.parents):
        if (directory / ".git").exists():
            return directory
    raise UsageProblem(f"{path} is not inside a git repository: go to one, or name it with --repo DIR")


def state_directory(repository: Path, state: str) -> StateDirectory:
    """Where the runs of a repository lie; `state` is what --state said."""
    return StateDirectory.locate(top_of(repository), state or os.environ.get("ORCHESTRATE__STATE__DIR", ""))


def is_live(directory: RunDirectory) -> bool:
    """Whether a process holds the run's lock."""
    try:
        with (directory.path / "lock").open() as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False
