"""Text about one thing that is made anew when what it is about has changed: tests, information, a file's record."""

from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from typing import Any

from anyio import to_thread
from textual.app import ComposeResult
from textual.containers import Vertical

from orchestrator.domain.check import Receipt
from orchestrator.domain.state import RunState
from orchestrator.errors import JournalProblem
from orchestrator.journal.reader import Reader
from orchestrator.journal.runs import RunDirectory
from orchestrator.report.checks_view import check_lines, checks_of
from orchestrator.report.migration_file import MoveLog, place_object, site_lines, where_lines, why_lines
from orchestrator.report.receipt import CheckLog
from orchestrator.report.task import evidence_lines, file_receipts, find_file, task_receipts
from orchestrator.report.whole import Whole
from orchestrator.tui.conversation import tolerant
from orchestrator.tui.moment import Moment
from orchestrator.tui.widgets.lines import Lines, Listed

Styled = tuple[str, str]


class TextPane(Vertical):
    """Lines that are replaced as a whole; the cursor stays on its line."""

    DEFAULT_CSS = "TextPane { height: 1fr; }"

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self._listed = Listed()
        self._known: object = None
        self._is_reading = False

    def compose(self) -> ComposeResult:
        """The lines."""
        yield Lines(self._listed, wrap=True)

    def put(self, lines: Iterable[Styled]) -> None:
        """Show these lines from now on."""
        new = [(part, style) for line, style in lines for part in line.split("\n")]
        if new != self._listed.lines:
            self._listed.lines = new
            self.query_one(Lines).altered(0)

    def made_of(self, known: object, read: Callable[[], Sequence[Styled]]) -> None:
        """Show what a thread reads, if what it rests on is another thing than before."""
        if known != self._known and not self._is_reading:
            self._known, self._is_reading = known, True
            self.run_worker(self._read(read), group="text")

    async def _read(self, read: Callable[[], Sequence[Styled]]) -> None:
        try:
            self.put(await to_thread.run_sync(read))
        except JournalProblem as problem:
            self.put([(str(problem), "bad")])
        finally:
            self._is_reading = False


def show_checks(pane: TextPane, moment: Moment, whole: Whole) -> None:
    """The checks of a task or a file, before and after its change."""
    receipts = tuple(_receipts(moment.state, whole))
    if not receipts:
        pane.put([("no check ran for it yet", "dim")])
        return
    part, directory = checks_of(moment.state, receipts), moment.directory

    def read() -> list[Styled]:
        log = CheckLog()
        _watch(directory, log)
        return list(check_lines(part, receipts, log, tolerant(directory)))

    pane.made_of(tuple(receipt.key for receipt in receipts), read)


def _receipts(state: RunState, whole: Whole) -> Sequence[Receipt]:
    if whole.path is not None and whole.path in state.files:
        return file_receipts(state, state.files[whole.path])
    task = state.tasks.get(whole.task) if whole.task else None
    return task_receipts(state, task) if task is not None else ()


def show_record(pane: TextPane, moment: Moment, path: str) -> None:
    """The record of a migration's file: the rungs it climbed, what failed and why, with what its sites are below."""
    state, directory = moment.state, moment.directory
    file = find_file(state, path)
    part = record_of(state, path)

    def read() -> list[Styled]:
        moves, log = MoveLog(path), CheckLog()
        _watch(directory, moves)
        _watch(directory, log)
        place = place_object(part, file, moves)
        evidence = evidence_lines(part, file, tolerant(directory), log)
        lines = (*where_lines(place), *why_lines(place), *evidence, "", *site_lines(place))
        return [(line, _style(line)) for line in lines]

    pane.made_of(file, read)


def record_of(state: RunState, path: str) -> RunState:
    """As much of a migration as one file's record needs: a copy that a thread may read."""
    file, shard = state.files[path], state.shard_of(path)
    ejections = [one for one in state.ejections if one.unit == path]
    return RunState(
        started=state.started,
        recipe=state.recipe,
        files={path: file},
        shards={shard.name: shard} if shard else {},
        ejections=ejections,
        receipts=dict(state.receipts),
        baseline=state.baseline,
    )


def _watch(directory: RunDirectory, log: Any) -> None:  # noqa: ANN401
    with closing(Reader.open_reader(directory.journal)) as reader:
        log.watch(reader.of_kinds(log.KINDS))


def _style(line: str) -> str:
    if line and not line.startswith(" "):
        return "title"
    return "bad" if line.startswith(("  reason:", "  signature:", "  fails", "  missing")) else ""
