"""Judge what a worker made of a file by the rules for what models write; reviewers have the last word."""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace

from anyio import to_thread

from orchestrator.domain.ids import CommitId
from orchestrator.domain.judging.verdict import Finding, LensVote, RuleId
from orchestrator.domain.migration.files import FileRecord
from orchestrator.domain.purpose import Purpose
from orchestrator.domain.run.state import TaskState
from orchestrator.domain.run.task import Exit
from orchestrator.engine.context import RunContext
from orchestrator.engine.judging.attempt_verdict import collect_lens_votes, escape_finding
from orchestrator.engine.judging.candidate_changes import find_secret_leaks, read_candidate_changes
from orchestrator.hands.execution.workspace_runner import run_and_read
from orchestrator.judge.files.changed_file import find_path_protection
from orchestrator.judge.rules.change_facts import ChangeFacts
from orchestrator.judge.rules.registry import check_change
from orchestrator.judge.verdict.decision import VerdictEvidence
from orchestrator.migrate.models.context import ModelPass
from orchestrator.migrate.models.file_tasks import escape_glob
from orchestrator.migrate.steps import parse_check
from orchestrator.ports.hands import ShellCommand
from orchestrator.ports.roles import Roles
from worktrees.git import Git
from worktrees.object_store.trees import list_tree, read_blobs
from worktrees.safety.path_rules import escape_path

_PLAIN = frozenset({"100644", "100755"})


@dataclass(frozen=True)
class AttemptReview:
    """The result of an attempt: the file's new content, and why it cannot go to the queue (empty if it can).

    `findings` are what the rules saw, `strays` what the worker changed beside its file.
    """

    blob: str | None = None
    reasons: tuple[str, ...] = ()
    votes: tuple[LensVote, ...] = ()
    findings: tuple[Finding, ...] = ()
    strays: tuple[str, ...] = ()

    @property
    def flags(self) -> tuple[str, ...]:
        """Findings that decided nothing."""
        return tuple(finding.text for finding in self.findings if not finding.is_blocking)


class AttemptReviewer:
    """Judges one attempt at one file."""

    def __init__(self, context: RunContext, roles: Roles, at: ModelPass, file: FileRecord) -> None:
        self._context = context
        self._roles = roles
        self._at = at
        self._file = file

    @property
    def _git(self) -> Git:
        return self._context.repository.git

    async def review_attempt(self, task: TaskState) -> AttemptReview:
        """Return what the latest attempt of the file's task came to; the first reason against it ends the review."""
        end, candidate = task.ends[-1], task.candidate
        if candidate is None:
            return AttemptReview(reasons=(f"the attempt ended {end.exit}: {end.detail}",))
        strays = tuple(path for path in candidate.paths if path != escape_path(self._file.path))
        blob = await self._find_blob(candidate.commit)
        if end.exit != Exit.FINISHED:
            return AttemptReview(blob, (f"the attempt ended {end.exit}: {end.detail}",), strays=strays)
        if blob is None:
            return AttemptReview(None, ("the worker left no readable file",), strays=strays)
        if reason := self._explain_no_change(blob):
            return AttemptReview(blob, (reason,), strays=strays)
        alone = await self._commit_alone(blob)
        reasons, findings = await self._find_reasons(task, blob, alone)
        votes: tuple[LensVote, ...] = ()
        if not reasons:
            votes = await self._collect_votes(task, alone, findings)
        for vote in votes:
            if vote.decision != "approve":
                reasons += tuple(f"{vote.lens}: {reason}" for reason in vote.reasons)
        return AttemptReview(blob, reasons, votes, findings, strays)

    async def _find_blob(self, commit: CommitId) -> str | None:
        entries = await list_tree(self._git, commit, [self._file.path])
        oids = {entry.path: entry.oid for entry in entries if entry.mode in _PLAIN}
        return oids.get(self._file.path)

    def _explain_no_change(self, blob: str) -> str:
        if blob == self._file.branch_blob:
            return "the worker left the file as it was before anything was tried"
        if self._file.status.is_failed and blob == self._file.tried:
            return f"the worker left the file as it was when it failed: {self._file.reason}"
        return ""

    async def _commit_alone(self, blob: str) -> CommitId:
        """Return a commit of the start with nothing but this file changed."""
        changes, message = {self._file.path: (self._file.mode, blob)}, f"{escape_path(self._file.path)} alone\n"
        return (await self._context.commit_changes(self._at.start, changes, message))[0]

    async def _find_reasons(
        self, task: TaskState, blob: str, alone: CommitId
    ) -> tuple[tuple[str, ...], tuple[Finding, ...]]:
        """Return why the change cannot stand, and what the rules saw of it."""
        if self._at.step.must_parse and (error := await self._find_parse_error(blob, alone)):
            return (f"does not parse after step {self._at.step.id}: {error}",), ()
        findings = tuple(map(escape_finding, await self._check_rules(task, alone)))
        return tuple(finding.text for finding in findings if finding.is_blocking), findings

    async def _find_parse_error(self, blob: str, alone: CommitId) -> str:
        if self._file.path.endswith(parse_check.NODE_SUFFIXES):
            was_broken = await self._find_node_error(self._at.start)
            return "" if was_broken else await self._find_node_error(alone)
        contents = await read_blobs(self._git, [self._file.branch_blob, blob])
        before, after = contents[self._file.branch_blob], contents[blob]
        return await to_thread.run_sync(parse_check.find_parse_error, self._file.path, before, after)

    async def _find_node_error(self, commit: CommitId) -> str:
        command = ShellCommand(line=parse_check.build_node_check(shlex.quote(self._file.path)), timeout_s=60)
        async with self._context.lend_workspace(commit, Purpose(f"parse {self._at.step.id}")) as workspace:
            result, printed = await run_and_read(workspace, command)
        if result.is_success:
            return ""
        return parse_check.describe_node_error(printed)

    async def _check_rules(self, task: TaskState, alone: CommitId) -> Sequence[Finding]:
        git, start, path = self._git, self._at.start, self._file.path
        changes = await read_candidate_changes(git, start, alone)
        leaked = tuple(map(escape_path, await find_secret_leaks(git, self._context.journal.redactor, start, alone)))
        facts = ChangeFacts(
            *(changes.files, changes.lines, changes.hunks, changes.sizes, self._at.recipe.judge.grants),
            task=task.spec,
            leaks=leaked,
            rule_files=self._context.config.rules.files,
        )
        return await to_thread.run_sync(_check_file, facts, path)

    async def _collect_votes(self, task: TaskState, alone: CommitId, seen: Sequence[Finding]) -> tuple[LensVote, ...]:
        if self._at.recipe.judge.diff_review != "llm" or task.candidate is None:
            return ()
        findings = tuple(finding.model_copy(update={"rule": "noticed"}) for finding in seen)
        candidate = task.candidate.model_copy(update={"commit": alone})
        evidence = VerdictEvidence(exit=Exit.FINISHED, findings=findings)
        return await collect_lens_votes(self._context, self._roles, task, candidate, evidence)


def _check_file(facts: ChangeFacts, path: str) -> tuple[Finding, ...]:
    """Run the judge's rules. A test in scope may change, but may neither ask for less nor silence or forge anything.

    Blocks.
    """
    if find_path_protection(path) is None:
        return check_change(facts)
    without_grants = {RuleId.SUPPRESSION}
    if not facts.is_granted(path):
        without_grants.add(RuleId.FORGERY)
    return check_change(
        replace(facts, grants=(escape_glob(path),)), blocking={RuleId.WEAKENED}, without_grants=without_grants
    )
