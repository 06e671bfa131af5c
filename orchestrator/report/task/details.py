"""Build and render what `show` prints of a task, or of a file of a migration."""

from collections.abc import Iterable, Iterator

from orchestrator.domain.budget.usage import Usage
from orchestrator.domain.event.landing import UnitEjected
from orchestrator.domain.ids import ROOT_TASK, TaskId, UnitId, build_landing_item, build_unit_id
from orchestrator.domain.judging.check import Difference, Receipt
from orchestrator.domain.judging.verdict import LensVote, Verdict
from orchestrator.domain.migration.files import FileRecord
from orchestrator.domain.run.approval import DECISION_WORDS
from orchestrator.domain.run.contract import IterationVerdict
from orchestrator.domain.run.grant import format_grants
from orchestrator.domain.run.state import RunState, TaskState
from orchestrator.domain.run.task import Clash, TaskStatus
from orchestrator.domain.sandbox.policy_violation import PolicyViolation
from orchestrator.domain.text.listing import add_lead, format_count, join_limited
from orchestrator.domain.text.sanitization import strip_controls, to_one_line
from orchestrator.domain.text.suggestions import suggest_names
from orchestrator.errors import UsageProblem
from orchestrator.report.hosts.attempts import AttemptHosts, build_attempt_hosts, describe_attempt_hosts
from orchestrator.report.judging.reruns import list_reruns
from orchestrator.report.log.event_descriptions import shorten_model_name
from orchestrator.report.read_model import Document, Omittable, ReadModel
from orchestrator.report.run.contract import build_contract, iterate_contract_receipts, render_iteration_lines
from orchestrator.report.run.left_lines import build_left_iterations, render_left_lines
from orchestrator.report.run.model import CriterionResult
from orchestrator.report.run.next_step import suggest_file_step, suggest_next_step, suggest_task_step
from orchestrator.report.run.outcome_sentence import describe_run_outcome, describe_task_outcome
from orchestrator.report.task.folded_receipts import render_folded_receipts
from orchestrator.report.task.receipt import (
    CheckLog,
    ReadBlob,
    build_rerun_command,
    find_difference,
    iterate_receipt_keys,
    quote_text,
    render_difference_lines,
    render_receipt_lines,
)
from orchestrator.report.task.verification_lines import render_verification_lines


class ReceiptDetails(Receipt, ReadModel):
    """A receipt with its `purpose`, its `difference` to the base, how to run it `again`, and the `host` that ran it.

    The host is empty for the machine that the engine ran on.
    The difference is None without tests on both sides, the command is None for canaries.
    """

    purpose: str
    difference: Difference | None
    again: str | None
    host: str = ""


class TaskDetails(Document, schema="orchestrate.task/1"):
    """The output of `show` for a task: everything that happened to it.

    Only the root has a `contract` and the verdicts on it (`iterations`). `hosts` has by attempt the machines on which
    it worked, in order; it is there only where hosts have joined the run.
    """

    task: TaskState
    contract: tuple[CriterionResult, ...]
    iterations: tuple[IterationVerdict, ...]
    receipts: tuple[ReceiptDetails, ...]
    attempted: tuple[PolicyViolation, ...]
    spent: Usage | None
    hosts: Omittable[tuple[AttemptHosts, ...]] = None


class FileEvidence(Document, schema="orchestrate.file/1"):
    """The output of `show` for a file of a migration, with the evidence of its last ejection."""

    file: FileRecord
    difference: Difference | None
    receipts: tuple[ReceiptDetails, ...]


_TITLE_CHARS = 8_000
_EVIDENCE_CHARS = 300
_SHOWN_NAMES = 10
_NOTHING = CheckLog()


def get_task(state: RunState, name: str) -> TaskState:
    """Return the task of this id.

    Raises:
        UsageProblem: there is none; names those that exist.
    """
    if TaskId(name) not in state.tasks:
        hint = suggest_names(name, state.tasks, f"its tasks: {join_limited(state.tasks, _SHOWN_NAMES) or 'none'}")
        raise UsageProblem(f"run {state.run.run} has no task {name!r}; {hint}")
    return state.tasks[TaskId(name)]


def get_file_record(state: RunState, path: str) -> FileRecord:
    """Return the file of this path in a migration.

    Raises:
        UsageProblem: the migration does not cover it.
    """
    if path not in state.migration.files:
        hint = suggest_names(path, state.migration.files, f"it has {len(state.migration.files)} files")
        raise UsageProblem(f"migration {state.run.run} does not cover {path!r}: {hint}")
    return state.migration.files[path]


def build_task_details(state: RunState, task: TaskState, log: CheckLog, read_blob: ReadBlob) -> TaskDetails:
    """Return the task with everything that happened to it."""
    name = task.spec.id
    is_root = name == ROOT_TASK
    return TaskDetails(
        task=task,
        contract=build_contract(state) if is_root else (),
        iterations=tuple(state.goal.iterations) if is_root else (),
        receipts=_build_receipts(state, list_task_receipts(state, task), log, read_blob),
        attempted=tuple(violation for violation in state.unapproved_violations if violation.task == name),
        spent=state.spend.by_task.get(name),
        hosts=build_attempt_hosts(state, task),
    )


def _build_receipts(
    state: RunState, receipts: Iterable[Receipt], log: CheckLog, read_blob: ReadBlob
) -> tuple[ReceiptDetails, ...]:
    return tuple(
        ReceiptDetails(
            **dict(receipt),
            purpose=log.purposes.get(receipt.key, ""),
            difference=find_difference(state, receipt, log, read_blob),
            again=build_rerun_command(receipt),
            host=state.hosts.find_check_host(receipt.key),
        )
        for receipt in receipts
    )


def render_task_details(
    state: RunState, task: TaskState, read_blob: ReadBlob, log: CheckLog = _NOTHING, *, is_folded: bool = False
) -> Iterator[str]:
    """Yield what decides about a task, its history, then its receipts; not `is_folded` each of them in full."""
    yield _render_title(task)
    yield from _render_decision(state, task, read_blob, log)
    yield ""
    yield from _render_history(state, task)
    receipts = list_task_receipts(state, task)
    if is_folded:
        yield from render_folded_receipts(state, receipts, _list_decisive_keys(state, task), log, read_blob)
        return
    for receipt in receipts:
        yield ""
        yield from render_receipt_lines(receipt, state, log, read_blob)


def _render_decision(state: RunState, task: TaskState, read_blob: ReadBlob, log: CheckLog) -> Iterator[str]:
    """Yield the outcome in a sentence, what can be done next, the reasons, and the tests that fail."""
    if task.spec.id == ROOT_TASK:
        sentence, step = describe_run_outcome(state), suggest_next_step(state)
    else:
        sentence, step = describe_task_outcome(task), suggest_task_step(state, task)
    yield strip_controls(sentence)
    if step:
        yield f"next: {strip_controls(step)}"
    if task.status.is_reached:
        return
    reasons: tuple[str, ...] = ()
    if task.verdict and task.status != TaskStatus.DISCARDED:
        reasons = task.verdict.verdict.reasons
    for reason in reasons or filter(None, (task.reason,)):
        yield f"  {quote_text(reason)}"
    for key in reversed(_list_decisive_keys(state, task)):
        difference = find_difference(state, state.receipts[key], log, read_blob)
        if difference is not None and not difference.is_green:
            yield from render_difference_lines(difference)
            return


def _list_decisive_keys(state: RunState, task: TaskState) -> list[str]:
    """Return the receipts for which a task did not land, or criteria of the contract are not met; else none."""
    if task.spec.id == ROOT_TASK:
        findings = state.goal.iterations[-1].findings if state.goal.iterations else ()
        return [finding.receipt for finding in findings if finding.receipt and not finding.met]
    if task.status.is_reached:
        return []
    keys = list(task.verdict.verdict.receipts) if task.verdict else []
    if task.ejection is not None:
        keys += task.ejection.receipts
    return keys


def render_task_history(state: RunState, task: TaskState) -> Iterator[str]:
    """Yield the goal of a task, and each attempt with its verdict and reasons."""
    yield _render_title(task)
    yield from _render_history(state, task)


def _render_title(task: TaskState) -> str:
    return f"{task.spec.id}  {task.status.word}  {to_one_line(task.spec.title, _TITLE_CHARS)}"


def _render_history(state: RunState, task: TaskState) -> Iterator[str]:
    spec = task.spec
    yield f"  {quote_text(spec.outcome)}"
    for point in spec.acceptance:
        yield f"  - {quote_text(point)}"
    if spec.grants:
        yield f"  may change tests and configuration: {strip_controls(format_grants(spec.grants))}"
    if task.reason:
        yield f"  ended{add_lead(', ', task.cause)}: {quote_text(task.reason)}"
    yield from render_verification_lines(task.verification)
    for attempt in task.attempts:
        model = shorten_model_name(attempt.model)
        where = describe_attempt_hosts(state, build_unit_id(spec.id, attempt.number))
        yield f"\nattempt {attempt.number} ({attempt.mode}) on {model}, base {attempt.base[:12]}{where}"
        if attempt.clash is not None:
            yield f"  {_describe_clash(attempt.clash)}"
        yield from _render_attempt_lines(state, task, attempt.number)
        yield from _render_answer_lines(state, build_unit_id(spec.id, attempt.number))
        yield from _render_violation_lines(state, task, attempt.number)
    if spec.id == ROOT_TASK:
        left = render_left_lines(state.run.run, build_left_iterations(state))
        for line in (*render_iteration_lines(state), *left):
            yield f"  {line}"


def _describe_clash(clash: Clash) -> str:
    """Return what an attempt brings together: the task's own work, and what landed meanwhile."""
    landed = join_limited(map(to_one_line, clash.landed), _SHOWN_NAMES) or "commits of people"
    where = join_limited(map(to_one_line, clash.conflict), _SHOWN_NAMES) or "tests that are red together"
    return f"goes on from {clash.candidate[:12]}, which clashed with what landed ({landed}): {where}"


def _render_attempt_lines(state: RunState, task: TaskState, number: int) -> Iterator[str]:
    for end in task.ends:
        if end.number == number:
            yield f"  {end.exit}: {quote_text(end.handoff.summary if end.handoff else end.detail)}"
    for candidate in task.candidates:
        if candidate.number == number:
            yield f"  candidate {candidate.commit[:12]} +{candidate.added} -{candidate.removed}: "
            for path in candidate.paths:
                yield f"    {to_one_line(path)}"
    for given in task.verdicts:
        if given.number == number:
            yield from _render_verdict_lines(state, given.verdict)


def _render_answer_lines(state: RunState, unit: UnitId) -> Iterator[str]:
    """Yield what a person said of the landing of an attempt, with each comment on a line."""
    answer = state.approvals.get(build_landing_item(unit))
    if answer is None or answer.decision is None:
        return
    reason = add_lead(": ", quote_text(answer.reason)) if answer.reason else ""
    yield f"  {answer.id}: {DECISION_WORDS[answer.decision]} by {to_one_line(answer.by)}{reason}"
    for comment in answer.comments:
        yield f"    {to_one_line(comment.path)}:{comment.line}: {quote_text(comment.text)}"


def _render_verdict_lines(state: RunState, verdict: Verdict) -> Iterator[str]:
    yield f"  verdict: {verdict.kind}{add_lead(' (', verdict.cause, ')')}"
    for reason in verdict.reasons:
        yield f"    {quote_text(reason)}"
    for flag in verdict.flags:
        yield f"    flagged: {quote_text(flag)}"
    for vote in verdict.votes:
        yield from _render_vote_lines(vote)
    reruns = list_reruns(state.receipts[key] for key in verdict.receipts if key in state.receipts)
    if reruns:
        seconds = sum(receipt.seconds for receipt in reruns)
        yield f"    tests in doubt cost {format_count(len(reruns), 'further run')} of this tree ({seconds:.1f} s)"
    for key in verdict.receipts:
        yield f"    rests on receipt {key}"


def _render_vote_lines(vote: LensVote) -> Iterator[str]:
    """Yield a reviewer's decision and its findings, each with its evidence."""
    yield f"    {vote.lens} ({shorten_model_name(vote.model)}): {vote.decision}"
    for reason in vote.reasons:
        yield f"      {quote_text(reason)}"
    for finding in vote.findings:
        evidence = to_one_line(", ".join(finding.evidence), _EVIDENCE_CHARS) or "no evidence"
        yield f"      {'✓' if finding.met else '✗'} {to_one_line(finding.id)}: {evidence}"


def _render_violation_lines(state: RunState, task: TaskState, number: int) -> Iterator[str]:
    """Yield what an attempt tried outside its sandbox."""
    for one in state.unapproved_violations:
        if one.task == task.spec.id and one.attempt == number:
            yield f"  tried beyond its walls, {_BY[one.evidence]}: {one.kind}, turn {one.turn + 1}"
            yield f"    {quote_text(one.what)}"
            yield f"    → {quote_text(one.outcome)}"


_BY = {"words": "by its words", "refusal": "and was refused", "kernel": "as the kernel counted"}


def list_task_receipts(state: RunState, task: TaskState) -> list[Receipt]:
    """Return the receipts that verdicts on a task and its ejections rest on, in order."""
    keys = list(iterate_receipt_keys(task))
    if task.spec.id == ROOT_TASK:
        keys += iterate_contract_receipts(state)
    return [state.receipts[key] for key in dict.fromkeys(keys)]


def list_file_receipts(state: RunState, file: FileRecord) -> list[Receipt]:
    """Return the receipts for which a file of a migration was ejected."""
    ejection = _find_last_ejection(state, file)
    if ejection:
        return [state.receipts[key] for key in ejection.receipts]
    return []


def build_file_evidence(state: RunState, file: FileRecord, log: CheckLog, read_blob: ReadBlob) -> FileEvidence:
    """Return a file of a migration, and why it was ejected."""
    ejection = _find_last_ejection(state, file)
    return FileEvidence(
        file=file,
        difference=ejection.difference if ejection else None,
        receipts=_build_receipts(state, list_file_receipts(state, file), log, read_blob),
    )


def _find_last_ejection(state: RunState, file: FileRecord) -> UnitEjected | None:
    """Return the newest ejection of a file; None if the queue never refused it."""
    return next((event for event in reversed(state.ejections) if event.unit == file.path), None)


def render_file_evidence(
    state: RunState, file: FileRecord, read_blob: ReadBlob, log: CheckLog = _NOTHING
) -> Iterator[str]:
    """Yield a file, what can be done next, its reason and the evidence of its ejection."""
    yield f"{file.path}  {file.status.word}"
    if step := suggest_file_step(state, file):
        yield f"next: {strip_controls(step)}"
    if file.reason:
        yield f"  {strip_controls(file.reason)}"
    if file.signature:
        yield f"  signature: {strip_controls(file.signature)}"
    yield from render_ejection_evidence(state, file, read_blob, log)


def render_ejection_evidence(
    state: RunState, file: FileRecord, read_blob: ReadBlob, log: CheckLog = _NOTHING
) -> Iterator[str]:
    """Yield the tests for which a file was ejected, and the receipts that show it."""
    ejection = _find_last_ejection(state, file)
    if ejection is None:
        return
    yield from (f"  fails: {test}" for test in ejection.difference.new_failures)
    yield from (f"  passes and fails on one tree: {test}" for test in ejection.difference.unsettled)
    yield from (f"  missing: {test}" for test in ejection.difference.missing_tests)
    for key in ejection.receipts:
        yield ""
        yield from render_receipt_lines(state.receipts[key], state, log, read_blob)
