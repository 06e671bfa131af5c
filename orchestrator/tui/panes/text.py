"""Text about one thing that is made anew when what it is about has changed: tests, information, a file's record."""

from collections.abc import Callable, Iterable, Iterator, Sequence

from anyio import to_thread
from textual.app import ComposeResult
from textual.containers import Vertical

from orchestrator.domain.judging.check import Difference, Receipt, ReceiptStatus
from orchestrator.domain.run.migration_state import MigrationState
from orchestrator.domain.run.state import RunState
from orchestrator.domain.text.sanitization import to_one_line
from orchestrator.errors import JournalProblem
from orchestrator.report.migration.file_details import (
    FileMoveLog,
    build_file_details,
    render_file_history,
    render_file_location,
    render_site_lines,
)
from orchestrator.report.task import details
from orchestrator.report.task.receipt import CheckLog, ReadBlob, find_difference, render_receipt_lines
from orchestrator.tui.rows.subject_details import ResolvedSubject, Styled
from orchestrator.tui.run_feed.conversation_reader import build_blob_reader, read_kinds_into
from orchestrator.tui.view_model import ViewModel
from orchestrator.tui.widgets.text_pager import LineList, TextPager


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
        new = [(part, style) for line, style in lines for part in line.split("\n")]
        if new != self._listed.lines:
            self._listed.lines = new
            self.query_one(TextPager).invalidate_lines(0)

    def move_to_first_line(self) -> None:
        """Move to the beginning of the lines."""
        self.query_one(TextPager).move_to(0)

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
        read_kinds_into(log, directory)
        return list(render_check_lines(part, receipts, log, build_blob_reader(directory)))

    pane.reload_if_changed(tuple(receipt.key for receipt in receipts), read_checks)


def _receipts(state: RunState, whole: ResolvedSubject) -> Sequence[Receipt]:
    if whole.path is not None and whole.path in state.migration.files:
        return details.list_file_receipts(state, state.migration.files[whole.path])
    task = whole.find_task(state)
    return details.list_task_receipts(state, task) if task else ()


def show_record(pane: TextPane, view_model: ViewModel, path: str) -> None:
    """Show a migration file's record: the rungs it climbed, its failures and reasons, and its sites below."""
    state, directory = view_model.state, view_model.directory
    file = details.get_file_record(state, path)
    part = copy_file_state(state, path)

    def read_record() -> list[Styled]:
        moves, log = FileMoveLog(path), CheckLog()
        read_kinds_into(moves, directory)
        read_kinds_into(log, directory)
        place = build_file_details(part, file, moves)
        evidence = details.render_ejection_evidence(part, file, build_blob_reader(directory), log)
        lines = (*render_file_location(place), *render_file_history(place), *evidence, "", *render_site_lines(place))
        return [(line, _get_record_style(line)) for line in lines]

    pane.reload_if_changed(file, read_record)


def copy_file_state(state: RunState, path: str) -> RunState:
    """Copy as much of a migration's state as one file's record needs, for a thread to read."""
    file, shard = state.migration.files[path], state.migration.find_shard_of_file(path)
    ejections = [ejection for ejection in state.ejections if ejection.unit == path]
    shards = {} if shard is None else {shard.name: shard}
    migration = MigrationState(recipe=state.migration.recipe, files={path: file}, shards=shards)
    part = RunState(started=state.started, migration=migration, ejections=ejections, baseline=state.baseline)
    part.receipts |= state.receipts
    part.hosts = state.hosts.copy_for_checks(state.receipts)
    return part


def copy_state_for_receipts(state: RunState, receipts: Sequence[Receipt]) -> RunState:
    """Copy as much of a run's state as its receipts need, for a thread to read."""
    baseline = {key: state.receipts[key] for key in state.baseline if key in state.receipts}
    found = baseline | {receipt.key: receipt for receipt in receipts}
    hosts = state.hosts.copy_for_checks(found)
    return RunState(started=state.started, receipts=found, baseline=tuple(baseline), hosts=hosts)


def render_check_lines(
    state: RunState, receipts: Sequence[Receipt], log: CheckLog, read_blob: ReadBlob
) -> Iterator[Styled]:
    """Yield a line of counts before and after for each receipt, then each with its output; red ones come first."""
    is_green = {one.key: not is_red(one, find_difference(state, one, log, read_blob)) for one in receipts}
    receipts = sorted(receipts, key=lambda receipt: is_green[receipt.key])
    baseline = state.get_baseline_receipts()
    for receipt in receipts:
        purpose = to_one_line(log.purposes.get(receipt.key, "")) or receipt.check
        counts = _format_counts(receipt)
        before = baseline.get(receipt.check)
        if before is not None and before.key != receipt.key:
            counts = f"before {_format_counts(before)}, now {counts}"
        word, style = ("green", "good") if is_green[receipt.key] else ("red", "bad")
        yield f"{word:5}  {counts}  {purpose}", style
    for receipt in receipts:
        yield "", ""
        for line in render_receipt_lines(receipt, state, log, read_blob):
            yield line, _get_check_style(line, not is_green[receipt.key])


def is_red(receipt: Receipt, difference: Difference | None) -> bool:
    """Return True if a check lost something against the base; without a base, if it failed at all."""
    if difference is not None:
        return not difference.is_green
    return receipt.status != ReceiptStatus.COMPLETED or receipt.exit_code != 0


def _format_counts(receipt: Receipt) -> str:
    counts = receipt.counts
    if receipt.tests is None:
        return receipt.ending_text
    return f"{counts.passed} passed {counts.failed + counts.errors} failed"


def _get_check_style(line: str, is_red: bool) -> str:
    if line.startswith("receipt "):
        return "title"
    if line.startswith(("  fails now", "  missing", "  problem")):
        return "bad"
    if line.startswith("  |") and not is_red:
        return "dim"
    return ""


def _get_record_style(line: str) -> str:
    if line and not line.startswith(" "):
        return "title"
    return "bad" * line.startswith(("  reason:", "  signature:", "  fails", "  missing"))
