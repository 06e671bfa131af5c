"""The forge's checks of a run's pull request, and its merge: in words and as models."""

from collections.abc import Iterator, Sequence

from orchestrator.domain.event.forge import ChecksSeen, PrClosed, PrClosing, PrMerged, PrMerging
from orchestrator.domain.ids import ROOT_TASK
from orchestrator.domain.judging.forge_check import ForgeCheck, list_check_names
from orchestrator.domain.refs import LOCAL_FORGE, format_merge_command
from orchestrator.domain.run.state import RunState
from orchestrator.domain.run.task import TaskStatus
from orchestrator.domain.text.listing import add_lead, format_count, join_limited
from orchestrator.domain.text.sanitization import to_one_line
from orchestrator.report.run.model import ForgeChecksResult, MergeResult

_SHOWN = 5


def render_checks_line(checks: Sequence[ForgeCheck]) -> str:
    """Return `failed: unit; waits for lint, types; 2 checks passed`."""
    if not checks:
        return "no check has begun"
    failed, pending = list_check_names(checks, "failed"), list_check_names(checks, "pending")
    passed = len(checks) - len(failed) - len(pending)
    parts = [add_lead("failed: ", _join_names(failed)), add_lead("waits for ", _join_names(pending))]
    if passed:
        parts.append(f"{format_count(passed, 'check')} passed")
    return "; ".join(filter(None, parts))


def describe_pull_request_event(event: ChecksSeen | PrMerging | PrMerged | PrClosing | PrClosed) -> str:
    """Return the event in words that follow the name of the pull request."""
    match event:
        case ChecksSeen():
            return f"at {event.commit[:12]}: {render_checks_line(event.checks)}"
        case PrMerging():
            return f"is being merged at {event.commit[:12]}"
        case PrMerged():
            return f"is merged: its target stands at {event.new[:12]}"
        case PrClosing():
            return f"is being closed: {event.reason}"
    return "is closed, not merged"


def _join_names(names: Sequence[str]) -> str:
    return join_limited(map(to_one_line, names), _SHOWN)


def is_waiting_for_checks(state: RunState) -> bool:
    """Return True while a run does nothing but wait for checks."""
    if state.forge_checks is None or state.forge_checks_since is None or state.ended or state.paused:
        return False
    root, is_judged = state.tasks.get(ROOT_TASK), len(state.goal.iterations) == state.goal.iteration
    if is_judged or root is None or root.status != TaskStatus.DONE:
        return False
    return all(session.ended is not None for session in state.sessions.values() if session.role == "judge")


def render_forge_lines(state: RunState) -> Iterator[str]:
    """Yield lines on checks and merging for the summary of a run."""
    if state.forge_checks is not None and state.pr is not None:
        yield f"checks of {state.forge_checks.forge}: {render_checks_line(state.forge_checks.checks)}"
        for check in state.forge_checks.checks[:_SHOWN]:
            if check.state == "failed":
                yield f"  ✗ {to_one_line(check.name)}  {to_one_line(check.url)}".rstrip()
    if state.merged is not None:
        target, place = state.run.target or "its target", f"on {state.merged.forge}"
        if state.merged.forge == LOCAL_FORGE:
            place = "of this repository"
        yield f"merged: {target} {place} stands at {state.merged.new[:12]}"


def describe_merging(state: RunState) -> str:
    """Return how a person merges what landed; empty where nothing is to be merged, or each group is on its own."""
    pr = state.pr
    if pr is None or pr.group or state.merged is not None:
        return ""
    if pr.forge == LOCAL_FORGE:
        return format_merge_command(pr.branch or state.run.branch, state.run.target)
    return f"review and merge {pr.url}"


def build_forge_checks(state: RunState) -> ForgeChecksResult | None:
    """Return the checks as they were seen last; None where nobody waited for them."""
    seen = state.forge_checks
    if seen is None:
        return None
    words = render_checks_line(seen.checks)
    return ForgeChecksResult(**dict(seen), words=words, waiting=is_waiting_for_checks(state))


def build_merge_result(state: RunState) -> MergeResult | None:
    """Return what was merged and where its target stands since; None if nothing was merged."""
    merged = state.merged
    if merged:
        return MergeResult(ref=merged.ref, commit=merged.commit, target=merged.new)
    return None
