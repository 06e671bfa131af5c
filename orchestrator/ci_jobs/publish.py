"""The second of two jobs: it may write, has no model's key, and publishes what the first one asked for."""

import json
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from anyio import to_thread

from orchestrator.ci.handover import RequestedPullRequest
from orchestrator.ci.job_outputs import JobResult, PublishedDocument
from orchestrator.ci_jobs.handover import DeliveredRun, limit_remote_wait, list_opened_requests, receive_handover
from orchestrator.config.layers import merge_settings
from orchestrator.domain.run.state import RunState
from orchestrator.domain.text.lazy_pattern import compile_lazily
from orchestrator.domain.text.sanitization import sanitize_markdown, to_one_line
from orchestrator.engine.pull_request.description import format_cost_section
from orchestrator.engine.pull_request.left_tips import is_left_tip
from orchestrator.errors import EnvironmentProblem, OrchestrateError, PersonNeeded, UsageProblem
from orchestrator.forge.factory import open_forge, open_forge_repository
from orchestrator.forge.markers import build_marker
from orchestrator.ports.forge import OpenedPullRequest, PullRequest
from orchestrator.project.options import Options, ProjectContext, load_project_context
from orchestrator.report.run.result import build_run_result
from worktrees.errors import GitError, PushRefused
from worktrees.git import Git
from worktrees.object_store.merge import is_ancestor
from worktrees.object_store.object_ids import is_object_id
from worktrees.object_store.packs import find_existing_objects
from worktrees.ref_store.remote_refs import push_commit, read_remote_tip

_MIGRATIONS = "migrate/"
_GROUP_SUFFIX = compile_lazily(r"(?:--[A-Za-z0-9_+=-]+)?")
"""The suffix of the branch of a part of a run, after the name of the run's own branch."""
_LIMIT = 5


@dataclass(frozen=True)
class PublishRequest:
    """A request to publish what the first job left in `directory` to a remote, and to comment on `issue`.

    With `by_push` the merge requests are made by the push itself, as GitLab can.
    """

    directory: Path
    remote: str = "origin"
    issue: int | None = None
    by_push: bool = False


@dataclass(frozen=True)
class PublishedRun:
    """A published run: how the first job ended, and where its pull requests are now."""

    end: JobResult
    pull_requests: tuple[OpenedPullRequest, ...]

    @property
    def exit_code(self) -> int:
        """The exit code: 0 if the run is done, or if the next job goes on by itself."""
        return 0 if self.end.is_resumable else self.end.exit

    def build_outputs(self) -> dict[str, str]:
        """Return the outputs for the steps that follow: those of the first job, with the pull requests on the forge."""
        return self.end.build_outputs() | {"prs": json.dumps([pr.url or pr.ref for pr in self.pull_requests])}

    def build_document(self) -> PublishedDocument:
        """Return the object for --json."""
        return PublishedDocument(**self.end.build_document().copy_fields(), pull_requests=self.pull_requests)


async def publish_run(options: Options, request: PublishRequest) -> PublishedRun:
    """Push the run's state and what has landed, open its pull requests, and comment on the issue.

    To do it again changes nothing more. An issue is also told of what went wrong.

    Raises:
        UsageProblem: there is nothing to publish, it is not sound, or what it asks for is not a run's to have.
        PersonNeeded: a branch or a pull request of that name is somebody else's.
        EnvironmentProblem: the remote or the forge cannot be reached, or does not allow it.
    """
    push_options = Options(options.repository, merge_settings(options.flags, {"pr": {"push": request.remote}}))
    project = await to_thread.run_sync(load_project_context, push_options)
    delivered = await receive_handover(push_options, request.remote, request.directory)
    end = _build_job_result(delivered)
    try:
        opened = await _publish_pull_requests(project, request, delivered)
    except OrchestrateError as problem:
        with suppress(OrchestrateError):  # that the issue cannot be told either is the lesser problem
            text = f"**It could not be published:** {sanitize_markdown(str(problem))}"
            await _comment_on_issue(project, request, delivered.state, text)
        raise
    await _comment_on_issue(project, request, delivered.state, render_issue_comment(end, opened, delivered.state))
    return PublishedRun(end, opened)


def _build_job_result(delivered: DeliveredRun) -> JobResult:
    """Return how the first job ended; without a recorded exit it was cut off, and left what it had by then."""
    handover, ticket = delivered.handover, delivered.handover.ticket
    status, code, reason = handover.status, handover.exit, handover.reason
    if code is None:
        status, code, reason = "cut-off", _LIMIT, "the job was ended from outside; what it had left by then is kept"
    return JobResult(
        status=status,
        exit=code,
        key=ticket.key,
        hop=ticket.hop,
        max_hops=ticket.max_hops,
        is_resumable=handover.resumable,
        reason=reason,
        result=build_run_result(delivered.state, delivered.location.directory.journal),
    )


async def _publish_pull_requests(
    project: ProjectContext, request: PublishRequest, delivered: DeliveredRun
) -> tuple[OpenedPullRequest, ...]:
    requests = delivered.handover.pull_requests
    for requested in requests:
        _require_own_request(project, delivered.state, requested)
    if requests and project.config.pr.forge == "local" and not request.by_push:
        raise UsageProblem(
            "pull requests are to be opened, and no forge is configured: set forge under [pr], for example by "
            "ORCHESTRATE__PR__FORGE=github; or let the push make them with --merge-request (GitLab)"
        )
    for requested in requests:
        await _push_branch(project, request, delivered.state, requested)
    if request.by_push:
        heads = [requested.request.head for requested in requests]
        return tuple(OpenedPullRequest(forge="gitlab", ref=head, url="") for head in heads)
    async with open_forge(project.repository, Path(), project.config, delivered.state, _ignore_message) as forge:
        return tuple([await forge.open_pull_request(requested.request) for requested in requests])


def _require_own_request(project: ProjectContext, state: RunState, requested: RequestedPullRequest) -> None:
    """Refuse a pull request of anything but what its run has landed, or on a branch that no run would use."""
    pull_request, run = requested.request, state.run
    landed = {}
    for pr in list_opened_requests(state):
        landed[pr.branch or run.branch] = pr.head
    branch, commit = pull_request.head, pull_request.commit
    is_landed = landed.get(branch) == commit and is_object_id(commit)
    is_of_runs = branch.startswith((project.config.pr.prefix or _MIGRATIONS, _MIGRATIONS))
    is_its_own = branch.startswith(run.branch) and _GROUP_SUFFIX.fullmatch(branch.removeprefix(run.branch))
    if pull_request.run != run.run or not (is_landed and is_of_runs and is_its_own):
        name = to_one_line(branch, 100)
        raise UsageProblem(f"the pull request of {name} is not published: run {run.run} has nothing landed there")


async def _push_branch(
    project: ProjectContext, request: PublishRequest, state: RunState, requested: RequestedPullRequest
) -> None:
    git, pull_request = project.repository.git, requested.request
    push_options = _build_push_options(requested) if request.by_push else ()
    try:
        with limit_remote_wait(request.remote):
            tip = await read_remote_tip(git, request.remote, pull_request.head)
            if tip is None:
                is_there = await _is_merged(git, request.remote, pull_request)
            else:
                is_there = tip == pull_request.commit
            replaced = ""
            if tip and await is_left_tip(git, state, pull_request.head, tip, pull_request.commit):
                replaced = tip
            if not is_there:
                branch, commit = pull_request.head, pull_request.commit
                await push_commit(git, request.remote, commit, branch, push_options, replaced=replaced)
    except PushRefused as error:
        problem = f"{pull_request.head} was not pushed, because {error}. Nothing is ever forced"
        raise PersonNeeded(f"{problem}: rename or delete the branch there, or allow the push") from error
    except GitError as error:
        raise EnvironmentProblem(f"{request.remote} cannot be reached: {error}") from error


async def _is_merged(git: Git, remote: str, pull_request: PullRequest) -> bool:
    """Return True if the target has the requested commit, so that a branch that is gone need not come back."""
    if not pull_request.target:
        return False
    target = await read_remote_tip(git, remote, pull_request.target)
    if target is None or not await find_existing_objects(git, [target]):
        return False
    return await is_ancestor(git, pull_request.commit, target)


def _build_push_options(requested: RequestedPullRequest) -> tuple[str, ...]:
    """Return the push options that make GitLab open a merge request. An option has one line."""
    pull_request = requested.request
    options = ["merge_request.create"]
    if pull_request.target:
        options.append(f"merge_request.target={to_one_line(pull_request.target, 200)}")
    return (*options, f"merge_request.title={to_one_line(pull_request.title, 200)}")


def render_issue_comment(end: JobResult, opened: tuple[OpenedPullRequest, ...], state: RunState) -> str:
    """Return the comment for an issue: status, pull requests, what is asked, cost, and how to go on."""
    status = sanitize_markdown(to_one_line(end.status, 100))
    lines = [f"**{status}**: {sanitize_markdown(to_one_line(end.reason or state.run.goal))}"]
    lines += [f"- {pr.url or pr.ref}" for pr in opened]
    for pending in state.pending_approvals:
        title, answers = to_one_line(pending.approval.title), " or ".join(pending.approval.answers)
        lines.append(f"- asks `{pending.id}`: {sanitize_markdown(title)} ({answers})")
    ending = f"{_explain_next_step(end, state)}\n\nRun `{state.run.run}`, job {end.hop}."
    return "\n\n".join(("\n".join(lines), format_cost_section(state), ending))


def _explain_next_step(end: JobResult, state: RunState) -> str:
    if end.is_resumable:
        return "The next job goes on by itself."
    if state.pending_approvals:
        first = state.pending_approvals[0].id
        return (
            f"Answer with `/orchestrate approve {first}`, or `/orchestrate reject {first}`; where it can be sent back, "
            f"`/orchestrate send-back {first} WHAT IS TO BE CHANGED`."
        )
    if end.exit == 0:
        return ""
    return "`/orchestrate resume` goes on where that helps, `/orchestrate run` begins anew."


async def _comment_on_issue(project: ProjectContext, request: PublishRequest, state: RunState, text: str) -> None:
    if request.issue is None:
        return
    async with open_forge_repository(project.repository, project.config) as forge:
        await forge.upsert_comment(request.issue, build_marker(state.run.run, "status"), text)


async def _ignore_message(_: str) -> None:
    """Ignore a message about waiting."""
