"""Directories of runs: their place on disk, their names, finding one, and the lock that says who works on it."""

import hashlib
import logging
import os
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from orchestrator.domain.ids import LATEST_RUN, RunId, find_named_runs, get_run_suffix, make_slug
from orchestrator.domain.text.lazy_pattern import compile_lazily
from orchestrator.domain.text.listing import add_lead
from orchestrator.domain.text.suggestions import suggest_names
from orchestrator.errors import EnvironmentProblem, UsageProblem
from orchestrator.journal.locations.run_lock import RunLock, hold_run_lock
from worktrees.errors import DirectoryNotPrivate
from worktrees.safety.path_rules import escape_path
from worktrees.safety.private_directory import secure_directory

if TYPE_CHECKING:
    from orchestrator.journal.inbox import Inbox


_LOG = logging.getLogger(__name__)
_RUN_SUFFIX, _RUN_SUFFIXES = compile_lazily(r"[0-9a-f]{4}"), 0x10000
INBOX_FOLDER = "inbox"
"""The folder of a run in which commands wait; there is none before the first."""
_SHOWN_RUNS = 8
"""At most so many ids of runs are listed where a name fits none, or several."""


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

    @property
    def inbox(self) -> "Inbox":
        """The place where people leave commands for the run."""
        from orchestrator.journal.inbox import Inbox  # the verbs that only read should not wait for it

        return Inbox(self.path / INBOX_FOLDER)

    @property
    def engine_log(self) -> Path:
        """The file with what a detached engine printed."""
        return self.path / "engine.log"

    def hold_lock(self) -> AbstractContextManager[RunLock]:
        """Hold the run for this process, see `hold_run_lock`.

        Raises:
            RunLocked: another process holds it and has given a sign of life within its lease.
            EnvironmentProblem: the state directory cannot be written.
        """
        return hold_run_lock(self.path, f"run {self.run}")


@dataclass(frozen=True)
class StateDirectory:
    """All that is kept for one repository, which is known where the directory was looked for by it."""

    path: Path
    repository: Path | None = None

    @classmethod
    def locate_for(
        cls, repository: Path, configured: str = "", environ: Mapping[str, str] = os.environ
    ) -> "StateDirectory":
        """Locate `<state>/<repository name>-<hash of its path>`.

        `configured` overrides `$XDG_STATE_HOME/orchestrate`.
        """
        base = _find_state_base(configured, environ)
        digest = hashlib.sha256(os.fsencode(repository.resolve())).hexdigest()[:8]
        return cls(base.resolve() / f"{make_slug(repository.name)}-{digest}", repository)

    @classmethod
    def open_for(
        cls, repository: Path, configured: str = "", environ: Mapping[str, str] = os.environ
    ) -> "StateDirectory":
        """Locate the state directory, which need not exist, and make sure that nobody else can enter or replace it.

        One that other users could read until now, as earlier versions made it, is closed, and that is logged.

        Raises:
            EnvironmentProblem: it is another user's, or others can write to it or change the way to it.
        """
        state = cls.locate_for(repository, configured, environ)
        try:
            was_open = secure_directory(_find_state_base(configured, environ).absolute() / state.path.name)
        except DirectoryNotPrivate as error:
            raise EnvironmentProblem(f"the state directory cannot be used: {error}") from error
        if was_open:
            place = escape_path(str(state.path))
            _LOG.warning("other users could read %s until now; it is closed to them (mode 0700)", place)
        return state

    @classmethod
    def list_all(cls, configured: str = "", environ: Mapping[str, str] = os.environ) -> "list[StateDirectory]":
        """Return the state directories of all repositories, by name; `configured` as in `locate_for`."""
        base = _find_state_base(configured, environ)
        return [cls(path.parent) for path in sorted(base.glob("*/runs"))]

    def build_run_directory(self, now: datetime) -> RunDirectory:
        """Return a directory for a new run; its id sorts by time, also within a second, and among all repositories."""
        second, first_free = f"{now:%Y%m%d-%H%M%S}-", 0
        for run in self.list_runs():
            suffix = run.run.removeprefix(second)
            if suffix != run.run and _RUN_SUFFIX.fullmatch(suffix):
                first_free = int(suffix, 16) + 1
        if first_free >= _RUN_SUFFIXES:
            return self.build_run_directory(now + timedelta(seconds=1))
        suffix_number = max(first_free, now.microsecond * _RUN_SUFFIXES // 1_000_000)
        return self.get_run(RunId(f"{second}{suffix_number:04x}"))

    def get_run(self, run: RunId) -> RunDirectory:
        """Return the directory of a run, whether or not it exists."""
        return RunDirectory(self.path / "runs" / run)

    def list_runs(self) -> list[RunDirectory]:
        """Return all runs, oldest first."""
        root = self.path / "runs"
        names = (
            sorted(entry.name for entry in root.iterdir() if (entry / "journal.db").exists()) if root.exists() else []
        )
        return [self.get_run(RunId(name)) for name in names]

    def find_run(self, wanted: str | None) -> RunDirectory:
        """Find the run that `wanted` means, by its id or its name, see `find_named`; the latest for `latest` or None.

        Raises:
            UsageProblem: there is none, or more than one.
        """
        runs = self.list_runs()
        if not runs:
            raise UsageProblem(
                f"no run of this repository is known (looked in {self.path / 'runs'}); "
                "begin one with orchestrate run or migrate run, or say where runs lie with --repo or --state"
                f"{self._has_moved()}"
            )
        if wanted in (None, LATEST_RUN):
            return runs[-1]
        found = self.find_named(wanted, runs)
        if len(found) == 1:
            return self.get_run(found[0])
        names = ", ".join((found or [run.run for run in runs])[-_SHOWN_RUNS:])
        if found:
            raise UsageProblem(f"{wanted!r} fits more than one run: {names}")
        known = [run.run for run in reversed(runs)]
        hint = add_lead("; ", suggest_names(wanted, [*map(get_run_suffix, known), *known]))
        raise UsageProblem(
            f"{wanted!r} is no run of this repository: {names}; a run is named by the beginning of its id or by "
            f"the part after its last hyphen, at least four characters, or by {LATEST_RUN}{self._has_moved()}{hint}"
        )

    def find_named(self, wanted: str, runs: "list[RunDirectory] | None" = None) -> list[RunId]:
        """Return the ids of the runs that a word means: by their ids, see `find_named_runs`, else by their names."""
        runs = self.list_runs() if runs is None else runs
        if found := find_named_runs(wanted, (run.run for run in runs)):
            return found
        from orchestrator.journal.locations.run_names import find_runs_called  # few have a name

        return [run.run for run in find_runs_called(wanted, runs)]

    def _has_moved(self) -> str:
        """Return the way on where the repository was elsewhere when its runs were begun."""
        from orchestrator.journal.locations.moved_repository import describe_moved_runs

        moved = describe_moved_runs(self.path, self.repository) if self.repository else ""
        return moved and f"; {moved}"


def find_pin_directory(configured: str = "", environ: Mapping[str, str] = os.environ) -> Path:
    """Return the directory of the pins of MCP servers, beside the state of all repositories; it need not exist."""
    return _find_state_base(configured, environ).absolute() / "mcp-pins"


def find_hosts_directory(environ: Mapping[str, str] = os.environ) -> Path:
    """Return the directory in which a host keeps what it has for the runs of others."""
    return _find_state_base("", environ) / "hosts"


def _find_state_base(configured: str, environ: Mapping[str, str]) -> Path:
    if configured:
        return Path(configured).expanduser()
    home = environ.get("XDG_STATE_HOME") or str(Path(environ.get("HOME", "/")) / ".local" / "state")
    return Path(home) / "orchestrate"
