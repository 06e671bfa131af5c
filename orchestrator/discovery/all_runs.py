"""Read the runs of all repositories of a user in short, from what their engines derived last."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

from orchestrator.errors import JournalProblem
from orchestrator.journal.locations.run_directory import INBOX_FOLDER, RunDirectory, StateDirectory
from orchestrator.journal.locations.run_lock import find_lock_owner
from orchestrator.journal.storage.projection import StoredProjection, read_projection
from orchestrator.report.projection_names import STATUS_PROJECTION, SUMMARY_PROJECTION
from orchestrator.report.run.condition import RunCondition
from orchestrator.report.runs.model import RunEntry, RunSummary

_UNREADABLE = "cannot be read"
_OPEN = frozenset({"running", "paused"})
"""The outcomes of runs that have not ended."""
_FRESH_S = 30.0
"""So old may a summary be that a living engine derived: it does so every few seconds."""


def list_all_runs(states: list[StateDirectory]) -> list[RunDirectory]:
    """Return the runs of these state directories, the latest first; their ids sort by time."""
    runs = [run for state in states for run in state.list_runs()]
    return sorted(runs, key=lambda run: run.run, reverse=True)


def iterate_entries(runs: list[RunDirectory]) -> Iterator[RunEntry]:
    """Yield each run in short; one that cannot be read with the reason. Blocks."""
    for directory in runs:
        yield read_entry(directory)


class RunListReader:
    """Reads the runs of state directories again and again; a run of which nothing has changed is not read again."""

    def __init__(self, states: Callable[[], list[StateDirectory]]) -> None:
        """`states` returns the state directories that there are by then."""
        self._states = states
        self._known: dict[Path, tuple[_RunMark, RunEntry]] = {}

    def read_first_entries(self, count: int) -> tuple[list[RunEntry], int]:
        """Return the latest runs in short, at most so many, and how many runs there are. Blocks."""
        runs = list_all_runs(self._states())
        return [self._read_changed(directory) for directory in runs[:count]], len(runs)

    def read_entries(self) -> list[RunEntry]:
        """Return all runs in short, the latest first. Blocks."""
        runs = list_all_runs(self._states())
        entries = [self._read_changed(directory) for directory in runs]
        paths = {directory.path for directory in runs}
        for gone in self._known.keys() - paths:
            del self._known[gone]
        return entries

    def _read_changed(self, directory: RunDirectory) -> RunEntry:
        """Return a run in short; as it was read before, if nothing of it has changed."""
        mark, before = _read_mark(directory), self._known.get(directory.path)
        if before is not None and before[0] == mark and not before[1].is_live:
            return before[1]
        entry = read_entry(directory)
        self._known[directory.path] = mark, entry
        return entry


_RunMark = tuple[int, ...]


def _read_mark(directory: RunDirectory) -> _RunMark:
    """Return the times and sizes of a run's journal, of the log beside it, and of its inbox."""
    journal, mark = directory.journal, list[int]()
    for path in (journal, journal.with_name(f"{journal.name}-wal"), directory.path / INBOX_FOLDER):
        with suppress(OSError):
            found = path.stat()
            mark += [found.st_mtime_ns, found.st_size]
    return tuple(mark)


def read_entry(directory: RunDirectory) -> RunEntry:
    """Return a run in short. Blocks; a journal is only folded where no engine has left a summary that is current."""
    is_live = find_lock_owner(directory.path) is not None
    place, summary = str(directory.path), None
    try:
        summary = _add_untaken_labels(directory, _read_summary(directory, is_live=is_live))
    except (JournalProblem, OSError, ValueError) as error:
        return RunEntry(run=directory.run, place=place, is_live=is_live, word=_UNREADABLE, problem=str(error))
    word = summary.word
    if word == RunCondition.RUNNING and not is_live:
        word = RunCondition.STOPPED.value
    return RunEntry(run=directory.run, place=place, is_live=is_live, word=word, summary=summary)


def _read_summary(directory: RunDirectory, *, is_live: bool) -> RunSummary:
    """Return the summary that an engine stored, or derive it."""
    stored = read_projection(directory.journal, SUMMARY_PROJECTION)
    if stored is not None and _is_fresh(stored, is_live=is_live):
        with suppress(ValueError):  # another version wrote it
            return RunSummary.model_validate_json(stored.body)
    stored = read_projection(directory.journal, STATUS_PROJECTION)
    if stored is not None and not _is_fresh(stored, is_live=is_live):
        stored = None
    from orchestrator.discovery.derived_summaries import derive_summary  # it loads the events and their fold

    return derive_summary(directory, stored)


def _add_untaken_labels(directory: RunDirectory, summary: RunSummary) -> RunSummary:
    """Return the summary of a run that has not ended with the labels that wait for its next engine."""
    if summary.outcome not in _OPEN or not (directory.path / INBOX_FOLDER).exists():
        return summary
    from orchestrator.discovery.derived_summaries import add_untaken_labels  # it loads the models of commands

    return add_untaken_labels(directory, summary)


def _is_fresh(stored: StoredProjection, *, is_live: bool) -> bool:
    return stored.is_current or (is_live and stored.age_s < _FRESH_S)
