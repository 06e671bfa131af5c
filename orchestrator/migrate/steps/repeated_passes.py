"""Further passes of a step over its own results, until they change no more or the step has used up its passes."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import zip_longest

from orchestrator.domain.event.migration import FileMoved
from orchestrator.domain.migration.files import FailureKind, FileStatus
from orchestrator.domain.recipe.step import TransformStep
from orchestrator.migrate.steps.file_outcomes import FileProblem, restore_file
from orchestrator.migrate.steps.step_executor import StepExecutor
from orchestrator.migrate.steps.step_io import StepInput
from worktrees.object_store.trees import read_blobs

NOT_IDEMPOTENT = "not idempotent"
NOT_SETTLED = "does not settle"
_LINE_CHARS = 80


async def repeat_until_settled(
    executor: StepExecutor, files: Sequence[StepInput], events: Sequence[FileMoved]
) -> list[FileMoved]:
    """Return the events after the last pass, in the same order.

    Files that a further pass still changes when the step has used up its passes, or to what they were before, are put
    back.

    Args:
        executor: has the step.
        files: what the step was given.
        events: what became of each in the first pass.
    """
    passes = _RepeatedPasses(executor, files, events)
    while given := passes.list_next_inputs():
        await passes.take_in(given, await executor.execute_step(given))
    return [passes.moves[event.path] for event in events]


class _RepeatedPasses:
    """What passes have made of files so far; `moves` has each file's event by path."""

    def __init__(self, executor: StepExecutor, files: Sequence[StepInput], events: Sequence[FileMoved]) -> None:
        self._executor = executor
        self._inputs = {file.path: file for file in files}
        self._contents = {file.path: [file.blob] for file in files}
        self._unsettled: set[str] = set()
        self._count = 1
        self.moves: dict[str, FileMoved] = {event.path: event for event in events}
        for event in events:
            if event.status == FileStatus.TRANSFORMED and event.blob not in (None, self._inputs[event.path].blob):
                self._add_content(event.path, event.blob or "")

    def list_next_inputs(self) -> list[StepInput]:
        """Return what the next pass is given; nothing if there is none."""
        if not self._unsettled or self._count >= self._step.pass_limit:
            return []
        given = []
        for path, file in self._inputs.items():
            is_beside = self._step.takes_together and self.moves[path].status != FileStatus.RESTORED
            if path in self._unsettled or is_beside:
                blob = self._contents[path][-1]
                given.append(replace(file, file=file.file.model_copy(update={"blob": blob}), blob=blob))
        return given

    async def take_in(self, given: Sequence[StepInput], events: Sequence[FileMoved]) -> None:
        """Take in what one more pass has made of files."""
        self._count += 1
        self._unsettled.clear()
        for file, event in zip(given, events, strict=True):
            seconds = round(self.moves[file.path].seconds + event.seconds, 3)
            if _is_settled(file, event):
                self.moves[file.path] = self.moves[file.path].model_copy(update={"seconds": seconds})
                continue
            self.moves[file.path] = event.model_copy(update={"seconds": seconds})
            if event.status != FileStatus.RESTORED:
                await self._take_in_change(file, event.blob or "")

    async def _take_in_change(self, file: StepInput, blob: str) -> None:
        earlier = self._contents[file.path]
        is_seen, is_last = blob in earlier, self._count >= self._step.pass_limit
        self._add_content(file.path, blob)
        if is_seen or is_last:
            self._unsettled.discard(file.path)
            move = self.moves[file.path]
            contents = await read_blobs(self._executor.context.repository.git, [file.blob, blob])
            problem = self._build_problem(contents, file.blob, blob, is_seen)
            self.moves[file.path] = restore_file(move, problem, tried=None if blob == earlier[0] else blob)

    def _add_content(self, path: str, blob: str) -> None:
        self._contents[path].append(blob)
        self._unsettled.add(path)

    def _build_problem(self, contents: Mapping[str, bytes], before: str, after: str, is_seen: bool) -> FileProblem:
        difference = describe_first_difference(contents[before], contents[after])
        if self._step.max_passes == 1:
            reason = f"step {self._step.id} is not idempotent: it changes its own result once more ({difference})"
            hint = "max_passes = 10 lets it run until it changes nothing"
            return FileProblem(FailureKind.REPEATS, f"{reason}; {hint}", NOT_IDEMPOTENT)
        ended = f"pass {self._count} of at most {self._step.max_passes} still changes the file"
        if is_seen:
            ended = f"pass {self._count} gives again what the file was before"
        return FileProblem(
            FailureKind.REPEATS, f"step {self._step.id} does not settle: {ended} ({difference})", NOT_SETTLED
        )

    @property
    def _step(self) -> TransformStep:
        return self._executor.run.step


def _is_settled(given: StepInput, event: FileMoved) -> bool:
    """Return True if a further pass has left the file as it was, also if its command then says there was no work."""
    if event.status == FileStatus.RESTORED:
        return event.failure == FailureKind.COMMAND and event.tried is None and bool(event.cache_key)
    return event.blob == given.blob


def describe_first_difference(before: bytes, after: bytes) -> str:
    """Return the first line in which two contents differ, in words."""
    old, new = _read_lines(before), _read_lines(after)
    for number, (was, now) in enumerate(zip_longest(old, new), start=1):
        if was != now:
            return f"line {number}: {_quote_line(was)} becomes {_quote_line(now)}"
    return "the ends of lines"


def _read_lines(content: bytes) -> list[str]:
    return content.decode("utf-8", "replace").splitlines()


def _quote_line(line: str | None) -> str:
    if line is None:
        return "nothing"
    text = line.strip() or line
    return repr(text if len(text) <= _LINE_CHARS else f"{text[:_LINE_CHARS]}…")
