"""What a page of a run does without when it would be too large: what can best be read elsewhere goes first."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

_REACHED = frozenset({"merged", "done"})
_ROWS, _LEAST_ROWS = 2_000, 200
_Report = dict[str, Any]


def iterate_smaller_reports(report: Mapping[str, Any]) -> Iterator[tuple[tuple[str, ...], _Report]]:
    """The report as it is, then with ever less in it, each with words for what is not in it any more.

    Each task has a key more, `is_told`: whether the page has a part for it.
    """
    run = report["run"]
    left_out: tuple[str, ...] = ()
    less = _each_task({**report}, lambda task: task | {"is_told": True})
    yield left_out, less
    steps: tuple[tuple[str, Callable[[_Report], _Report]], ...] = (
        (f"what was said at work that landed: orchestrate logs {run}", _without_talk_that_landed),
        (f"what was said, and how to run checks again: orchestrate logs {run}, orchestrate show {run}", _without_talk),
        (f"the parts of tasks that landed: orchestrate show {run} TASK", _without_tasks_that_landed),
        (f"all but {_ROWS:,} tasks and files: orchestrate status {run} --json", lambda r: _first(r, _ROWS)),
        (f"all but {_LEAST_ROWS} tasks and files", lambda r: _first(r, _LEAST_ROWS)),
    )
    for words, step in steps:
        less, left_out = step(less), (*left_out, words)
        yield left_out, less


def _each_task(report: _Report, change: Callable[[_Report], _Report]) -> _Report:
    return report | {"tasks_by_tree": [change(task) for task in report["tasks_by_tree"]]}


def _without_talk_that_landed(report: _Report) -> _Report:
    return _each_task(report, lambda task: task | {"said": []} if task["status"] in _REACHED else task)


def _without_talk(report: _Report) -> _Report:
    def remove_talk(task: _Report) -> _Report:
        return task | {"said": [], "receipts": [receipt | {"again": None} for receipt in task["receipts"]]}

    return _each_task(report, remove_talk)


def _without_tasks_that_landed(report: _Report) -> _Report:
    return _each_task(report, lambda task: task | {"is_told": task["status"] not in _REACHED})


def _first(report: _Report, most: int) -> _Report:
    """With so many rows; those of what did not land first."""
    tasks = sorted(report["tasks_by_tree"], key=lambda task: task["status"] in _REACHED)[:most]
    less = report | {"tasks_by_tree": tasks}
    if report["migration"]:
        files = sorted(report["migration"]["files"], key=lambda file: file["status"] == "merged")[:most]
        less["migration"] = report["migration"] | {"files": files}
    return less
