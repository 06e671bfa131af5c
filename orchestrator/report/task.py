"""What `show` prints of a task or of a file of a migration."""

from collections.abc import Callable, Iterator
from typing import Any

from orchestrator.domain.check import BESIDE_THE_GATE, CANARY, Receipt
from orchestrator.domain.excerpt import cap
from orchestrator.domain.ids import TaskId
from orchestrator.domain.migration import FileRecord
from orchestrator.domain.plain import one_line, strip_controls
from orchestrator.domain.state import RunState, TaskState
from orchestrator.domain.text import Text
from orchestrator.errors import UsageProblem

_OUTPUT_CHARS = 4_000
_SAID_CHARS = 8_000
ReadBlob = Callable[[str], bytes]


def find_task(state: RunState, name: str) -> TaskState:
    """The task of this id.

    Raises:
        UsageProblem: there is none; names those that exist.
    """
    if TaskId(name) not in state.tasks:
        raise UsageProblem(f"run {state.run.run} has no task {name!r}; its tasks: {', '.join(state.tasks)}")
    return state.tasks[TaskId(name)]


def find_file(state: RunState, path: str) -> FileRecord:
    """The file of this path in a migration.

    Raises:
        UsageProblem: the migration does not cover it.
    """
    if path not in state.files:
        raise UsageProblem(f"migration {state.run.run} does not cover {path!r}: it has {len(state.files)} files")
    return state.files[path]


def task_object(state: RunState, task: TaskState) -> dict[str, Any]:
    """The task with everything that happened to it, as data."""
    return {
        "schema": "orchestrate.task/1",
        "task": task.model_dump(mode="json"),
        "receipts": [receipt.model_dump(mode="json") for receipt in _receipts(state, task)],
        "attempted": [one.model_dump(mode="json") for one in state.attempted if one.task == task.spec.id],
        "spent": state.spent_by_task[task.spec.id].model_dump(mode="json")
        if task.spec.id in state.spent_by_task
        else None,
    }


def task_text(state: RunState, task: TaskState, read_blob: ReadBlob) -> Iterator[str]:
    """The same for a person: what was asked, each attempt with its verdict, each receipt with how to rerun it."""
    spec = task.spec
    yield f"{spec.id}  {task.status}  {one_line(spec.title, _SAID_CHARS)}"
    yield f"  {_said(spec.outcome)}"
    yield from (f"  - {_said(point)}" for point in spec.acceptance)
    if spec.grants:
        yield f"  may change tests and configuration: {strip_controls(', '.join(spec.grants))}"
    if task.reason:
        yield f"  ended: {_said(task.reason)}"
    for attempt in task.attempts:
        yield f"\nattempt {attempt.number} ({attempt.mode}) on {attempt.model}, base {attempt.base[:12]}"
        yield from _attempt_lines(task, attempt.number)
        yield from _overstep_lines(state, task, attempt.number)
    for receipt in _receipts(state, task):
        yield ""
        yield from receipt_lines(receipt, read_blob)


def _attempt_lines(task: TaskState, number: int) -> Iterator[str]:
    for end in task.ends:
        if end.number == number:
            said = end.handoff.summary if end.handoff else end.detail
            yield f"  {end.exit}: {_said(said)}"
    for candidate in task.candidates:
        if candidate.number == number:
            yield f"  candidate {candidate.commit[:12]} +{candidate.added} -{candidate.removed}: "
            yield from (f"    {one_line(path)}" for path in candidate.paths)
    for given in task.verdicts:
        if given.number == number:
            yield f"  verdict: {given.verdict.kind}"
            yield from (f"    {_said(reason)}" for reason in given.verdict.reasons)
            yield from (f"    flagged: {_said(flag)}" for flag in given.verdict.flags)
            yield from (f"    {vote.lens} ({vote.model}): {vote.decision}" for vote in given.verdict.votes)


def _said(text: str) -> str:
    """Somebody's words: bounded, and with every further line further in, so that none can pass for one of ours."""
    lines = strip_controls(cap(text, _SAID_CHARS).text).splitlines()
    return "\n        ".join(lines)


def _overstep_lines(state: RunState, task: TaskState, number: int) -> Iterator[str]:
    """What an attempt tried beyond its walls."""
    for one in state.attempted:
        if one.task == task.spec.id and one.attempt == number:
            yield f"  tried beyond its walls, {_BY[one.evidence]}: {one.kind}, turn {one.turn + 1}"
            yield f"    {_said(one.what)}"
            yield f"    → {_said(one.outcome)}"


_BY = {"words": "by its words", "refusal": "and was refused", "kernel": "as the kernel counted"}


def _receipts(state: RunState, task: TaskState) -> list[Receipt]:
    keys = [key for given in task.verdicts for key in given.verdict.receipts]
    keys += [key for ejection in task.ejections for key in ejection.receipts]
    return [state.receipts[key] for key in dict.fromkeys(keys)]


def receipt_lines(receipt: Receipt, read_blob: ReadBlob) -> Iterator[str]:
    """A receipt: what ran on which tree, what it gave, the end of what it printed, how to run it again."""
    counts = receipt.counts
    yield f"receipt {receipt.key}"
    yield f"  $ {receipt.command}"
    if how := BESIDE_THE_GATE.get(receipt.kind):
        yield f"  {how}"
    yield f"  {receipt.status}, exit {receipt.exit_code}, {receipt.seconds:.1f} s, tree {receipt.tree[:12]}"
    if receipt.argv:
        yield f"  the whole line has sha256 {receipt.argv[:12]}, its environment {receipt.environment[:12]}"
    if receipt.tests is not None:
        yield (f"  {counts.passed} passed, {counts.failed} failed, {counts.errors} errors, {counts.skipped} skipped")
    output = strip_controls(cap(_whole(receipt.output, read_blob), _OUTPUT_CHARS).text)
    yield from (f"  | {line}" for line in output.splitlines())
    if receipt.kind == CANARY:
        return  # the harness alone can run that again
    command = receipt.command.replace("{report}", "report.xml")
    files = f"export GIT_INDEX_FILE=$PWD/look.index; git read-tree {receipt.tree}; git checkout-index -a --prefix=look/"
    yield f"  again: ({files}) && (cd look && {command})"


def _whole(text: Text, read_blob: ReadBlob) -> str:
    return text.head if text.sha is None else read_blob(text.sha).decode("utf-8", "replace")


def file_object(state: RunState, file: FileRecord) -> dict[str, Any]:
    """A file of a migration, as data."""
    ejection = next((event for event in reversed(state.ejections) if event.unit == file.path), None)
    return {
        "schema": "orchestrate.file/1",
        "file": file.model_dump(mode="json"),
        "difference": ejection.difference.model_dump(mode="json") if ejection else None,
        "receipts": [state.receipts[key].model_dump(mode="json") for key in (ejection.receipts if ejection else ())],
    }


def file_text(state: RunState, file: FileRecord, read_blob: ReadBlob) -> Iterator[str]:
    """The same for a person."""
    yield f"{file.path}  {file.status}"
    if file.reason:
        yield f"  {strip_controls(file.reason)}"
    if file.signature:
        yield f"  signature: {strip_controls(file.signature)}"
    ejection = next((event for event in reversed(state.ejections) if event.unit == file.path), None)
    if ejection is None:
        return
    yield from (f"  fails: {test}" for test in ejection.difference.new_failures)
    yield from (f"  passes and fails on one tree: {test}" for test in ejection.difference.unsettled)
    yield from (f"  missing: {test}" for test in ejection.difference.missing_tests)
    for key in ejection.receipts:
        yield ""
        yield from receipt_lines(state.receipts[key], read_blob)
