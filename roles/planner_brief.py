"""The brief of a planner: its slice whole, and all that has happened and lies around it in what room is left."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from orchestrator.config.engines import LOOP
from orchestrator.config.roles import VariantSettings, WorkerSettings
from orchestrator.domain.planning.plan_edits import describe_plan_change
from orchestrator.domain.run.plan import PlanLimits
from orchestrator.domain.text.money import format_exact_dollars
from orchestrator.ports.roles import PlanningBrief, TaskReport
from prompts import PromptSource, fence_text
from roles.brief_text import (
    BriefPart,
    cut_list,
    format_bullets,
    format_contract,
    format_decision,
    format_planner_report,
    format_report_line,
    format_slice,
    render_parts,
)
from roles.codebase_brief import CodebaseBrief
from roles.report_digest import ReportForm, cut_text, fit_lines, format_report_digest

_REPORT_FORM = ReportForm(format_planner_report, claims_label="report", hint="`recall` finds what is left out.")
_LEAST_SHARE = 4
"""Of a brief whose goal, contract and slice fill it, all else has this part of its room beside them."""
_LEAST_CHARS = 1_200
"""All else has at least so much, however small the window is."""
_NEWS_WEIGHT = 4
_TO_SETTLE_WEIGHT = 3
_HOLDS_WEIGHT = 2
"""The order of a brief's parts: those to act on before those that can be looked up."""
_ITEM_SHARE = 4
"""No item of a list takes more than this part of its room."""


def render_planner_brief(
    brief: PlanningBrief, shown: CodebaseBrief, prompts: PromptSource, workers: WorkerSettings, limit: int
) -> str:
    """Return what a planner is told, in at most `limit` characters.

    Goal, contract and slice stand there word for word: where they leave less than a quarter of it, the rest has that.
    """
    template, lines = prompts.load_prompt("planner-brief"), []
    for name, settings in sorted(workers.variants.items()):
        lines.append(f"{name}: {_describe_variant(settings, workers)}")
    limits = brief.limits
    words = (
        f"{limits.max_children} tasks in a plan; {_describe_depth(limits.max_depth - limits.depth - 1)}; "
        f"{_describe_rounds(brief)}{_describe_budget(limits)}"
    )
    values = {
        "task": brief.task.id,
        "goal": brief.goal,
        "slice": "All of it." if brief.task.outcome == brief.goal else format_slice(brief.task),
        "contract": format_contract(brief.contract, brief.met),
        "limits": words,
        "variants": format_bullets(lines, "- (only the usual worker)"),
    }
    told = len(template.render_text(**values, earlier=""))
    history = list(_iterate_history(brief))
    earlier = render_parts([*shown.list_parts(), *history], max(limit - told, limit // _LEAST_SHARE, _LEAST_CHARS))
    if not history:
        earlier = f"{earlier}\n\nThis is your first look at the slice.".strip()
    return template.render_text(**values, earlier=earlier)


def _describe_variant(variant: VariantSettings, usual: WorkerSettings) -> str:
    """Return what a planner is told of a variant: also who works, if anybody but models in the house's loop does."""
    if variant.engine == LOOP and usual.engine == LOOP:
        return variant.description or variant.model
    if variant.engine == LOOP:
        return f"{variant.description or variant.model} (a model in the loop of Orchestrate)"
    return f"{variant.description or 'another agent'} (the agent {variant.engine})"


def _describe_rounds(brief: PlanningBrief) -> str:
    if brief.rounds_left <= 0:
        return "the last time that you are asked, unless something of your slice lands after this"
    return f"asked at most {brief.rounds_left} more times, those after something has landed not counted"


def _describe_depth(left: int) -> str:
    if left <= 0:
        return "no branch tasks, you stand at the deepest level"
    return f"{left} level{'s' if left > 1 else ''} of planners below you"


def _describe_budget(limits: PlanLimits) -> str:
    """Return what the slice has left to spend, if anything bounds it."""
    left = []
    if limits.left_usd is not None and limits.has_prices:
        left.append(format_exact_dollars(limits.left_usd))
    if limits.left_tokens is not None:
        left.append(f"{limits.left_tokens:,} tokens")
    if left:
        return f"; your slice may still use {' and '.join(left)}, your own calls included"
    return ""


def _iterate_history(brief: PlanningBrief) -> Iterator[BriefPart]:
    """Yield what happened before this round, oldest first."""
    if brief.reasons:
        lead = "The goal was not reached by what landed so far:\n"
        yield BriefPart("reasons", lead, _fence_list("reasons", brief.reasons, "reasons"), _HOLDS_WEIGHT)
    if brief.rationales:
        lead = "Why you cut the work as you did, in your own words, plan by plan:\n"
        yield BriefPart("your earlier words", lead, partial(_render_rationales, brief.rationales))
    for edit in brief.edits:
        lead = f"The person who follows the run changed your plan of round {edit.round} before its tasks began:\n"
        items = list(map(describe_plan_change, edit.changes))
        yield BriefPart(
            "what a person changed in your plan", lead, _fence_list("person", items, "changes"), _NEWS_WEIGHT
        )
    if known := [report for report in brief.reports if not report.is_news]:
        yield BriefPart("tasks of earlier rounds", "Your tasks that had ended before:\n", partial(_list_tasks, known))
    if news := [report for report in brief.reports if report.is_news]:
        lead = "Your tasks that have ended since. What became of them:\n\n"
        yield BriefPart("what became of your tasks", lead, partial(_digest_news, news), _NEWS_WEIGHT)
    if brief.under_way:
        yield BriefPart(
            "tasks under way", "Your tasks that have not ended:\n", partial(_list_tasks, brief.under_way), _HOLDS_WEIGHT
        )
    if brief.decisions:
        items = list(map(format_decision, brief.decisions))
        render = _fence_list("decisions", items, "decisions")
        yield BriefPart("decisions", "Decisions that hold for you:\n", render, _HOLDS_WEIGHT)
    if brief.contradictions:
        render = _fence_list("contradictions", brief.contradictions, "that you are told of once these are settled")
        yield BriefPart("contradictions", "For you to settle:\n", render, _TO_SETTLE_WEIGHT)
    if brief.taken:
        yield BriefPart("keys that are taken", "Keys that are taken: ", partial(_list_keys, brief.taken))


def _fence_list(label: str, items: Sequence[str], noun: str) -> Callable[[int], str]:
    """Return what writes a list as data in so many characters: the first items, and how many more there are."""

    def render_list(room: int) -> str:
        left = room - len(fence_text(label, ""))
        lines = format_bullets(items)
        if len(lines) > left:
            cut = [f"- {cut_text(item, left // _ITEM_SHARE)}" for item in items]
            lines = "\n".join(fit_lines(cut, left, noun))
        return fence_text(label, lines)

    return render_list


def _render_rationales(rationales: Sequence[str], room: int) -> str:
    """Return the words of the latest plans that there is room for, the latest one shortened where it is too long."""
    left, kept = room - len(fence_text("plans", "")) - len(_describe_left_plans(len(rationales))), list[str]()
    for words in reversed(rationales):
        left -= len(words) + 2
        if left < 0:
            break
        kept.insert(0, words)
    if not kept:
        kept.append(cut_list(rationales[-1], left + len(rationales[-1]) + 2))
    text = fence_text("plans", "\n\n".join(kept))
    if len(kept) == len(rationales):
        return text
    return f"{_describe_left_plans(len(rationales) - len(kept))}{text}"


def _describe_left_plans(count: int) -> str:
    return f"[{count:,} earlier plans are left out; `recall` finds their words]\n"


def _list_tasks(reports: Sequence[TaskReport], room: int) -> str:
    """Return a line for each task; without room for all, those that did not land and the newest, and counts."""
    lines = [f"- {format_report_line(report)}" for report in reports]
    if sum(map(len, lines)) + len(lines) <= room:
        return "\n".join(lines)
    newest = list(reports)
    newest.reverse()
    newest.sort(key=lambda report: report.status.is_reached)
    counts = Counter(report.status.word for report in reports)
    told = ", ".join(f"{count:,} {word}" for word, count in counts.most_common())
    head = f"{len(reports):,} tasks: {told}. `recall` finds what is left out."
    lines = [f"- {format_report_line(report)}" for report in newest]
    return "\n".join([head, *fit_lines(lines, room - len(head) - 1, "tasks")])


def _digest_news(news: Sequence[TaskReport], room: int) -> str:
    return format_report_digest(news, room, _REPORT_FORM)


def _list_keys(keys: Sequence[str], room: int) -> str:
    text = ", ".join(keys)
    if len(text) <= room:
        return text
    rest = " and {count:,} more; a plan that takes one comes back"
    shown = text[: max(room - len(rest), 0)].rpartition(", ")[0]
    count = len(keys) - len(shown.split(", ")) if shown else len(keys)
    return shown + rest.format(count=count)
