"""Reports of the runs whose journals are kept in tests/data, and of others that lie somewhere."""

from pathlib import Path
from typing import Any

from orchestrator.cli.journal_reader import TolerantBlobs
from orchestrator.domain.run.state import RunState
from orchestrator.journal.locations.run_directory import RunDirectory
from orchestrator.journal.state.derivation import read_state
from orchestrator.journal.storage.event_store import EventStore
from orchestrator.report.documents.run_report import collect_run_report
from orchestrator.report.documents.run_report_model import RunReport
from tests.unit.journal.test_golden_journals import JOURNALS, restore

KEPT_RUNS = ("goal.v2", "migration.v1")


def kept_run(name: str, directory: Path) -> tuple[RunState, dict[str, Any]]:
    """A kept run as it stands, with its report."""
    restore(JOURNALS / f"{name}.jsonl", directory / "journal.db")
    return reported(RunDirectory(directory))


def reported(directory: RunDirectory) -> tuple[RunState, dict[str, Any]]:
    """A run as it stands, with its report."""
    state = read_state(directory.journal)
    store = EventStore.open_reader(directory.journal)
    try:
        report = collect_run_report(state, directory.journal, store.read_kinds, TolerantBlobs(directory).get)
        return state, report.as_object()
    finally:
        store.close()


def report_of(told: dict[str, Any]) -> RunReport:
    """The report that this object is of."""
    return RunReport.model_validate(told)
