"""The report on a replay as lines for a person."""

import json
from collections.abc import Iterator, Sequence

from orchestrator.domain.text.listing import join_limited
from orchestrator.domain.text.sanitization import to_one_line
from orchestrator.replay.comparison.report import RepeatedRole, ReplayReport
from orchestrator.replay.comparison.report_model import ComparedCall, ComparedLanding
from orchestrator.replay.comparison.requests import Divergence

_SHOWN = 60
_UNITS = 4


def render_report(report: ReplayReport) -> Iterator[str]:
    """Yield what a person reads, most important first."""
    yield f"replay of {report.run}: {_verdict(report)}"
    expected = [one for one in report.divergences if one not in report.unexpected]
    if report.unexpected:
        yield from _iterate_divergence_lines("divergence", report.unexpected)
    elif expected:
        yield from _iterate_divergence_lines("changed prompt", expected)
    if report.mode == "goal":
        yield f"  requests    {_format_requests(report)}"
    for pair in report.landings:
        yield f"  landing {pair.number:<3} {_format_landing(pair)}"
    yield f"  final tree  {_format_trees(report.recorded_tree, report.replayed_tree)}"
    yield f"  outcome     {_format_outcome(report)}"
    if not report.has_same_environment:
        yield "  note        tools or policy are not those of the recording: commands may do something else"
    if report.asking:
        yield from _iterate_reasked_lines(report.asking)
    if report.kept:
        yield f"  kept        {report.kept}"


def _verdict(report: ReplayReport) -> str:
    so_far = ", as far as the recording goes" * (not report.is_whole)
    if report.asking:
        run = "it diverges" if report.unexpected else "the run is the same"
        return f"{run}{so_far}; the {report.asking.role} was asked again"
    if report.divergences:
        return f"it diverges{so_far}"
    return f"the same{so_far}"


def _iterate_divergence_lines(what: str, found: Sequence[Divergence]) -> Iterator[str]:
    first, more, where = found[0], "", ""
    if len(found) > 1:
        more = f" ({len(found) - 1} more follow)"
    if first.session:
        where = f"{first.role} session {first.session}, turn {first.turn}: "
    yield f"  first {what}, at event {first.seq}{more}"
    yield f"    {where}{first.what}"
    for line in first.diff:
        yield f"      {line}"


def _format_requests(report: ReplayReport) -> str:
    different = sum(one.session is not None for one in report.divergences)
    parts = [f"{report.same_bytes} the same byte for byte"]
    if report.same_steadied:
        parts.append(f"{report.same_steadied} but for times and made-up names")
    if different:
        parts.append(f"{different} different")
    return ", ".join(parts)


def _format_landing(pair: ComparedLanding) -> str:
    commit = ", other commit" * (pair.same and not pair.same_commit)
    return f"{_format_trees(pair.recorded, pair.replayed)}{commit}  {join_limited(pair.units, _UNITS)}"


def _format_trees(then: str | None, now: str | None) -> str:
    if then == now:
        return f"{(then or '')[:12]} the same"
    return f"{(then or 'nothing')[:12]} recorded, {(now or 'nothing')[:12]} replayed"


def _format_outcome(report: ReplayReport) -> str:
    if report.recorded_outcome == report.replayed_outcome:
        return f"{report.recorded_outcome}, as recorded"
    return f"{report.recorded_outcome} recorded, {report.replayed_outcome} replayed"


def _iterate_reasked_lines(asking: RepeatedRole) -> Iterator[str]:
    yield f"the {asking.role} on {', '.join(asking.models)}"
    for call in asking.calls:
        yield from _iterate_call_lines(call)
    counts = f"{asking.same_count} of {len(asking.calls)} calls decide the same"
    if asking.failed_count:
        counts += f", {asking.failed_count} failed"
    yield f"  {counts}; asking again cost {asking.spent.cost_text} ({asking.spent.tokens:,} tokens)"


def _iterate_call_lines(call: ComparedCall) -> Iterator[str]:
    sign, now = "!", call.new
    if now is None:
        now = f"failed: {call.error}"
    elif call.same:
        sign, now = "=", "the same"
    yield f"  {sign} {call.session} turn {call.turn}: {to_one_line(call.recorded, 120)} → {to_one_line(now, 120)}"
    if (first := call.first_difference) and not call.same:
        yield f"      at {first.at}: {_shorten(first.recorded)} → {_shorten(first.new)}"


def _shorten(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False)
    if len(text) <= _SHOWN:
        return text
    return f"{text[:_SHOWN]}…"
