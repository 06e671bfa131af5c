"""Leave parts out of a run's page that would be too large: what can best be read elsewhere goes first."""

from collections.abc import Iterator
from dataclasses import dataclass
from operator import attrgetter

from orchestrator.domain.frozen_model import copy_with_changes
from orchestrator.domain.migration.files import FileStatus
from orchestrator.report.documents.run_report_model import ReportedTask, RunReport
from orchestrator.report.migration.full_report_model import ReportedFile

_ROWS, _LEAST_ROWS = 2_000, 200


@dataclass(frozen=True)
class PageContent:
    """A report as a page shows it. `left_out` says in words what it lacks.

    With `hides_landed` tasks that landed have a row, and no part of their own.
    """

    report: RunReport
    left_out: tuple[str, ...] = ()
    hides_landed: bool = False

    @property
    def shown_tasks(self) -> tuple[ReportedTask, ...]:
        """The tasks that have a part of their own."""
        return tuple(task for task in self.report.tasks_by_tree if not (self.hides_landed and task.has_landed))


def iterate_page_contents(report: RunReport) -> Iterator[PageContent]:
    """Yield the report as it is, then with ever less in it."""
    run, left_out = report.run, [f"what was said at work that landed: orchestrate logs {report.run}"]
    yield PageContent(report)
    report = _change_tasks(report, tuple(map(_drop_talk_that_landed, report.tasks_by_tree)))
    yield PageContent(report, tuple(left_out))
    report = _change_tasks(report, tuple(map(_drop_talk, report.tasks_by_tree)))
    left_out.append(f"what was said, and how to run checks again: orchestrate logs {run}, orchestrate show {run}")
    yield PageContent(report, tuple(left_out))
    left_out.append(f"the parts of tasks that landed: orchestrate show {run} TASK")
    yield PageContent(report, tuple(left_out), hides_landed=True)
    left_out.append(f"all but {_ROWS:,} tasks and files: orchestrate status {run} --json")
    yield PageContent(_keep_rows(report, _ROWS), tuple(left_out), hides_landed=True)
    left_out.append(f"all but {_LEAST_ROWS} tasks and files")
    yield PageContent(_keep_rows(report, _LEAST_ROWS), tuple(left_out), hides_landed=True)


def _change_tasks(report: RunReport, tasks: tuple[ReportedTask, ...]) -> RunReport:
    return copy_with_changes(report, tasks_by_tree=tasks)


def _drop_talk_that_landed(task: ReportedTask) -> ReportedTask:
    if task.has_landed:
        return copy_with_changes(task, said=())
    return task


def _drop_talk(task: ReportedTask) -> ReportedTask:
    receipts = tuple(copy_with_changes(receipt, again=None) for receipt in task.receipts)
    return copy_with_changes(task, said=(), receipts=receipts)


def _keep_rows(report: RunReport, limit: int) -> RunReport:
    """Return the report with at most `limit` tasks and files; those that did not land first."""
    migration = report.migration
    if migration:
        files = sorted(migration.files, key=_has_file_landed)[:limit]
        migration = copy_with_changes(migration, files=tuple(files))
    tasks = sorted(report.tasks_by_tree, key=attrgetter("has_landed"))[:limit]
    return copy_with_changes(report, tasks_by_tree=tuple(tasks), migration=migration)


def _has_file_landed(file: ReportedFile) -> bool:
    return file.status == FileStatus.MERGED
