"""Reading a run's journal for the verbs that only read."""

from collections.abc import Iterator
from contextlib import contextmanager

from orchestrator.domain.fold import fold
from orchestrator.domain.state import RunState
from orchestrator.errors import UsageProblem
from orchestrator.journal.runs import RunDirectory
from orchestrator.journal.store import Store


@contextmanager
def opened(directory: RunDirectory) -> Iterator[Store]:
    """A run's journal, read-only."""
    store = Store.open_reader(directory.journal)
    try:
        yield store
    finally:
        store.close()


def read_state(directory: RunDirectory) -> RunState:
    """The run as its journal has it now.

    Raises:
        UsageProblem: it stopped before its first event.
    """
    with opened(directory) as store:
        return started(directory, fold(store.read()))


def started(directory: RunDirectory, state: RunState) -> RunState:
    """The state, if the run has one.

    Raises:
        UsageProblem: it stopped before its first event.
    """
    if state.started is None:
        raise UsageProblem(f"run {directory.run} stopped before its first event: there is nothing to see")
    return state
