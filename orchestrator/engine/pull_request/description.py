"""The words of a pull request: what landed, what did not and why, the evidence, the cost, how to check it again."""

from collections import Counter
from collections.abc import Iterable

from orchestrator.domain.judging.check import Receipt
from orchestrator.domain.run.contract import GATE_CRITERION, GOAL_CRITERION
from orchestrator.domain.run.criterion_status import CriterionStatus, list_criterion_statuses
from orchestrator.domain.run.state import RunState, TaskState
from orchestrator.domain.run.task import TaskStatus
from orchestrator.domain.sandbox.unsafe_banner import UNSAFE_BANNER
from orchestrator.domain.text.listing import add_lead, format_count, limit_lines
from orchestrator.domain.text.sanitization import format_code_span, sanitize_markdown, to_one_line

_SHOWN = 20
_CHARS = 500


def format_goal_title(state: RunState) -> str:
    """Return the title of a goal's pull request."""
    return state.run.goal.splitlines()[0][:100]


def format_goal_body(state: RunState, reason: str) -> str:
    """Return the body for a goal's pull request, as Markdown. Words of models stand in it defanged."""
    leaves = [task for task in state.tasks.values() if task.spec.kind == "leaf"]
    landed = [task for task in leaves if task.status == TaskStatus.MERGED]
    rest = [task for task in leaves if task.status not in {TaskStatus.MERGED, TaskStatus.DISCARDED}]
    landed_section = _format_section("Landed", map(_format_landed, landed))
    rest_section = _format_section("Not landed", map(_format_not_landed, rest))
    parts = (
        *(format_unsafe_warning(state), sanitize_markdown(state.run.goal), sanitize_markdown(reason)),
        *(
            landed_section,
            rest_section,
            _format_left_section(state),
            _format_contract(state),
            format_gate_evidence(state),
        ),
        *(format_flaky_section(state), format_violation_section(state), format_cost_section(state)),
    )
    return "\n\n".join(filter(None, parts))


def format_unsafe_warning(state: RunState) -> str:
    """Return what a reviewer has to know of a run whose commands had no sandbox; empty for all others."""
    if state.is_unsafe:
        return f"> **{UNSAFE_BANNER}** Look at this machine, too, not only at the change."
    return ""


def _format_landed(task: TaskState) -> str:
    attempts = len(task.attempts)
    tries = f" ({attempts} attempts)" * (attempts != 1)
    return f"`{task.spec.id}` {sanitize_markdown(to_one_line(task.spec.title))}{tries}"


def _format_not_landed(task: TaskState) -> str:
    cause = f" ({task.cause})" * bool(task.cause)
    return f"`{task.spec.id}`: {task.status}{cause} – {sanitize_markdown(to_one_line(task.reason))}"


def _format_section(title: str, items: Iterable[str]) -> str:
    lines = [f"- {item}" for item in items]
    return "\n".join((f"### {title}", "", *lines)) if lines else ""


def _format_left_section(state: RunState) -> str:
    """Return what restarts left behind: a reviewer may have seen it in a pull request that was closed."""
    lines = []
    for line in state.goal.left_lines:
        tasks = format_count(len(line.tasks), "task")
        lines.append(f"{tasks} of iteration {line.iteration}, kept in {format_code_span(line.kept)}")
    return _format_section("Begun anew; not on this branch", lines)


def _format_contract(state: RunState) -> str:
    """Return each criterion with what the last verdict says of it, and what its command gave before and after."""
    return _format_section("Contract", map(_format_criterion, list_criterion_statuses(state)))


def _format_criterion(one: CriterionStatus) -> str:
    said = shown = ""
    if one.criterion.id != GOAL_CRITERION:
        said = f" {sanitize_markdown(to_one_line(one.criterion.text, _CHARS))}"
    if one.finding:
        shown = f" – {sanitize_markdown(to_one_line(one.finding.evidence, _CHARS))}"
    if one.criterion.command and one.after and one.criterion.id != GATE_CRITERION:
        codes = f"{_format_counts(one.before)} on the base, {_format_counts(one.after)} on this branch"
        shown += f"; {format_code_span(one.criterion.command)}: {codes}"
    return f"`{one.criterion.id}` **{one.label}**:{said}{shown}"


def format_gate_evidence(state: RunState) -> str:
    """Return the gate before and after, as a table with the command to run again."""
    rows, after = [], {receipt.check: receipt for receipt in get_head_receipts(state)}
    for check, before in state.get_baseline_receipts().items():
        # in a table's cell a pipe would begin the next one
        command = format_code_span(before.command).replace("|", "\\|")
        cells = (command, _format_counts(before), _format_counts(after.get(check)))
        rows.append(f"| {' | '.join(cells)} |")
    return "\n".join(("### Evidence", "", "| check | on the base | on this branch |", "|---|---|---|", *rows))


def format_flaky_section(state: RunState) -> str:
    """Return the tests that passed and failed on one tree: no run says anything certain of them."""
    lines = []
    for test, trees in state.list_flaky_tests():
        lines.append(f"{format_code_span(to_one_line(test))}: on {format_count(trees, 'tree')}")
    return _format_section("Flaky tests, which passed and failed on one tree", limit_lines(lines, _SHOWN))


def format_violation_section(state: RunState) -> str:
    """Return how often agents tried to get past the sandbox, if any did: their work may deserve a closer look."""
    counts = Counter((one.task, one.kind) for one in state.unapproved_violations)
    lines = []
    for (task, kind), count in counts.items():
        lines.append(f"`{task or '?'}`: {kind}, {count} times")
    return _format_section("Tried beyond the walls, by words or by what refused it", limit_lines(lines, _SHOWN))


def get_head_receipts(state: RunState) -> tuple[Receipt, ...]:
    """Return the gate's receipts on the tree that landed last, newest per check; the baseline if nothing landed."""
    if not state.landings:
        return tuple(state.get_baseline_receipts().values())
    tree, checks = state.landings[-1].tree, state.get_baseline_receipts()
    found = {}
    for receipt in state.receipts.values():
        if receipt.tree == tree and receipt.check in checks:
            found[receipt.check] = receipt
    return tuple(found.values())


def _format_counts(receipt: Receipt | None) -> str:
    return receipt.outcome_text if receipt else "not run"


def format_cost_section(state: RunState) -> str:
    """Return what the run spent."""
    spent, earlier = state.spend.total, str(state.reused_receipts or "")
    calls = f"{spent.calls} model calls, {spent.tokens:,} tokens, cost {spent.cost_text}"
    runs = f"{state.test_runs} test runs{add_lead(', and so many taken over from earlier runs: ', earlier)}"
    return f"### Cost\n\n{runs}; {calls}\n\nRun `{state.run.run}`, base `{state.run.base}`."
