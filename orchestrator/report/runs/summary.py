"""Build the summary of a run, which its engine keeps for lists of many runs."""

from collections.abc import Mapping
from datetime import datetime

from orchestrator.domain.event.run import RunStarted
from orchestrator.domain.migration.files import FileStatus
from orchestrator.domain.run.state import RunState
from orchestrator.domain.run.task import TaskStatus
from orchestrator.domain.run_labels import find_labels, get_run_labels, merge_labels
from orchestrator.domain.text.sanitization import to_one_line
from orchestrator.report.cost.model import ShortAmount
from orchestrator.report.run.condition import describe_condition
from orchestrator.report.runs.model import AskedQuestion, RunSummary

_GOAL_CHARS = 200
_QUESTIONS = 20
"""So many of a run's questions are named; the rest is counted."""


def render_summary_json(state: RunState) -> str:
    """Return the summary of a run as JSON."""
    return build_run_summary(state).model_dump_json()


def build_run_summary(state: RunState) -> RunSummary:
    """Return a run in short."""
    run, waiting = state.run, state.pending_approvals
    if run.mode == "migration":
        files = state.migration.files.values()
        landed, total = sum(file.status == FileStatus.MERGED for file in files), len(files)
    else:
        statuses = [task.status for task in state.tasks.values() if task.is_counted]
        landed, total = statuses.count(TaskStatus.MERGED), len(statuses)
    return RunSummary(
        **{**build_start_fields(run), "labels": get_run_labels(state)},
        last_at=state.last_at or run.started_at,
        outcome=state.ended.outcome if state.ended else "paused" if state.paused else "running",
        word=describe_condition(state).word,
        cost=ShortAmount.model_validate(state.spend.total, from_attributes=True),
        done=landed,
        total=total,
        questions=tuple(AskedQuestion(id=str(one.id), title=one.approval.title) for one in waiting[:_QUESTIONS]),
        questions_open=len(waiting),
    )


def build_start_fields(run: RunStarted) -> Mapping[str, object]:
    """Return the fields of a summary that a run's first event holds."""
    return {
        "run": run.run,
        "mode": run.mode,
        "goal": to_one_line(run.goal, _GOAL_CHARS),
        "repository": run.repository,
        "pr_branch": run.branch,
        "started_at": run.started_at,
        "labels": merge_labels([find_labels(run.settings)]),
        "name": run.name,
    }


def build_summary_of_status(run: RunStarted, status: Mapping[str, object], last_at: datetime) -> RunSummary:
    """Return the summary of a run whose engine, an older version, kept only its status.

    Raises:
        KeyError, TypeError, ValueError: the status has not the fields that every version wrote.
    """
    return RunSummary.model_validate({**build_start_fields(run), **_select_status_fields(status), "last_at": last_at})


def _select_status_fields(status: Mapping[str, object]) -> Mapping[str, object]:
    tasks, files, condition, names = status["tasks"], status["files"], status["condition"], status["questions"]
    if not isinstance(tasks, dict) or not isinstance(files, dict) or not isinstance(condition, dict):
        raise TypeError("tasks, files or the condition of a status are no tables")
    if not isinstance(names, list):
        raise TypeError("the questions of a status are no list")
    done, total = tasks[TaskStatus.MERGED], sum(tasks.values())
    if status["mode"] == "migration":
        done, total = len(files["landed"]), files["in_scope"]
    return {
        "outcome": status["outcome"],
        "word": condition["word"],
        "cost": status["spent"],
        "done": done,
        "total": total,
        "questions": [{"id": name, "title": ""} for name in names[:_QUESTIONS]],
        "questions_open": len(names),
    }
