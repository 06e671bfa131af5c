"""Digests of reports: they fit whatever the number of reports, and hold first what needs a look."""

import re

import pytest

from orchestrator.domain.ids import ROOT_TASK, TaskId
from orchestrator.domain.run.task import Handoff, Task, TaskStatus
from orchestrator.ports.roles import TaskReport
from roles.brief_text import format_judge_report, format_planner_report
from roles.report_digest import ReportForm, format_report_digest

FORM = ReportForm(format_judge_report, claims_label="claims", hint="Read the rest.")


def report(name: str, status: TaskStatus = TaskStatus.MERGED, **fields: object) -> TaskReport:
    depth = name.count("/") + 1
    parent = TaskId(name.rpartition("/")[0]) or ROOT_TASK
    kind = "branch" if status == TaskStatus.DONE else "leaf"
    task = Task(id=TaskId(name), parent=parent, depth=depth, kind=kind, title=f"Title of {name}", outcome="x " * 500)
    return TaskReport.model_validate({"task": task, "status": status, **fields})


def build_many(count: int) -> list[TaskReport]:
    """A slice with half of the tasks, and half of them beside it; every fifth needs a look."""
    reports = [report("storage", TaskStatus.DONE, handoff=Handoff(summary="s " * 900))]
    for number in range(count):
        name = f"storage/t{number}" if number % 2 else f"t{number}"
        if number % 5:
            reports.append(report(name, handoff=Handoff(summary="m " * 900)))
        else:
            reports.append(report(name, TaskStatus.REJECTED, reason="r " * 900, verdicts=("v " * 100,) * 20))
    return reports


@pytest.mark.parametrize("count", [1, 40, 1_000])
@pytest.mark.parametrize("limit", [0, 100, 1_333, 20_000, 170_000])
def test_a_digest_fits_and_every_mark_in_it_is_closed(count: int, limit: int) -> None:
    for form in (FORM, ReportForm(format_planner_report, claims_label="report")):
        text = format_report_digest(build_many(count), limit, form)
        assert len(text) <= limit
        opened, closed = re.findall(r"^<([a-z]+-\w+)>$", text, re.M), re.findall(r"^</([a-z]+-\w+)>$", text, re.M)
        assert opened == closed


def test_reports_that_fit_stand_there_whole() -> None:
    reports = build_many(4)
    whole = "\n\n".join(map(format_judge_report, reports))
    assert format_report_digest(reports, len(whole), FORM) == whole


def test_slices_come_first_then_what_needs_a_look_then_a_line_for_each_other_task() -> None:
    open_end = Handoff(summary="half", remaining=("the index is not there yet",))
    reports = [
        report("storage", TaskStatus.DONE, handoff=Handoff(summary="the storage stands")),
        *(report(f"storage/t{number}") for number in range(30)),
        report("storage/again", attempts=3, verdicts=("attempt 1: revise, 1 receipts", "  no header")),
        report("storage/open", handoff=open_end),
        report("lost", TaskStatus.REJECTED, reason="nobody could do it"),
    ]
    text = format_report_digest(reports, 12_000, FORM)
    places = [
        text.index(words)
        for words in (
            "34 tasks: 32 merged, 1 done, 1 rejected. This is a digest. Read the rest.",
            "storage (Title of storage): done; below it 32 tasks: 32 merged",
            "directly below root: 1 task: 1 rejected",
            "storage: the storage stands",
            "nobody could do it",
            "the index is not there yet",
            "  no header",
            "storage/t29: merged (Title of storage/t29): x x",
        )
    ]
    assert places == sorted(places)


def test_what_has_no_room_is_counted() -> None:
    text = format_report_digest(build_many(3_000), 4_000, FORM)
    assert re.search(r"and [\d,]+ more tasks$", text)
