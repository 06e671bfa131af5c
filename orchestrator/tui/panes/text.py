"""Text about one thing that is made anew when what it is about has changed: tests, information, a file's record."""

from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from typing import Any

from anyio import to_thread
from textual.app import ComposeResult
from textual.containers import Vertical

from orchestrator.domain.judging.check import Receipt
from orchestrator.domain.run.migration_state import MigrationState
from orchestrator.domain.run.state import RunState
from orchestrator.errors import JournalProblem
from orchestrator.journal.locations.run_directory import RunDirectory
from orchestrator.journal.storage.event_reader import EventReader
from orchestrator.report.migration.file_details import FileMoveLog, build_file_details
from orchestrator.report.migration.file_text import render_file_history, render_file_location, render_site_lines
from orchestrator.report.task.details import (
    get_file_record,
    list_file_receipts,
    list_task_receipts,
    render_ejection_evidence,
)
from orchestrator.report.task.receipt import CheckLog
from orchestrator.tui.rows.check_lines import copy_state_for_receipts, render_check_lines
from orchestrator.tui.rows.subject_details import ResolvedSubject
from orchestrator.tui.run_feed.conversation_reader import build_blob_reader
from orchestrator.tui.view_model import ViewModel
from orchestrator.tui.widgets.text_pager import LineList, TextPager

Styled = tuple[str, str]


class TextPane(Vertical):
    """Lines that are replaced as a whole; the cursor stays on its line."""

    DEFAULT_CSS = "TextPane { height: 1fr; }"

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self._listed = LineList()
        self._known: object = None
        self._is_reading = False

    def compose(self) -> ComposeResult:
        """Build the lines."""
        yield TextPager(self._listed, wrap=True)

    def show_lines(self, lines: Iterable[Styled]) -> None:
        """Show these lines from now on."""
        new = []
        for line, style in lines:
            for part in line.split("\n"):
                new.append((part, style))
        if new != self._listed.lines:
            self._listed.lines = new
            self.query_one(TextPager).invalidate_lines(0)

    def reload_if_changed(self, known: object, read: Callable[[], Sequence[Styled]]) -> None:
        """Show what a thread reads, if `sign` differs from the one before."""
        if known != self._known and not self._is_reading:
            self._known, self._is_reading = known, True
            self.run_worker(self._read(read), group="text")

    async def _read(self, read: Callable[[], Sequence[Styled]]) -> None:
        try:
            self.show_lines(await to_thread.run_sync(read))
        except JournalProblem as problem:
            self.show_lines([(str(problem), "bad")])
        finally:
            self._is_reading = False


def show_checks(pane: TextPane, view_model: ViewModel, whole: ResolvedSubject) -> None:
    """Show the checks of a task or a file, before and after its change."""
    receipts = tuple(_receipts(view_model.state, whole))
    if not receipts:
        pane.show_lines([("no check ran for it yet", "dim")])
        return
    part, directory = copy_state_for_receipts(view_model.state, receipts), view_model.directory

    def read_checks() -> list[Styled]:
        log = CheckLog()
        _watch(directory, log)
        return list(render_check_lines(part, receipts, log, build_blob_reader(directory)))

    pane.reload_if_changed(tuple(receipt.key for receipt in receipts), read_checks)


def _receipts(state: RunState, whole: ResolvedSubject) -> Sequence[Receipt]:
    if whole.path is not None and whole.path in state.migration.files:
        return list_file_receipts(state, state.migration.files[whole.path])
    task = whole.find_task(state)
    if task is not None:
        return list_task_receipts(state, task)
    return ()


def show_record(pane: TextPane, view_model: ViewModel, path: str) -> None:
    """Show a migration file's record: the rungs it climbed, its failures and reasons, and its sites below."""
    state, directory = view_model.state, view_model.directory
    file = get_file_record(state, path)
    part = copy_file_state(state, path)

    def read_record() -> list[Styled]:
        moves, log = FileMoveLog(path), CheckLog()
        _watch(directory, moves)
        _watch(directory, log)
        place = build_file_details(part, file, moves)
        evidence = render_ejection_evidence(part, file, build_blob_reader(directory), log)
        lines = (*render_file_location(place), *render_file_history(place), *evidence, "", *render_site_lines(place))
        return [(line, _style(line)) for line in lines]

    pane.reload_if_changed(file, read_record)


def copy_file_state(state: RunState, path: str) -> RunState:
    """Copy as much of a migration's state as one file's record needs, for a thread to read."""
    file, shard = state.migration.files[path], state.migration.find_shard_of_file(path)
    ejections = [ejection for ejection in state.ejections if ejection.unit == path]
    return RunState(
        started=state.started,
        migration=MigrationState(
            recipe=state.migration.recipe,
            files={path: file},
            shards={} if shard is None else {shard.name: shard},
        ),
        ejections=ejections,
        receipts=dict(state.receipts),
        baseline=state.baseline,
    )


def _watch(directory: RunDirectory, log: Any) -> None:  # noqa: ANN401
    with closing(EventReader.open_reader(directory.journal)) as reader:
        log.record_events(reader.read_kinds(log.KINDS))


def _style(line: str) -> str:
    if line and not line.startswith(" "):
        return "title"
    if line.startswith(("  reason:", "  signature:", "  fails", "  missing")):
        return "bad"
    return ""
