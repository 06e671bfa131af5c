"""What a worker made of a file, held against the rules for what models write; reviewers have the last word."""

import shlex
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from anyio import to_thread

from orchestrator.domain.ids import CommitId, TreeId
from orchestrator.domain.judging.verdict import Finding, LensVote
from orchestrator.domain.migration.files import FileRecord
from orchestrator.domain.run.attempt import Exit
from orchestrator.domain.run.purpose import Purpose
from orchestrator.domain.run.state import TaskState
from orchestrator.engine.context import RunContext
from orchestrator.engine.judging.candidate_changes import CandidateChanges, read_candidate_changes
from orchestrator.engine.judging.lens_votes import collect_lens_votes
from orchestrator.engine.judging.secret_leaks import find_secret_leaks
from orchestrator.hands.execution.log_reader import read_log_ends
from orchestrator.hands.execution.workspace_runner import run_command
from orchestrator.judge.files.classification import count_reviewed_lines
from orchestrator.judge.files.path_protection import find_path_protection
from orchestrator.judge.rules.diff_summary import check_diff_summary
from orchestrator.judge.rules.forgery import check_forgery
from orchestrator.judge.rules.registry import check_change
from orchestrator.judge.rules.suppressions import check_suppressions
from orchestrator.judge.verdict.decision import VerdictEvidence
from orchestrator.migrate.models.context import ModelPass
from orchestrator.migrate.models.file_tasks import escape_glob
from orchestrator.migrate.steps.parse_check import NODE_SUFFIXES, build_node_check, find_parse_error
from orchestrator.ports.hands import ShellCommand
from orchestrator.ports.roles import Roles
from worktrees.git import Git
from worktrees.object_store.merge import commit_tree
from worktrees.object_store.trees import list_tree, overlay_tree, read_blobs
from worktrees.safety.path_rules import escape_path

_PLAIN = frozenset({"100644", "100755"})

ExtraCheck = Callable[[FileRecord, CommitId, CommitId], Awaitable[str]]
"""What else must hold of a change of one file, from one commit to the other: why it does not, or nothing."""


async def skip_extra_check(_file: FileRecord, _start: CommitId, _changed: CommitId) -> str:
    """Nothing else."""
    return ""


@dataclass(frozen=True)
class AttemptReview:
    """What became of an attempt: the file's new content, and why it cannot go to the queue (empty if it can).

    `findings` are what the rules saw, `strays` what the worker changed beside its file.
    """

    blob: str | None = None
    reasons: tuple[str, ...] = ()
    votes: tuple[LensVote, ...] = ()
    findings: tuple[Finding, ...] = ()
    strays: tuple[str, ...] = ()

    @property
    def flags(self) -> tuple[str, ...]:
        """What was noticed and decided nothing."""
        return tuple(finding.text for finding in self.findings if not finding.is_blocking)


class AttemptReviewer:
    """Weighs one attempt at one file."""

    def __init__(
        self, context: RunContext, roles: Roles, at: ModelPass, file: FileRecord, further: ExtraCheck = skip_extra_check
    ) -> None:
        self._context = context
        self._roles = roles
        self._at = at
        self._file = file
        self._further = further

    @property
    def _git(self) -> Git:
        return self._context.repository.git

    async def review_attempt(self, task: TaskState) -> AttemptReview:
        """What the latest attempt of the file's task came to; the first thing that speaks against it ends it."""
        end, candidate = task.ends[-1], task.candidate
        if candidate is None:
            return AttemptReview(reasons=(f"the attempt ended {end.exit}: {end.detail}",))
        strays = tuple(path for path in candidate.paths if path != escape_path(self._file.path))
        blob = await self._blob(candidate.commit)
        if end.exit != Exit.FINISHED:
            return AttemptReview(blob, (f"the attempt ended {end.exit}: {end.detail}",), strays=strays)
        if blob is None:
            return AttemptReview(None, ("the worker left no readable file",), strays=strays)
        if reason := self._is_no_news(blob):
            return AttemptReview(blob, (reason,), strays=strays)
        alone = await self._alone(blob)
        reasons, findings = await self._reasons(task, blob, alone)
        votes = () if reasons else await self._votes(task, alone, findings)
        vetoes = tuple(f"{vote.lens}: {why}" for vote in votes if vote.decision != "approve" for why in vote.reasons)
        return AttemptReview(blob, reasons or vetoes, votes, findings, strays)

    async def _blob(self, commit: CommitId) -> str | None:
        entries = await list_tree(self._git, commit, [self._file.path])
        return next((one.oid for one in entries if one.path == self._file.path and one.mode in _PLAIN), None)

    def _is_no_news(self, blob: str) -> str:
        if blob == self._file.branch_blob:
            return "the worker left the file as it was before anything was tried"
        if self._file.status.is_failed and blob == self._file.tried:
            return f"the worker left the file as it was when it failed: {self._file.reason}"
        return ""

    async def _alone(self, blob: str) -> CommitId:
        """The start with nothing but this file changed."""
        tree = await overlay_tree(self._git, await self._tree(), {self._file.path: (self._file.mode, blob)})
        message = f"{escape_path(self._file.path)} alone\n"
        return CommitId(await commit_tree(self._git, tree, [self._at.start], message, self._context.commit_date))

    async def _tree(self) -> TreeId:
        return await self._context.read_tree_id(self._at.start)

    async def _reasons(
        self, task: TaskState, blob: str, alone: CommitId
    ) -> tuple[tuple[str, ...], tuple[Finding, ...]]:
        """Why the change cannot stand, and what the rules saw of it."""
        if self._at.step.must_parse and (error := await self._parse_error(blob, alone)):
            return (f"does not parse after step {self._at.step.id}: {error}",), ()
        seen = await self._findings(task, alone)
        found = tuple(finding.model_copy(update={"text": escape_path(finding.text)}) for finding in seen)
        if reasons := tuple(finding.text for finding in found if finding.is_blocking):
            return reasons, found
        broken = await self._further(self._file, self._at.start, alone)
        return ((broken,) if broken else ()), found

    async def _parse_error(self, blob: str, alone: CommitId) -> str:
        if self._file.path.endswith(NODE_SUFFIXES):
            was_broken = await self._node_says(self._at.start)
            if was_broken:
                return ""
            return await self._node_says(alone)
        contents = await read_blobs(self._git, [self._file.branch_blob, blob])
        before, after = contents[self._file.branch_blob], contents[blob]
        return await to_thread.run_sync(find_parse_error, self._file.path, before, after)

    async def _node_says(self, commit: CommitId) -> str:
        workspace = await self._context.hands.open_workspace(commit, Purpose(f"parse {self._at.step.id}"))
        try:
            result = await run_command(
                workspace, ShellCommand(line=build_node_check(shlex.quote(self._file.path)), timeout_s=60)
            )
            if result.is_success:
                return ""
            lines = (await to_thread.run_sync(read_log_ends, result.log)).splitlines()
            return next((line for line in lines if "Error" in line), "node refuses it")
        finally:
            await workspace.close()

    async def _findings(self, task: TaskState, alone: CommitId) -> Sequence[Finding]:
        git, start, path = self._git, self._at.start, self._file.path
        changes = await read_candidate_changes(git, start, alone)
        leaked = tuple(map(escape_path, await find_secret_leaks(git, self._context.journal.redactor, start, alone)))
        counted, uncounted = count_reviewed_lines(changes.files, changes.sizes)
        plain = check_diff_summary(task.spec, (path,), counted, (), True, leaked=leaked, uncounted=uncounted)
        return (*plain, *await to_thread.run_sync(_examined, changes, path))

    async def _votes(self, task: TaskState, alone: CommitId, seen: Sequence[Finding]) -> tuple[LensVote, ...]:
        if self._at.recipe.judge.diff_review != "llm" or task.candidate is None:
            return ()
        findings = tuple(one.model_copy(update={"rule": "noticed"}) for one in seen)
        candidate = task.candidate.model_copy(update={"commit": alone})
        evidence = VerdictEvidence(exit=Exit.FINISHED, findings=findings)
        return await collect_lens_votes(self._context, self._roles, task, candidate, evidence)


def _examined(changes: CandidateChanges, path: str) -> tuple[Finding, ...]:
    """The judge's rules. A test in scope may change, and the ratchet holds all the same: it may not ask for less, nor
    silence or forge anything. Blocks.
    """
    if find_path_protection(path) is None:
        return check_change(changes.files, changes.lines, (), changes.hunks)
    found = check_change(changes.files, changes.lines, (escape_glob(path),), changes.hunks)
    strict = (one.model_copy(update={"is_blocking": True}) if one.rule == "weakened" else one for one in found)
    return (
        *strict,
        *check_suppressions(changes.files, _nothing_is_granted),
        *check_forgery(changes.files, _nothing_is_granted),
    )


def _nothing_is_granted(_path: str) -> bool:
    return False
