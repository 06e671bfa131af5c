"""Rules over behaviour that outcomes of tests do not tell: equal to too much, or other than in a test."""

from collections.abc import Iterable, Iterator, Sequence

from orchestrator.domain.judging.run_trace import LenientComparison, RunTrace
from orchestrator.domain.judging.verdict import Finding, RuleId
from orchestrator.judge.behaviour.replayed_calls import TestAwareCall
from orchestrator.judge.files.changed_file import is_test_path
from orchestrator.judge.rules.change_facts import ChangeFacts, build_flag

_SEVERE_OPERATORS = frozenset({"==", "-"})
"""Comparisons that say yes to a foreign object in no honest class; an infinity may be above, a set hold anything."""
_EQUAL_ADVICE = ": compare what the object is, and return NotImplemented for what it cannot know"
_AWARE_ADVICE = ": let code do the same whether it is tested or not"


def check_lenient_comparisons(facts: ChangeFacts) -> Iterator[Finding]:
    """Yield a finding for each comparison of a changed file that says yes to other values than a test expects.

    Equal to a foreign object, or in place of a built-in value also to another one: red. Else reviewers are told.
    """
    known = {_get_identity(one) for one in _list_comparisons(facts.base_traces)}
    changed = {file.path for file in facts.files if file.has_new_content}
    groups: dict[tuple[str, str], list[LenientComparison]] = {}
    for one in _list_comparisons(facts.traces):
        if one.path in changed and _get_identity(one) not in known:
            groups.setdefault((one.class_name, one.operator), []).append(one)
    for found in groups.values():
        yield _build_comparison_finding(facts, found)


def _build_comparison_finding(facts: ChangeFacts, found: Sequence[LenientComparison]) -> Finding:
    kinds = {one.kind: one for one in found}
    one = kinds.get("foreign") or kinds.get("changed") or kinds.get("near") or kinds.get("case") or found[0]
    is_foreign = "foreign" in kinds and one.operator in _SEVERE_OPERATORS
    is_disguise = "builtin" in kinds and not kinds.keys().isdisjoint({"changed", "near"})
    is_own = one.line == 0 or _has_added_line(facts, one.path, one.line, one.end_line)
    is_severe = (is_foreign or is_disguise) and is_own and not is_test_path(one.path)
    text = _describe_comparison(one, found)
    return facts.build_finding(
        RuleId.LENIENT, text, one.path, one.line or None, advice=_EQUAL_ADVICE, is_severe=is_severe
    )


def _describe_comparison(one: LenientComparison, found: Sequence[LenientComparison]) -> str:
    where = f"as {one.test or 'a test'} compares it with {one.expected}"
    if one.kind == "builtin":
        return f"{one.class_name} passes for {one.expected} by an equality of its own, {where}"
    others = "; ".join(dict.fromkeys(other.also_equal for other in found if other.kind != "builtin"))
    return f"{one.class_name} says the same of other values by `{one.operator}`, {where}: {others}"


def check_test_awareness(facts: ChangeFacts) -> Iterator[Finding]:
    """Yield a finding for each function that ends otherwise outside a test, and a flag if no call could be made again.

    Red where the change touches the function; what the program's arguments alone explain is only told.
    """
    report = facts.replay
    if report is None:
        return
    seen = set[tuple[str, str]]()
    for aware in report.test_aware:
        key = (aware.call.path, aware.call.name)
        if key not in seen:
            seen.add(key)
            yield _build_awareness_finding(facts, aware)
    if report.recorded and not report.made:
        text = f"none of {report.recorded} recorded calls of changed code could be made again outside a test run"
        yield build_flag(RuleId.TEST_AWARE, text)


def _build_awareness_finding(facts: ChangeFacts, aware: TestAwareCall) -> Finding:
    call = aware.call
    text = (
        f"{call.name} behaves otherwise when it is not being tested: a call that gave {call.shown} in two tests gives "
        f"{aware.outside} in a plain program, each time"
    )
    if aware.is_by_arguments:
        text += "; it goes by the arguments that the program was started with"
    is_own = _has_added_line(facts, call.path, call.line, call.end_line) or _has_line_outside(facts, call.path)
    is_severe = is_own and not aware.is_by_arguments
    return facts.build_finding(RuleId.TEST_AWARE, text, call.path, call.line, advice=_AWARE_ADVICE, is_severe=is_severe)


def _has_line_outside(facts: ChangeFacts, path: str) -> bool:
    """Return True if a line was added to a file outside all of its functions whose calls were recorded."""
    ranges = []
    for trace in facts.traces:
        for guard in trace.guards:
            for call in guard.calls:
                if call.path == path:
                    ranges.append(range(call.line, call.end_line + 1))
    for line in facts.lines:
        if line.path == path and line.text.strip() and not any(line.number in one for one in ranges):
            return True
    return False


def _has_added_line(facts: ChangeFacts, path: str, first: int, last: int) -> bool:
    return any(line.path == path and first <= line.number <= last for line in facts.lines)


def _get_identity(one: LenientComparison) -> tuple[str, str, str]:
    return one.class_name, one.operator, one.kind


def _list_comparisons(traces: Iterable[RunTrace]) -> list[LenientComparison]:
    found: list[LenientComparison] = []
    for trace in traces:
        for guard in trace.guards:
            found += guard.lenient
    return found
