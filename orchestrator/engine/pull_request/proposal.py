"""The pull request of what landed: pushed forward where that is asked for, let be by a person, opened or updated.

After the verdict on a goal it is merged, or closed where work begins anew.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import anyio

from orchestrator.domain.event.external import PushFinished, PushStarted
from orchestrator.domain.event.forge import PrClosed, PrClosing, PrMerged, PrMerging
from orchestrator.domain.event.run import Noticed, PrOpened, PrOpening
from orchestrator.domain.ids import CommitId, build_approval_item, build_commit_subject
from orchestrator.domain.run.approval import Approval
from orchestrator.domain.run.notice_codes import NoticeCode
from orchestrator.domain.run.state import RunState
from orchestrator.domain.text.sanitization import sanitize_markdown, sanitize_title
from orchestrator.engine.context import RunContext
from orchestrator.engine.control.approvals import ask_person, build_run_approval, format_answer
from orchestrator.engine.pull_request.left_tips import is_left_tip
from orchestrator.engine.pull_request.local_merge import merge_into_local_target
from orchestrator.engine.pull_request.squash import squash_landed_commits
from orchestrator.errors import EnvironmentProblem, PersonNeeded
from orchestrator.ports.effect import record_effect
from orchestrator.ports.forge import PullRequest
from orchestrator.ports.ledger import record_notice_once
from worktrees.errors import GitError, PushRefused, UnknownRemote
from worktrees.ref_store.remote_refs import push_commit, read_remote_tip

_LONGEST_S = 1800.0


async def push_branch(context: RunContext, head: CommitId, name: str = "") -> None:
    """Have a branch of the configured remote stand at `head`; nothing happens where it does, or none is configured.

    It is the PR branch, unless another one is named. After a restart it also moves away from what was left behind.

    Raises:
        PersonNeeded: the remote's branch holds what this run did not make, or the remote does not allow the push.
        EnvironmentProblem: the remote cannot be reached, or wants credentials that are not there.
    """
    remote, branch = context.config.pr.push, name or context.state.run.branch
    if not remote:
        return
    tip = await _read_tip(context, remote, branch)
    if tip == head:
        return
    replaced = ""
    if tip and await is_left_tip(context.repository.git, context.state, branch, tip, head):
        replaced = tip
    key = context.journal.build_next_key(f"push/{remote}/{branch}/{head}")
    started = PushStarted(key=key, remote=remote, branch=branch, commit=head)
    async with record_effect(context.journal, started) as pushing:
        await _push(context, remote, head, branch, replaced)
        pushing.done = PushFinished(key=key, remote=remote, branch=branch, commit=head)


async def has_push_arrived(context: RunContext, push: PushStarted) -> bool:
    """Return True if a push that nobody saw the end of has happened; no, where the remote cannot be asked."""
    try:
        return await _read_tip(context, push.remote, push.branch) == push.commit
    except (PersonNeeded, EnvironmentProblem):
        return False


async def _read_tip(context: RunContext, remote: str, branch: str) -> str | None:
    try:
        with anyio.fail_after(_LONGEST_S):
            return await read_remote_tip(context.repository.git, remote, branch)
    except (GitError, TimeoutError) as error:
        raise _build_problem(remote, error) from error


async def _push(context: RunContext, remote: str, head: CommitId, branch: str, replaced: str) -> None:
    try:
        with anyio.fail_after(_LONGEST_S):
            await push_commit(context.repository.git, remote, head, branch, replaced=replaced)
    except PushRefused as error:
        raise PersonNeeded(
            f"the PR branch was not pushed, because {error}. Orchestrate never forces a push: if the branch there "
            f"holds something else, rename or delete it (git push {remote} --delete {branch}), else allow the push; "
            "then resume the run"
        ) from error
    except (GitError, TimeoutError) as error:
        raise _build_problem(remote, error) from error


def _build_problem(remote: str, error: GitError | TimeoutError) -> EnvironmentProblem:
    if isinstance(error, UnknownRemote):
        return EnvironmentProblem(f"{error}: add it (git remote add {remote} URL), or resume with --set pr.push=NAME")
    said = str(error) or f"no answer within {_LONGEST_S:.0f} s"
    return EnvironmentProblem(
        f"{remote} cannot be reached: {said}; make `git ls-remote {remote}` work without being asked for anything, "
        "then resume the run"
    )


@dataclass(frozen=True)
class PullRequestProposal:
    """A pull request to be opened for a branch that stands at `head`; `group` says which of several of the run."""

    branch: str
    head: CommitId
    title: str
    body: str
    group: str = ""
    labels: tuple[str, ...] = ()
    draft: bool = False


async def propose_landed_work(
    context: RunContext, title: str, body: str, labels: tuple[str, ...] = (), *, draft: bool = False
) -> None:
    """Push what has landed where that is asked for, and open or update its pull request; nothing if nothing landed.

    Raises:
        PersonNeeded: somebody moved the PR branch away from what has landed, or made it red; or the remote's.
        EnvironmentProblem: the remote cannot be reached.
    """
    if await context.read_branch_tip() is not None:
        await squash_landed_commits(context, title)
        branch, head = context.state.run.branch, await context.read_start_commit()
        await propose_pull_request(context, PullRequestProposal(branch, head, title, body, labels=labels, draft=draft))


async def propose_pull_request(context: RunContext, proposal: PullRequestProposal) -> None:
    """Push a branch where that is asked for, and open or update its pull request, once a person lets it be.

    Raises:
        PersonNeeded: a person has to answer first; or the remote's branch holds what this run did not make.
        EnvironmentProblem: the remote cannot be reached.
    """
    await push_branch(context, proposal.head, proposal.branch)
    if context.config.approval.mode == "pr":
        answer = await ask_person(context, build_pull_request_approval(context, proposal))
        if answer.decision == "reject":
            text = f"no pull request was opened: rejected by {format_answer(answer)}"
            code, subject = NoticeCode.PULL_REQUEST_DENIED, proposal.head
            notice = Noticed(level="warning", code=code, subject=subject, text=text)
            await record_notice_once(context.journal, notice)
            return
    await _open_pull_request(context, proposal)


def build_pull_request_approval(context: RunContext, proposal: PullRequestProposal) -> Approval:
    """Return what a person is asked before a pull request is opened."""
    subject = build_commit_subject(proposal.head, proposal.group)
    commits = f"{len(context.state.landed_units)} units landed"
    return build_run_approval(context, "pull-request", subject, f"open the pull request: {proposal.title}", [commits])


async def _open_pull_request(context: RunContext, proposal: PullRequestProposal) -> None:
    run, group, head = context.state.run, proposal.group, proposal.head
    key = context.journal.build_next_key(f"pr/{proposal.branch}/{head}")
    request = PullRequest(
        run=run.run,
        title=sanitize_title(context.journal.redact_text(proposal.title)),
        body=context.journal.redact_text(proposal.body),
        head=proposal.branch,
        commit=head,
        base=run.base,
        target=run.target,
        labels=proposal.labels,
        draft=proposal.draft,
        group=group,
    )
    intent = PrOpening(key=key, forge=context.forge.name, head=head, group=group)
    async with record_effect(context.journal, intent) as opening:
        opened = await context.forge.open_pull_request(request)
        opening.done = PrOpened(key=key, **opened.model_dump(), group=group, branch=proposal.branch, head=head)


_SHOWN = 10


async def merge_when_green(context: RunContext) -> None:
    """Merge the pull request of a run whose contract is met, where that is asked for and it is known to be green.

    That is told by the forge's checks, or in this repository by the gate.

    Raises:
        PersonNeeded: a person has to answer first, or the forge, or the state of the target, does not let it be merged.
        EnvironmentProblem: the forge cannot be reached, or the gate could not be run.
    """
    pr = context.state.pr
    if context.config.pr.merge != "when-green" or pr is None or _is_merged(context.state, pr):
        return
    if context.forge.has_checks and (unmet := _find_missing_green(context.state, pr)):
        await record_notice_once(context.journal, unmet)
        return
    if context.config.approval.mode == "pr":
        answer = await ask_person(context, _build_question(context, pr))
        if answer.decision == "reject":
            why = f"rejected by {format_answer(answer)}"
            await record_notice_once(context.journal, _build_refusal(NoticeCode.MERGE_DENIED, pr, why))
            return
    if context.forge.moves_local_targets:
        await merge_into_local_target(context, pr)
    else:
        await _merge(context, pr)


def is_being_merged(state: RunState, head: CommitId) -> bool:
    """Return True if the pull request of this commit is being merged, or is merged: nothing is written to it then."""
    pr = state.pr
    if pr is None or pr.head != head:
        return False
    is_begun = state.merging is not None and (state.merging.ref, state.merging.commit) == (pr.ref, pr.head)
    return is_begun or build_approval_item("merge", build_commit_subject(CommitId(pr.head))) in state.approvals


def _is_merged(state: RunState, pr: PrOpened) -> bool:
    return state.merged is not None and (state.merged.ref, state.merged.commit) == (pr.ref, pr.head)


def _find_missing_green(state: RunState, pr: PrOpened) -> Noticed | None:
    """Return the notice of what keeps the pull request from being green; a commit that nobody checked is not."""
    seen = state.forge_checks
    if seen is None or (seen.ref, seen.commit) != (pr.ref, pr.head):
        return _build_refusal(NoticeCode.MERGE_UNCHECKED, pr, f"nobody waited for checks of {pr.head[:12]}")
    if not seen.checks:
        return _build_refusal(NoticeCode.MERGE_UNCHECKED, pr, f"no checks ran on {pr.head[:12]}")
    rest = [check for check in seen.checks if check.state != "passed"]
    if not rest:
        return None
    why = ", ".join(f"{check.name} is {check.state}" for check in rest[:_SHOWN])
    return _build_refusal(NoticeCode.MERGE_NOT_GREEN, pr, why, [check.name for check in rest])


def _build_refusal(code: NoticeCode, pr: PrOpened, why: str, checks: Sequence[str] = ()) -> Noticed:
    text = f"the pull request was not merged: {why}"
    return Noticed(level="warning", code=code, subject=pr.head, paths=tuple(checks), text=text)


def _build_question(context: RunContext, pr: PrOpened) -> Approval:
    state, detail = context.state, [pr.url]
    if state.forge_checks is not None:
        detail += [f"{check.name}: {check.state}" for check in state.forge_checks.checks]
    title = f"merge the pull request: {pr.url}"
    if state.run.target:
        title = f"merge the pull request into {state.run.target}: {pr.url}"
    return build_run_approval(context, "merge", build_commit_subject(CommitId(pr.head)), title, detail)


async def _merge(context: RunContext, pr: PrOpened) -> None:
    commit = CommitId(pr.head)
    key = context.journal.build_next_key(f"merge/{pr.ref}/{commit}")
    merging = PrMerging(key=key, forge=pr.forge, ref=pr.ref, commit=commit)
    async with record_effect(context.journal, merging) as happening:
        new = await context.forge.merge_pull_request(pr.ref, commit)
        happening.done = PrMerged(key=key, forge=pr.forge, ref=pr.ref, commit=commit, new=new)


async def close_for_restart(context: RunContext, reasons: Iterable[str]) -> None:
    """Close the pull request of work that is begun anew, with the reasons; nothing where none is open.

    Raises:
        PersonNeeded: the forge does not let it be closed.
        EnvironmentProblem: the forge cannot be reached.
    """
    pr = context.state.pr
    if pr is None:
        return
    lines = ["Closed, because the work is begun anew; another pull request follows. Why:", ""]
    reason = context.journal.redact_text("\n".join([*lines, *(f"- {sanitize_markdown(one)}" for one in reasons)]))
    key = context.journal.build_next_key(f"close/{pr.ref}")
    closing = PrClosing(key=key, forge=pr.forge, ref=pr.ref, reason=reason)
    async with record_effect(context.journal, closing) as happening:
        await context.forge.close_pull_request(pr.ref, reason)
        happening.done = PrClosed(key=key, forge=pr.forge, ref=pr.ref)
