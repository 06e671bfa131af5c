"""Read which repository a run works on, for verbs that are used outside of it."""

from pathlib import Path

from orchestrator.domain.event.run import RepositoryMoved, RunStarted
from orchestrator.errors import UsageProblem
from orchestrator.journal.locations.run_directory import RunDirectory
from orchestrator.journal.storage.event_reader import EventReader

_KINDS = ("run.started", "run.moved")


def read_run_repository(directory: RunDirectory) -> Path:
    """Return the path at which a run last knew its repository, whether or not it is still there. Blocks.

    Raises:
        UsageProblem: the run stopped before its first event.
        JournalProblem: its journal cannot be read.
    """
    found = ""
    with EventReader.open_reader(directory.journal) as reader:
        for recorded in reader.read_kinds(_KINDS):
            if isinstance(recorded.event, RunStarted | RepositoryMoved):
                found = recorded.event.repository
    if not found:
        raise UsageProblem(f"run {directory.run} stopped before its first event: there is nothing to see or to do")
    return Path(found)
