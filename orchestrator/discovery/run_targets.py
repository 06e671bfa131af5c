"""Find what the words `[RUN] [TASK]` of a command line mean: a run, or a part of the latest run."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from orchestrator.domain.ids import LATEST_RUN, get_run_suffix
from orchestrator.domain.run.state import RunState
from orchestrator.domain.text.suggestions import suggest_names
from orchestrator.errors import UsageProblem
from orchestrator.journal.locations.run_directory import RunDirectory, StateDirectory
from orchestrator.journal.state.derivation import derive_state
from orchestrator.journal.storage.event_reader import EventReader
from orchestrator.report.rows.question_targets import find_target_question


class RunTarget(NamedTuple):
    """A run of a repository, and the task, file or question of it that is meant; `name` is None for the whole run.

    `other_meaning` says what else the words could have meant; empty if nothing.
    """

    directory: RunDirectory
    repository: Path
    name: str | None
    other_meaning: str = ""


def find_run_target(repository: Path, runs: StateDirectory, run: str | None, name: str | None) -> RunTarget:
    """Return what the words `[RUN] [TASK]` mean. One word is a run, else a task, file or question of the latest run.

    `runs` are those of the repository.

    Raises:
        UsageProblem: there is nothing of that name, or more than one run.
    """
    if run is None or run == LATEST_RUN or name is not None:
        return RunTarget(runs.find_run(run), repository, name)
    listed = runs.list_runs()
    known = [directory.run for directory in listed]
    found = runs.find_named(run, listed)
    if not known or len(found) > 1:
        runs.find_run(run)  # raises
    latest = runs.get_run(known[-1])
    state = read_partial_state(latest)
    parts = list(list_part_names(state))
    is_part = run in parts or find_target_question(state, run) is not None
    if found:
        other = ""
        if is_part:
            other = f"{run} is a run; for what is called {run} in the latest run, write: {LATEST_RUN} {run}"
        return RunTarget(runs.get_run(found[0]), repository, None, other)
    if is_part:
        return RunTarget(latest, repository, run)
    hint = suggest_names(run, [*parts, *map(get_run_suffix, known), *known], "orchestrate status shows what there is")
    raise UsageProblem(
        f"no run and no task, file or question of the latest run ({latest.run}) is called {run!r}; {hint}"
    )


def read_partial_state(directory: RunDirectory) -> RunState:
    """Return the state of a run as far as its journal can be read."""
    with EventReader.open_reader(directory.journal) as reader:
        return derive_state(reader).state


def list_part_names(state: RunState) -> Iterator[str]:
    """Yield the names of a run's tasks, files and questions."""
    yield from state.tasks
    yield from state.migration.files
    yield from map(str, state.question_ids.values())
    yield from state.approvals
