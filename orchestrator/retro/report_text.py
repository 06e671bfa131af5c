"""The text of a retrospective for a person."""

from collections.abc import Iterator

from orchestrator.domain.budget.usage import Usage
from orchestrator.domain.text.listing import format_count
from orchestrator.retro.findings import PromptFinding
from orchestrator.retro.proposals import PromptProposal
from orchestrator.retro.report import Retrospective, list_evidence
from orchestrator.retro.rows import DecisionRow
from orchestrator.retro.variants import SettingChange


def render_retrospective(retro: Retrospective) -> Iterator[str]:
    """Yield the lines: the table, what was found, what is proposed and what trying it showed."""
    yield f"{format_count(len(retro.runs), 'run')} read"
    for problem in retro.unread:
        yield f"not read: {problem}"
    for row in retro.rows:
        yield from _render_row(row)
    yield ""
    if not retro.findings and not retro.settings:
        yield "Nothing keeps going wrong under any prompt or variant: nothing is proposed."
    for finding in retro.findings:
        yield from _render_finding(finding, retro.is_current(finding))
    for change in retro.settings:
        yield from _render_setting(change)
    for proposal in retro.proposals:
        yield from _render_proposal(proposal)
    yield from _render_end(retro)


def _render_end(retro: Retrospective) -> Iterator[str]:
    if retro.estimate is not None:
        yield f"cost: {_format_usage(retro.spent)}; estimated before: {_format_usage(retro.estimate)}"
    if retro.stopped:
        yield f"ended early: {retro.stopped}"
    if retro.out is not None:
        yield f"wrote {retro.out}"
    elif any(proposal.changed is not None for proposal in retro.proposals):
        yield "Nothing was changed. To take a proposal: --out DIR writes it, dir under [prompts] can name DIR/prompts."


def _format_usage(usage: Usage) -> str:
    return f"{usage.cost_text}, {usage.tokens:,} tokens, {format_count(usage.calls, 'call')}"


def _render_row(row: DecisionRow) -> Iterator[str]:
    variant = f", variant {row.variant}" if row.variant else ""
    counts = f"{row.landed} of {row.decisions} landed, {row.sent_back} sent back"
    lost = f"{row.lost.cost_text} of {row.spent.cost_text} on what did not land"
    yield f"  {row.use.role}: prompt {row.use.name} {row.use.sha} on {row.model}{variant}: {counts}; {lost}"
    for cause, count in row.causes.most_common():
        yield f"    {count} × {cause.label}: {', '.join(row.examples.get(cause, ()))}"


def _render_finding(finding: PromptFinding, is_current: bool) -> Iterator[str]:
    share = f"{finding.tasks} of {finding.all_tasks} tasks in {finding.runs} of {finding.all_runs} runs"
    yield f"Found: {finding.cause.label} under the prompt {finding.use.name} ({finding.use.sha})"
    yield f"  {share}; with 95 % certainty in {finding.low:.0%} of them or more; they cost {finding.lost.cost_text}"
    if finding.recipes:
        yield f"  in migrations by {', '.join(finding.recipes)}: its steps and checks may be the cause"
    if not is_current:
        yield "  The prompt has other words now, so nothing is proposed."
    for place in list_evidence(finding):
        yield f"  {place.run} event {place.seq} ({place.task}): {place.text}"
    yield ""


def _render_setting(change: SettingChange) -> Iterator[str]:
    usual, better = change.usual, change.better
    yield f"Found: the variant {better.variant} lands {better.landed} of {better.tasks} tasks at the first try,"
    yield f"  the usual worker {usual.landed} of {usual.tasks}"
    yield f"-{change.key} = {change.old}"
    yield f"+{change.key} = {change.new}"
    yield ""


def _render_proposal(proposal: PromptProposal) -> Iterator[str]:
    yield f"Proposal for the prompt {proposal.name}: {_STATES[proposal.state]}"
    if proposal.reason:
        yield f"  {proposal.reason}"
    if proposal.verdict:
        yield f"  {proposal.verdict}"
    yield from proposal.diff.splitlines()
    for tried in proposal.tried:
        call = tried.call
        cause = call.cause.label if call.cause else "healthy"
        yield f"  {call.run} event {call.seq} ({cause}): {tried.result}"
        if tried.new:
            yield f"    then {tried.recorded}; now {tried.new}"
    yield ""


_STATES = {
    "confirmed": "confirmed by asking again",
    "refused": "refused, asking again does not confirm it",
    "untried": "not tried",
    "none": "none",
}
