"""The end of a run: the pull request, and the one event that says how it went."""

from orchestrator.domain.event.run import Noticed, Outcome, PrOpened, PrOpening, RunEnded
from orchestrator.domain.plain import inert_title
from orchestrator.domain.state import RunState
from orchestrator.domain.task import EndCause
from orchestrator.engine.approvals import ask, question
from orchestrator.engine.context import RunContext
from orchestrator.engine.push import push_branch
from orchestrator.ports.effect import effect
from orchestrator.ports.forge import PullRequest

_FOLLOWED = frozenset({EndCause.DEPENDENCY, EndCause.CANCELLED})
_SHOWN = 10
EXIT_CODES: dict[Outcome, int] = {
    "done": 0,
    "partial": 3,
    "blocked": 6,
    "rejected": 4,
    "nothing-changed": 4,
    "failed": 4,
    "cancelled": 4,
}


async def open_pull_request(context: RunContext, title: str, body: str) -> None:
    """Push what has landed where that is asked for, and open or update its pull request; nothing if nothing landed.

    Raises:
        PersonNeeded: somebody moved the PR branch away from what has landed, or made it red; or the remote's.
        EnvironmentProblem: the remote cannot be reached.
    """
    if await context.tip() is None:
        return
    head = await context.head()
    await push_branch(context, head)
    run = context.state.run
    if context.config.approval.mode == "pr":
        commits = f"{len(context.state.landed_units)} units landed"
        answer = await ask(
            context, question(context, "pull-request", head[:12], f"open the pull request: {title}", [commits])
        )
        if answer.decision == "deny":
            text = f"no pull request was opened: denied by {answer.by}" + (f" ({answer.reason})" * bool(answer.reason))
            await context.journal.append(Noticed(level="warning", text=text))
            return
    key = context.journal.next_key(f"pr/{run.branch}/{head}")
    async with effect(context.journal, PrOpening(key=key, forge=context.forge.name, head=head)) as opening:
        opened = await context.forge.open(
            PullRequest(
                run=run.run,
                title=inert_title(context.journal.redact(title)),
                body=context.journal.redact(body),
                head=run.branch,
                commit=head,
                base=run.base,
                target=run.target,
            )
        )
        opening.done = PrOpened(key=key, forge=opened.forge, ref=opened.ref, url=opened.url)


def stopped_by_infrastructure(state: RunState) -> str:
    """What ended each task, where none of them ended for its work; empty if one did, or none was stopped at all.

    Tasks that only fell with others, or that a person gave up, do not count.
    """
    ended = [task for task in state.tasks.values() if task.status.is_terminal and not task.status.is_reached]
    stopped = [task for task in ended if task.cause not in _FOLLOWED]
    if not all(task.cause and task.cause.is_infrastructure for task in stopped):
        return ""
    more = [f"and {len(stopped) - _SHOWN} more"] if len(stopped) > _SHOWN else []
    return ", ".join([*(f"{task.spec.id} ({task.cause})" for task in stopped[:_SHOWN]), *more])


async def end_run(context: RunContext, outcome: Outcome, reason: str) -> None:
    """Record the end."""
    code, head = EXIT_CODES[outcome], context.state.head
    await context.journal.append(RunEnded(outcome=outcome, reason=reason, exit=code, head=head))
