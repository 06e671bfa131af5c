"""What becomes of a goal's pull request after the verdict: it is merged, or closed where work begins anew."""

from collections.abc import Iterable

from orchestrator.domain.event.forge import PrClosed, PrClosing, PrMerged, PrMerging
from orchestrator.domain.event.run import PrOpened
from orchestrator.domain.ids import CommitId
from orchestrator.domain.run.approval import Approval
from orchestrator.domain.run.state import RunState
from orchestrator.domain.text.sanitization import sanitize_markdown
from orchestrator.engine.context import RunContext
from orchestrator.engine.control.approvals import ask_person, build_run_approval
from orchestrator.engine.pull_request.proposal import record_warning_once
from orchestrator.ports.effect import record_effect


async def merge_when_green(context: RunContext) -> None:
    """Merge the pull request of a run whose contract is met, where that is asked for and checks show that it is green.

    Raises:
        PersonNeeded: a person has to answer first, or the forge does not let it be merged.
        EnvironmentProblem: the forge cannot be reached.
    """
    pr = context.state.pr
    if context.config.pr.merge != "when-green" or pr is None or _is_merged(context.state, pr):
        return
    if why := _not_green(context.state, pr):
        await record_warning_once(context, f"the pull request was not merged: {why}")
        return
    if context.config.approval.mode == "pr":
        answer = await ask_person(context, _merge_question(context, pr))
        if answer.decision == "deny":
            because = f" ({answer.reason})" * bool(answer.reason)
            await record_warning_once(context, f"the pull request was not merged: denied by {answer.by}{because}")
            return
    await _merge(context, pr)


def is_being_merged(state: RunState, head: CommitId) -> bool:
    """Whether the pull request of this commit stands as it is to be merged, or is merged: nothing is written to it."""
    pr = state.pr
    if pr is None or pr.head != head:
        return False
    is_begun = state.merging is not None and (state.merging.ref, state.merging.commit) == (pr.ref, pr.head)
    return is_begun or _item(pr) in state.approvals


def _is_merged(state: RunState, pr: PrOpened) -> bool:
    return state.merged is not None and (state.merged.ref, state.merged.commit) == (pr.ref, pr.head)


def _not_green(state: RunState, pr: PrOpened) -> str:
    """Why it is not green; what nobody checked is not."""
    seen = state.forge_checks
    if seen is None or (seen.ref, seen.commit) != (pr.ref, pr.head):
        return f"nobody waited for checks of {pr.head[:12]}"
    if not seen.checks:
        return f"no checks ran on {pr.head[:12]}"
    rest = []
    for check in seen.checks:
        if check.state != "passed":
            rest.append(f"{check.name} is {check.state}")
    return ", ".join(rest[:10])


def _item(pr: PrOpened) -> str:
    return f"merge/{pr.head[:12]}"


def _merge_question(context: RunContext, pr: PrOpened) -> Approval:
    subject = _item(pr).partition("/")[2]
    checks = context.state.forge_checks.checks if context.state.forge_checks else ()
    detail = [pr.url, *(f"{check.name}: {check.state}" for check in checks)]
    if context.state.run.target:
        into = f" into {context.state.run.target}"
    else:
        into = ""
    return build_run_approval(context, "merge", subject, f"merge the pull request{into}: {pr.url}", detail)


async def _merge(context: RunContext, pr: PrOpened) -> None:
    commit = CommitId(pr.head)
    key = context.journal.build_next_key(f"merge/{pr.ref}/{commit}")
    merging = PrMerging(key=key, forge=pr.forge, ref=pr.ref, commit=commit)
    async with record_effect(context.journal, merging) as happening:
        new = await context.forge.merge_pull_request(pr.ref, commit)
        happening.done = PrMerged(key=key, forge=pr.forge, ref=pr.ref, commit=commit, new=new)


async def close_for_restart(context: RunContext, reasons: Iterable[str]) -> None:
    """Close the pull request of work that is begun anew, with the reasons; nothing where none was opened for checks.

    Raises:
        PersonNeeded: the forge does not let it be closed.
        EnvironmentProblem: the forge cannot be reached.
    """
    pr = context.state.pr
    if pr is None or not context.config.pr.checks_wait_s:
        return
    lines = ["Closed, because the work is begun anew; another pull request follows. Why:", ""]
    reason = context.journal.redact_text("\n".join([*lines, *(f"- {sanitize_markdown(one)}" for one in reasons)]))
    key = context.journal.build_next_key(f"close/{pr.ref}")
    closing = PrClosing(key=key, forge=pr.forge, ref=pr.ref, reason=reason)
    async with record_effect(context.journal, closing) as happening:
        await context.forge.close_pull_request(pr.ref, reason)
        happening.done = PrClosed(key=key, forge=pr.forge, ref=pr.ref)
