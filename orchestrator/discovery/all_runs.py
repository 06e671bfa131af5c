"""Read the runs of all repositories of a user in short, from what their engines derived last."""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from datetime import datetime
from pathlib import Path

from orchestrator.domain.commands.definitions import Configure
from orchestrator.domain.event.run import RunStarted
from orchestrator.domain.run_labels import find_labels, merge_labels
from orchestrator.errors import JournalProblem
from orchestrator.journal.locations.run_directory import INBOX_FOLDER, RunDirectory, StateDirectory
from orchestrator.journal.locations.run_lock import find_lock_owner
from orchestrator.journal.state.derivation import read_state
from orchestrator.journal.storage.event_store import read_all_events
from orchestrator.journal.storage.projection import StoredProjection, read_projection
from orchestrator.report.run.condition import RunCondition
from orchestrator.report.run.result import STATUS_PROJECTION
from orchestrator.report.runs.model import RunEntry, RunSummary
from orchestrator.report.runs.summary import SUMMARY_PROJECTION, build_run_summary, build_summary_of_status

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
        self._known: dict[Path, tuple[_JournalMark, RunEntry]] = {}

    def read_entries(self) -> list[RunEntry]:
        """Return all runs in short, the latest first. Blocks."""
        entries, known = list[RunEntry](), dict[Path, tuple[_JournalMark, RunEntry]]()
        for directory in list_all_runs(self._states()):
            mark = _read_mark(directory)
            before = self._known.get(directory.path)
            entry = before[1] if before and before[0] == mark and not before[1].is_live else read_entry(directory)
            known[directory.path] = mark, entry
            entries.append(entry)
        self._known = known
        return entries


_JournalMark = tuple[int, ...]


def _read_mark(directory: RunDirectory) -> _JournalMark:
    """Return the times and sizes of a run's journal and of the log beside it."""
    mark = list[int]()
    for path in (directory.journal, directory.journal.with_name(f"{directory.journal.name}-wal")):
        with suppress(OSError):
            found = path.stat()
            mark += [found.st_mtime_ns, found.st_size]
    return tuple(mark)


def read_entry(directory: RunDirectory) -> RunEntry:
    """Return a run in short. Blocks; a journal is only folded where no engine has left a summary that is current."""
    is_live = find_lock_owner(directory.path) is not None
    place, summary = str(directory.path), None
    try:
        summary = _read_stored_summary(directory, is_live=is_live) or build_run_summary(read_state(directory.journal))
    except (JournalProblem, OSError, ValueError) as error:
        return RunEntry(run=directory.run, place=place, is_live=is_live, word=_UNREADABLE, problem=str(error))
    if summary.outcome in _OPEN:
        summary = _add_untaken_labels(directory, summary)
    word = summary.word
    if word == RunCondition.RUNNING and not is_live:
        word = RunCondition.STOPPED.value
    return RunEntry(run=directory.run, place=place, is_live=is_live, word=word, summary=summary)


def _add_untaken_labels(directory: RunDirectory, summary: RunSummary) -> RunSummary:
    """Return the summary with the labels that wait in the run's inbox for its next engine."""
    if not (directory.path / INBOX_FOLDER).exists():
        return summary
    changes = [summary.labels]
    for _, sent in directory.inbox.iterate_commands():
        if isinstance(sent.command, Configure):
            changes.append(find_labels(sent.command.settings))
    return summary.model_copy(update={"labels": merge_labels(changes)}) if len(changes) > 1 else summary


def _read_stored_summary(directory: RunDirectory, *, is_live: bool) -> RunSummary | None:
    """Return the summary that an engine stored, or make it of the status that an older version stored."""
    stored = read_projection(directory.journal, SUMMARY_PROJECTION)
    if stored is not None and _is_fresh(stored, is_live=is_live):
        with suppress(ValueError):  # another version wrote it
            return RunSummary.model_validate_json(stored.body)
    stored = read_projection(directory.journal, STATUS_PROJECTION)
    if stored is None or not _is_fresh(stored, is_live=is_live):
        return None
    with suppress(KeyError, TypeError, ValueError):
        return _convert_status(directory, json.loads(stored.body), stored.at)
    return None


def _convert_status(directory: RunDirectory, status: Mapping[str, object], at: datetime) -> RunSummary | None:
    first = next(iter(read_all_events(directory.journal)), None)
    if first is None or not isinstance(first.event, RunStarted):
        return None
    return build_summary_of_status(first.event, status, at)


def _is_fresh(stored: StoredProjection, *, is_live: bool) -> bool:
    return stored.is_current or (is_live and stored.age_s < _FRESH_S)
