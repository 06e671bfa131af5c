"""Sum up judging over runs: verdicts, causes, attempts, receipts and flaky tests."""

from collections import Counter
from dataclasses import dataclass, field

from orchestrator.domain.ids import RunId, TaskId
from orchestrator.domain.run.gate_runs import count_gate_runs
from orchestrator.domain.run.state import RunState, TaskState
from orchestrator.domain.run.task import TaskStatus
from orchestrator.report.judging.lens_accuracy import VoteLog, VoteOutcome
from orchestrator.report.judging.reruns import list_reruns


@dataclass
class JudgingTotals:
    """Sums over runs. `ends` counts leaf tasks by status and cause, `attempts` merged tasks by how many they took.

    `receipts` counts runs of checks, `whole_runs` those of all tests of the gate.
    `reused` counts how often a receipt that existed stood for a run of its check; `seconds` is what all runs took.
    `reruns` counts the runs of a check on a tree on which it had run before, `rerun_seconds` is what those took.
    """

    runs: list[RunId] = field(default_factory=list)
    kinds: Counter[str] = field(default_factory=Counter)
    causes: Counter[str] = field(default_factory=Counter)
    ends: Counter[tuple[str, str]] = field(default_factory=Counter)
    attempts: Counter[int] = field(default_factory=Counter)
    receipts: int = 0
    whole_runs: int = 0
    reused: int = 0
    seconds: float = 0.0
    reruns: int = 0
    rerun_seconds: float = 0.0
    flaky: Counter[str] = field(default_factory=Counter)
    vote_outcomes: list[VoteOutcome] = field(default_factory=list)

    @property
    def runs_per_landed_task(self) -> float | None:
        """The runs of checks of every kind for each merged task; None where none merged."""
        merged = self.attempts.total()
        if merged:
            return self.receipts / merged
        return None

    @property
    def whole_runs_per_landed_task(self) -> float | None:
        """The runs of the whole gate for each merged task; None where none merged."""
        merged = self.attempts.total()
        if merged:
            return self.whole_runs / merged
        return None

    @property
    def attempts_per_merged_task(self) -> float | None:
        """Attempts per merged task; None where none merged."""
        merged = self.attempts.total()
        if merged:
            return sum(number * count for number, count in self.attempts.items()) / merged
        return None

    def add_run(self, state: RunState, votes: VoteLog, top: TaskId | None = None) -> None:
        """Count a run, or of it only a task with all below it; `votes` has watched the same events."""

        def is_counted(task: TaskId) -> bool:
            return top is None or top in state.iterate_lineage(task)

        self.runs.append(state.run.run)
        keys: list[str] = []
        for name, task in state.tasks.items():
            if is_counted(name):
                self._add_task(task)
                for given in task.verdicts:
                    keys += given.verdict.receipts
        made, known = state.receipts, {*state.baseline}
        if top:
            made, known = {key: state.receipts[key] for key in keys}, set()
        else:
            self.reused += sum(trial.cached for trial in state.trials)  # trials that ran nothing
        self.reused += len(keys) - len({*keys} - known)
        own = {}
        for key, receipt in made.items():
            if receipt.origin is None:
                own[key] = receipt
        self.reused += len(made) - len(own)
        made = own
        self.receipts += len(made)
        self.whole_runs += count_gate_runs(state, made.values()).whole
        self.seconds += sum(receipt.seconds for receipt in made.values())
        reruns = list_reruns(made.values())
        self.reruns += len(reruns)
        self.rerun_seconds += sum(receipt.seconds for receipt in reruns)
        self.flaky.update(state.flaky)
        self.vote_outcomes.extend(votes.iterate_vote_outcomes(state, is_counted))

    def _add_task(self, task: TaskState) -> None:
        for given in task.verdicts:
            self.kinds[given.verdict.kind.value] += 1
            if given.verdict.cause:
                self.causes[given.verdict.cause.value] += 1
        if task.spec.kind == "leaf" and task.status.is_terminal:
            self.ends[task.status.value, task.cause.value if task.cause else ""] += 1
        if task.status == TaskStatus.MERGED:
            self.attempts[len(task.attempts)] += 1
