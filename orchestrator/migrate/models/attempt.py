"""One attempt of a model at one file: its task, the worker's conversation, the verdict, the file's new status."""

import anyio

from orchestrator.domain.budget.accounts import Accounts
from orchestrator.domain.event import Event
from orchestrator.domain.event.migration import FileMoved
from orchestrator.domain.event.run import Noticed
from orchestrator.domain.event.work import AttemptStarted, LensVoted, TaskEnded, VerdictGiven
from orchestrator.domain.ids import CommitId, TaskId
from orchestrator.domain.judging.verdict import Verdict, VerdictKind
from orchestrator.domain.migration.files import FailureKind, FileRecord, FileStatus
from orchestrator.domain.run.state import TaskState
from orchestrator.domain.run.task import CAUSE_BY_EXIT, Attempt, EndCause, Exit, TaskStatus
from orchestrator.domain.text.listing import join_limited
from orchestrator.domain.text.money import format_exact_dollars
from orchestrator.engine.attempts import continue_attempt
from orchestrator.engine.context import RunContext
from orchestrator.engine.hook_points import apply_verdict_veto, find_attempt_veto, notify_verdict_given
from orchestrator.judge.reports.failure_signature import build_failure_signature
from orchestrator.migrate.models import file_tasks
from orchestrator.migrate.models.context import ModelPass, build_file_brief, choose_model_blob
from orchestrator.migrate.models.review import AttemptReview, AttemptReviewer
from orchestrator.migrate.sites.finder import count_remaining_sites
from orchestrator.migrate.steps.file_outcomes import FileProblem, restore_file
from orchestrator.ports.roles import Roles
from worktrees.object_store.trees import read_blobs
from worktrees.safety.path_rules import escape_path

_STRAYS = 8


class FileAttempt:
    """Takes one file through one attempt, from wherever an earlier process left it."""

    def __init__(self, context: RunContext, roles: Roles, at: ModelPass, file: FileRecord) -> None:
        self._context = context
        self._roles = roles
        self._at = at
        self._file = file
        self._begun_s = anyio.current_time()

    async def run_attempt(self) -> None:
        """Afterwards the file has a new status, with the reason if it failed.

        Raises:
            LimitReached, Paused, ProviderDown: no model can be asked now; the attempt goes on from there later.
        """
        task = file_tasks.find_open_file_task(self._context.state, self._at.step, self._file.path, self._at.attempt)
        if spent := self._explain_spent_budget(task):
            await self._context.journal.append(self._build_untried_move(spent))
            return
        task = task or await self._create_file_task()
        if task.attempt is None or task.verdict is not None:
            if not await self._start(task):
                return
        elif task.status == TaskStatus.RUNNING:
            await self._continue_attempt(task.spec.id)
        await self._judge(task.spec.id)

    def _explain_spent_budget(self, task: TaskState | None) -> str:
        """Return why nothing is to begin: the step's budget is spent.

        An attempt that has begun is ended by its next call.
        """
        if task is not None and task.status in {TaskStatus.RUNNING, TaskStatus.JUDGING} and task.verdict is None:
            return ""
        account = Accounts(self._context.state, self._context.config.budget).get_task_account(
            file_tasks.build_step_task_id(self._at.step)
        )
        limit, booked = account.limit, account.booked
        is_spent = (limit.usd and booked.cost_usd >= limit.usd) or (limit.tokens and booked.tokens >= limit.tokens)
        if is_spent:
            return f"the budget of step {self._at.step.id} is spent ({format_exact_dollars(booked.cost_usd)})"
        return ""

    async def _create_file_task(self) -> TaskState:
        state, step, path = self._context.state, self._at.step, self._file.path
        await self._context.journal.append(*file_tasks.build_file_task_events(state, self._at.recipe, step, path))
        return file_tasks.list_file_tasks(state, step, path)[-1]

    async def _start(self, task: TaskState) -> bool:
        """Begin the next attempt and carry it out; false if a hook refuses it, which ends the file's attempt."""
        attempt = Attempt(
            task=task.spec.id,
            number=len(task.attempts) + 1,
            mode="restart" if task.attempts else "fresh",
            base=self._at.start,
            model=self._roles.worker.get_model_name(None),
            start=await self._start_commit(),
            note=self._file.note,
        )
        beginning = AttemptStarted(task=task.spec.id, attempt=attempt, policy=self._context.policy.hash)
        if veto := await find_attempt_veto(self._context, task, beginning):
            reason = f"refused by a hook: {veto}"
            ended = TaskEnded(
                task=task.spec.id, status=TaskStatus.BLOCKED, reason=reason, cause=EndCause.REFUSED_BY_HOOK
            )
            await self._context.journal.append(ended, self._build_failed_move(reason, self._file.tried))
            return False
        await self._context.journal.append(beginning)
        await self._continue_attempt(task.spec.id)
        return True

    async def _start_commit(self) -> CommitId | None:
        """The pass's start with the file as the step is given it; None if it stands there so."""
        blob = await choose_model_blob(self._context.repository.git, self._at.step, self._file)
        if blob == self._file.branch_blob:
            return None
        message = f"{escape_path(self._file.path)} as step {self._at.step.id} is given it\n"
        changes = {self._file.path: (self._file.mode, blob)}
        return (await self._context.commit_changes(self._at.start, changes, message))[0]

    async def _continue_attempt(self, task: TaskId) -> None:
        brief = await build_file_brief(self._context, self._at, self._file, self._context.state.tasks[task])
        await continue_attempt(self._context, self._roles, task, brief)

    async def _judge(self, task: TaskId) -> None:
        """Weigh the result; verdict and the file's new status are recorded together."""
        state = self._context.state.tasks[task]
        reviewer = AttemptReviewer(self._context, self._roles, self._at, self._file)
        review = await reviewer.review_attempt(state)
        verdict = await apply_verdict_veto(self._context, task, _build_verdict(review, state))
        number = len(state.attempts)
        await self._context.journal.append(
            *(LensVoted(task=task, number=number, vote=vote) for vote in review.votes),
            VerdictGiven(task=task, number=number, verdict=verdict),
            *self._tell_strays(review),
            await self._build_move(state, review, verdict),
        )
        await notify_verdict_given(self._context, task)

    async def _build_move(self, state: TaskState, review: AttemptReview, verdict: Verdict) -> FileMoved:
        if verdict.kind != VerdictKind.MERGE:
            reason = "; ".join(verdict.reasons)
            if state.ends[-1].exit == Exit.OUT_OF_BUDGET:
                return self._build_untried_move(reason)
            return self._build_failed_move(
                reason, review.blob if review.blob != self._file.branch_blob else self._file.tried
            )
        left = await self._count_sites_left(review.blob or "")
        return self._create_move().model_copy(update={"blob": review.blob, "left": left})

    def _create_move(self) -> FileMoved:
        file, seconds = self._file, round(anyio.current_time() - self._begun_s, 3)
        status, at = FileStatus.TRANSFORMED, self._at
        return FileMoved(path=file.path, status=status, rung=at.rung, seconds=seconds, attempt=at.attempt)

    async def _count_sites_left(self, blob: str) -> int | None:
        scope = self._at.recipe.scope
        if not scope.site:
            return None
        by_regex = tuple(site for site in scope.site if site.engine == "regex")
        content = (await read_blobs(self._context.repository.git, [blob]))[blob]
        path = self._file.path
        return (await count_remaining_sites(scope.model_copy(update={"site": by_regex}), {path: content}))[path]

    def _build_failed_move(self, reason: str, tried: str | None) -> FileMoved:
        problem = FileProblem(FailureKind.ATTEMPT, reason, build_failure_signature(reason))
        return restore_file(self._create_move(), problem, tried)

    def _build_untried_move(self, why: str) -> FileMoved:
        """Nothing was made of the file, which says nothing about it: what it failed on before stays its reason."""
        if self._file.reason:
            why += f"; before: {self._file.reason}"
        signature, failure = self._file.signature or "the budget is spent", self._file.failure or FailureKind.ATTEMPT
        return self._build_failed_move(why, self._file.tried).model_copy(
            update={"signature": signature, "failure": failure}
        )

    def _tell_strays(self, review: AttemptReview) -> list[Event]:
        if not review.strays:
            return []
        strays = join_limited(review.strays, _STRAYS)
        text = f"the worker of {escape_path(self._file.path)} also changed {strays}; that was left out"
        return [Noticed(level="warning", text=text)]


def _build_verdict(review: AttemptReview, state: TaskState) -> Verdict:
    """No receipt speaks for it yet: the queue tests what may go there."""
    said = {"flags": review.flags, "findings": review.findings, "votes": review.votes}
    if not review.reasons:
        return Verdict(kind=VerdictKind.MERGE, **said)
    end = state.ends[-1].exit
    cause = CAUSE_BY_EXIT.get(end) or (EndCause.REFUSED_BY_REVIEW if review.votes else EndCause.RULE_BROKEN)
    return Verdict(kind=VerdictKind.RESTART, reasons=review.reasons, cause=cause, **said)
