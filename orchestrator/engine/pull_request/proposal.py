"""The pull request of what landed: pushed where that is asked for, let be by a person, opened or updated."""

from dataclasses import dataclass

from orchestrator.domain.event.run import Noticed, PrOpened, PrOpening
from orchestrator.domain.ids import CommitId, build_commit_subject
from orchestrator.domain.run.approval import Approval
from orchestrator.domain.run.notice_codes import NoticeCode
from orchestrator.domain.text.sanitization import sanitize_title
from orchestrator.engine.context import RunContext
from orchestrator.engine.control.approvals import ask_person, build_run_approval, format_answer
from orchestrator.engine.pull_request.push import push_branch
from orchestrator.ports.effect import record_effect
from orchestrator.ports.forge import PullRequest
from orchestrator.ports.ledger import record_notice_once


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
        if answer.decision == "deny":
            text = f"no pull request was opened: denied by {format_answer(answer)}"
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
