"""Find the runs that a retrospective reads, and read their judged decisions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from orchestrator.domain.ids import RunId
from orchestrator.domain.run.state import RunState
from orchestrator.errors import JournalProblem, UsageProblem
from orchestrator.journal.locations.run_directory import RunDirectory, StateDirectory
from orchestrator.journal.session_reader import JournalSessionReader
from orchestrator.journal.state.derivation import apply_read_event
from orchestrator.retro.decisions import JudgedDecision
from orchestrator.retro.run_reading import read_decisions

DEFAULT_RUNS = 10


@dataclass
class JudgedRuns:
    """The decisions of several runs, and which runs could not be read, with the reason."""

    runs: list[RunId] = field(default_factory=list)
    unread: list[str] = field(default_factory=list)
    decisions: list[JudgedDecision] = field(default_factory=list)


def choose_runs(state: StateDirectory, wanted: Sequence[str], count: int) -> Sequence[RunDirectory]:
    """Return the runs of these names, or the latest `count` without names, oldest first. Blocks.

    Raises:
        UsageProblem: there is no run, or none of a name.
    """
    if not wanted:
        runs = state.list_runs()[-count:]
        if not runs:
            state.find_run(None)  # raises
        return runs
    found: dict[RunId, RunDirectory] = {}
    for name in wanted:
        directory = state.find_run(name)
        found[directory.run] = directory
    return [found[run] for run in sorted(found)]


def read_judged_runs(directories: Sequence[RunDirectory], names: Mapping[str, str]) -> JudgedRuns:
    """Read runs one after the other; `names` are the known prompts by their sha. Blocks.

    Raises:
        UsageProblem: none of them has begun.
        JournalProblem: none of them can be read.
    """
    judged, problem = JudgedRuns(), None
    for directory in directories:
        try:
            _read_run(judged, directory, names)
        except JournalProblem as damage:
            problem = damage
            judged.unread.append(f"run {directory.run}: {damage}")
    if not judged.runs:
        raise problem or UsageProblem("no run has come to its first event: there is nothing to learn from")
    return judged


def _read_run(judged: JudgedRuns, directory: RunDirectory, names: Mapping[str, str]) -> None:
    reader = JournalSessionReader(directory)
    state = RunState()
    for recorded in reader.events:
        apply_read_event(reader.journal, state, recorded)
    if state.started is None:
        judged.unread.append(f"run {directory.run}: it stopped before its first event")
        return
    judged.decisions += read_decisions(state, reader.events, names)
    judged.runs.append(directory.run)
