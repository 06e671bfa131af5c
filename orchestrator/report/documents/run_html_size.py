"""Leave parts out of a run's page that would be too large: what can best be read elsewhere goes first."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from orchestrator.report.documents.report_parts import has_task_landed

_ROWS, _LEAST_ROWS = 2_000, 200
_Report = dict[str, Any]


def iterate_smaller_reports(report: Mapping[str, Any]) -> Iterator[tuple[tuple[str, ...], _Report]]:
    """Yield the report as it is, then with ever less in it, each with words for what has been left out.

    Each task has a key more, `is_shown`: True if the page has a part for it.
    """
    run = report["run"]
    left_out: tuple[str, ...] = ()
    less = _change_tasks({**report}, _show_task)
    yield left_out, less
    steps: tuple[tuple[str, Callable[[_Report], _Report]], ...] = (
        (f"what was said at work that landed: orchestrate logs {run}", _drop_talk_that_landed),
        (f"what was said, and how to run checks again: orchestrate logs {run}, orchestrate show {run}", _drop_talk),
        (f"the parts of tasks that landed: orchestrate show {run} TASK", _hide_landed_tasks),
        (f"all but {_ROWS:,} tasks and files: orchestrate status {run} --json", _keep_many_rows),
        (f"all but {_LEAST_ROWS} tasks and files", _keep_few_rows),
    )
    for words, step in steps:
        less, left_out = step(less), (*left_out, words)
        yield left_out, less


def _change_tasks(report: _Report, change: Callable[[_Report], _Report]) -> _Report:
    return report | {"tasks_by_tree": list(map(change, report["tasks_by_tree"]))}


def _show_task(task: _Report) -> _Report:
    return task | {"is_shown": True}


def _drop_talk_that_landed(report: _Report) -> _Report:
    def drop_landed_talk(task: _Report) -> _Report:
        if has_task_landed(task):
            return task | {"said": []}
        return task

    return _change_tasks(report, drop_landed_talk)


def _drop_talk(report: _Report) -> _Report:
    def drop_task_talk(task: _Report) -> _Report:
        receipts = [receipt | {"again": None} for receipt in task["receipts"]]
        return task | {"said": [], "receipts": receipts}

    return _change_tasks(report, drop_task_talk)


def _hide_landed_tasks(report: _Report) -> _Report:
    def hide_landed_task(task: _Report) -> _Report:
        return task | {"is_shown": not has_task_landed(task)}

    return _change_tasks(report, hide_landed_task)


def _keep_many_rows(report: _Report) -> _Report:
    return _keep_rows(report, _ROWS)


def _keep_few_rows(report: _Report) -> _Report:
    return _keep_rows(report, _LEAST_ROWS)


def _keep_rows(report: _Report, limit: int) -> _Report:
    """Return the report with at most `limit` tasks and files; those that did not land first."""
    less = report | {"tasks_by_tree": sorted(report["tasks_by_tree"], key=has_task_landed)[:limit]}
    if report["migration"]:
        files = sorted(report["migration"]["files"], key=_has_file_landed)
        less["migration"] = report["migration"] | {"files": files[:limit]}
    return less


def _has_file_landed(file: Mapping[str, Any]) -> bool:
    return bool(file["status"] == "merged")
