"""The names that people gave runs, as they stand in the first events of journals."""

import json
import sqlite3
from collections.abc import Iterable
from contextlib import closing, suppress
from pathlib import Path

from orchestrator.domain.ids import RUN_SUFFIX_CHARS, find_named_runs
from orchestrator.domain.run_name import is_run_name
from orchestrator.errors import UsageProblem
from orchestrator.journal.locations.run_directory import RunDirectory, StateDirectory
from orchestrator.journal.storage.projection import build_reader_uri

_QUERY = "SELECT body FROM event WHERE seq = 1"


def read_run_name(journal: Path) -> str:
    """Return the name that a person gave the run of a journal; empty if none, or if it cannot be read. Blocks."""
    with (
        suppress(sqlite3.Error, ValueError, TypeError, KeyError),
        closing(sqlite3.connect(build_reader_uri(journal), uri=True)) as connection,
    ):
        row = connection.execute(_QUERY).fetchone()
        return str(json.loads(row[0])["name"])
    return ""


def find_runs_called(wanted: str, runs: Iterable[RunDirectory]) -> list[RunDirectory]:
    """Return the runs that have this name; if none has, those whose names begin with it. Blocks."""
    if not is_run_name(wanted):
        return []
    exact, begun = list[RunDirectory](), list[RunDirectory]()
    for run in runs:
        name = read_run_name(run.journal)
        if name == wanted:
            exact.append(run)
        elif len(wanted) >= RUN_SUFFIX_CHARS and name.startswith(wanted):
            begun.append(run)
    return exact or begun


def require_free_run_name(state: StateDirectory, name: str) -> None:
    """Raise if a run of the repository has a name already, or an id that it could mean. Blocks.

    Raises:
        UsageProblem: names the run.
    """
    runs = state.list_runs()
    for run in runs:
        if read_run_name(run.journal) == name:
            raise UsageProblem(f"the name {name!r} is taken by run {run.run} of this repository: give --id another")
    for run_id in find_named_runs(name, [run.run for run in runs]):
        raise UsageProblem(f"{name!r} already means run {run_id} of this repository: give --id another name")
