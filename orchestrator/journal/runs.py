"""Where runs lie on disk, how they are named and found, and the lock that says who works on one."""

import fcntl
import hashlib
import os
import secrets
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from orchestrator.domain.ids import RunId, slug
from orchestrator.errors import EnvironmentProblem, RunLocked, UsageProblem


@dataclass(frozen=True)
class RunDirectory:
    """One run on disk: its journal, blobs, command logs and lock."""

    path: Path

    @property
    def run(self) -> RunId:
        """The run's id."""
        return RunId(self.path.name)

    @property
    def journal(self) -> Path:
        """The journal file."""
        return self.path / "journal.db"

    @property
    def blobs(self) -> Path:
        """The directory of blobs."""
        return self.path / "blobs"

    @property
    def logs(self) -> Path:
        """Whole outputs of commands; may be deleted without losing a fact."""
        return self.path / "logs"

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Hold the run for this process; the lock dies with the process.

        Raises:
            RunLocked: another process holds it.
            EnvironmentProblem: the state directory cannot be written.
        """
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            file = (self.path / "lock").open("a+")
        except OSError as error:
            raise EnvironmentProblem(
                f"cannot write {self.path}: {error.strerror}; choose another state directory with --state DIR"
            ) from error
        with file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                file.seek(0)
                raise RunLocked(
                    f"run {self.run} is being worked on by {file.read().strip() or 'another process'}"
                ) from None
            file.truncate(0)
            file.write(f"process {os.getpid()} on {socket.gethostname()}")
            file.flush()
            yield


@dataclass(frozen=True)
class StateDirectory:
    """All that is kept for one repository."""

    path: Path

    @classmethod
    def locate(
        cls, repository: Path, configured: str = "", environ: Mapping[str, str] = os.environ
    ) -> "StateDirectory":
        """`<state>/<repository name>-<hash of its path>`; `configured` overrides `$XDG_STATE_HOME/orchestrate`."""
        base = Path(configured).expanduser() if configured else _default_base(environ)
        digest = hashlib.sha256(os.fsencode(repository.resolve())).hexdigest()[:8]
        return cls(base.resolve() / f"{slug(repository.name)}-{digest}")

    def new_run(self, now: datetime) -> RunDirectory:
        """A directory for a new run; its id sorts by time."""
        return self.run(RunId(f"{now:%Y%m%d-%H%M%S}-{secrets.token_hex(2)}"))

    def run(self, run: RunId) -> RunDirectory:
        """The directory of a run, whether or not it exists."""
        return RunDirectory(self.path / "runs" / run)

    def runs(self) -> list[RunDirectory]:
        """All runs, oldest first."""
        root = self.path / "runs"
        names = (
            sorted(entry.name for entry in root.iterdir() if (entry / "journal.db").exists()) if root.exists() else []
        )
        return [self.run(RunId(name)) for name in names]

    def find(self, wanted: str | None) -> RunDirectory:
        """The run with this id, or whose id begins or ends with it; the latest for `latest` or None.

        Raises:
            UsageProblem: there is none, or more than one.
        """
        runs = self.runs()
        if not runs:
            raise UsageProblem(f"no run of this repository is known (looked in {self.path / 'runs'})")
        if wanted in (None, "latest"):
            return runs[-1]
        found = [run for run in runs if run.run == wanted] or [
            run for run in runs if run.run.startswith(wanted) or run.run.endswith(wanted)
        ]
        if len(found) != 1:
            known = ", ".join(run.run for run in (found or runs)[-8:])
            problem = "fits more than one run" if found else "is no run of this repository"
            raise UsageProblem(f"{wanted!r} {problem}: {known}")
        return found[0]


def _default_base(environ: Mapping[str, str]) -> Path:
    home = environ.get("XDG_STATE_HOME") or str(Path(environ.get("HOME", "/")) / ".local" / "state")
    return Path(home) / "orchestrate"
