"""The end of a goal's pull request after the verdict: it is merged, or closed where work begins anew."""

from collections.abc import Iterable, Sequence

from orchestrator.domain.event.forge import PrClosed, PrClosing, PrMerged, PrMerging
from orchestrator.domain.event.run import Noticed, PrOpened
from orchestrator.domain.ids import CommitId, build_approval_item, build_commit_subject
from orchestrator.domain.run.approval import Approval
from orchestrator.domain.run.notice_codes import NoticeCode
from orchestrator.domain.run.state import RunState
from orchestrator.domain.text.sanitization import sanitize_markdown
from orchestrator.engine.context import RunContext
from orchestrator.engine.control.approvals import ask_person, build_run_approval, format_answer
from orchestrator.ports.effect import record_effect
from orchestrator.ports.ledger import record_notice_once

_SHOWN = 10


async def merge_when_green(context: RunContext) -> None:
    """Merge the pull request of a run whose contract is met, where that is asked for and checks show that it is green.

    Raises:
        PersonNeeded: a person has to answer first, or the forge does not let it be merged.
        EnvironmentProblem: the forge cannot be reached.
    """
    pr = context.state.pr
    if context.config.pr.merge != "when-green" or pr is None or _is_merged(context.state, pr):
        return
    if unmet := _find_missing_green(context.state, pr):
        await record_notice_once(context.journal, unmet)
        return
    if context.config.approval.mode == "pr":
        answer = await ask_person(context, _build_question(context, pr))
        if answer.decision == "deny":
            why = f"denied by {format_answer(answer)}"
            await record_notice_once(context.journal, _build_refusal(NoticeCode.MERGE_DENIED, pr, why))
            return
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
