"""Derive the summary of a run from its journal, where no engine has left one that is current.

Only what is derived loads the events and the fold of journals: a list of runs whose engines left summaries does not.
"""

import json
from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime

from orchestrator.domain.commands.definitions import Configure
from orchestrator.domain.event.run import RunStarted
from orchestrator.domain.run_labels import find_labels, merge_labels
from orchestrator.journal.locations.run_directory import RunDirectory
from orchestrator.journal.state.derivation import read_state
from orchestrator.journal.storage.event_store import read_all_events
from orchestrator.journal.storage.projection import StoredProjection
from orchestrator.report.runs.model import RunSummary
from orchestrator.report.runs.summary import build_run_summary, build_summary_of_status


def derive_summary(directory: RunDirectory, status: StoredProjection | None) -> RunSummary:
    """Return the summary of a run: of the status that an older version stored, if it is given, else of the fold.

    Raises:
        JournalProblem: the journal cannot be read.
    """
    if status is not None:
        with suppress(KeyError, TypeError, ValueError):
            summary = _convert_status(directory, json.loads(status.body), status.at)
            if summary is not None:
                return summary
    return build_run_summary(read_state(directory.journal))


def _convert_status(directory: RunDirectory, status: Mapping[str, object], at: datetime) -> RunSummary | None:
    first = next(iter(read_all_events(directory.journal)), None)
    if first is None or not isinstance(first.event, RunStarted):
        return None
    return build_summary_of_status(first.event, status, at)


def add_untaken_labels(directory: RunDirectory, summary: RunSummary) -> RunSummary:
    """Return the summary with the labels that wait in the run's inbox for its next engine."""
    changes = [summary.labels]
    for _, sent in directory.inbox.iterate_commands():
        if isinstance(sent.command, Configure):
            changes.append(find_labels(sent.command.settings))
    return summary.model_copy(update={"labels": merge_labels(changes)}) if len(changes) > 1 else summary
