"""The one list of rules that look into a change: what it may not touch, what it may not do, what is only told of it."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, replace

from orchestrator.domain.judging.verdict import Finding, RuleId
from orchestrator.judge.rules import (
    behaviour,
    conflict_markers,
    denied_paths,
    evolved_tests,
    forgery,
    inline_tests,
    misleading_text,
    new_tests,
    protected_files,
    run_traces,
    suppressions,
    survivors,
    task_scope,
    unusual_files,
    weakened_assertions,
    whole_change,
)
from orchestrator.judge.rules.change_facts import ChangeFacts, build_flag

MAX_FLAGS_PER_RULE = 5
"""Whoever reads more than that of one rule reads none."""


@dataclass(frozen=True)
class Rule:
    """A rule with its check, which may block the thread while it parses sources.

    At most `max_flags` of its findings that block nothing are told.
    """

    id: RuleId
    check: Callable[[ChangeFacts], Iterable[Finding]]
    max_flags: int = MAX_FLAGS_PER_RULE


RULES: tuple[Rule, ...] = (
    Rule(RuleId.EMPTY, whole_change.check_empty_change),
    Rule(RuleId.SIZE, whole_change.check_change_size),
    Rule(RuleId.SECRET, whole_change.check_leaked_secrets),
    Rule(RuleId.DROPPED, whole_change.check_left_out_files),
    Rule(RuleId.FLAGGED, whole_change.check_flagged_files),
    Rule(RuleId.SCOPE, task_scope.check_task_scope),
    Rule(RuleId.POLICY, denied_paths.check_denied_paths),
    Rule(RuleId.PROTECTED, protected_files.check_protected_files),
    Rule(RuleId.PICKED_UP, protected_files.check_newcomers),
    Rule(RuleId.INLINE_TEST, inline_tests.check_inline_tests),
    Rule(RuleId.CONFLICT_MARKER, conflict_markers.check_conflict_markers),
    Rule(RuleId.FORGERY, forgery.check_forgery),
    Rule(RuleId.UNREADABLE, unusual_files.check_unreadable_code),
    Rule(RuleId.SUPPRESSION, suppressions.check_suppressions),
    Rule(RuleId.CREDENTIAL, misleading_text.check_credentials),
    Rule(RuleId.WEAKENED, weakened_assertions.check_weakened_assertions),
    Rule(RuleId.EVOLVED, evolved_tests.check_evolved_tests),
    Rule(RuleId.IDENTIFIER, misleading_text.check_confusable_identifiers),
    Rule(RuleId.MODE, unusual_files.check_file_modes),
    Rule(RuleId.AGENT_RULES, unusual_files.check_agent_rules),
    Rule(RuleId.LINTER, unusual_files.check_linter_settings),
    Rule(RuleId.BINARY, unusual_files.check_binary_files),
    Rule(RuleId.GENERATED, unusual_files.check_generated_files),
    Rule(RuleId.LAYOUT, unusual_files.check_formatting_only),
    Rule(RuleId.ADDRESSED, misleading_text.check_prompt_injection, max_flags=20),
    Rule(RuleId.HIDDEN_TEXT, misleading_text.check_hidden_characters, max_flags=20),
    Rule(RuleId.FLAKY, whole_change.check_flaky),
    Rule(RuleId.NEW_TESTS, new_tests.check_new_tests),
    Rule(RuleId.REPLACED, run_traces.check_replaced_functions),
    Rule(RuleId.LOADED, run_traces.check_loaded_modules),
    Rule(RuleId.WRITTEN, run_traces.check_written_files),
    Rule(RuleId.UNGUARDED, run_traces.check_guard),
    Rule(RuleId.LENIENT, behaviour.check_lenient_comparisons),
    Rule(RuleId.TEST_AWARE, behaviour.check_test_awareness),
    Rule(RuleId.SURVIVOR, survivors.check_survivors),
)
TRACE_RULES = frozenset(
    {RuleId.REPLACED, RuleId.LOADED, RuleId.WRITTEN, RuleId.UNGUARDED, RuleId.LENIENT, RuleId.TEST_AWARE}
)
"""The rules that look at what test runs did."""
PROMPT_INJECTION_RULES = frozenset({RuleId.ADDRESSED, RuleId.HIDDEN_TEXT})
"""The rules on text that could talk a reviewer into something."""


def check_change(
    facts: ChangeFacts, *, blocking: Collection[RuleId] = (), without_grants: Collection[RuleId] = ()
) -> tuple[Finding, ...]:
    """Return the findings of all rules, in their order, of each with a limit on what is only told. Blocks.

    Args:
        facts: what is known of the change.
        blocking: rules of which every finding blocks.
        without_grants: rules that hold as if the plan had granted nothing.
    """
    findings: list[Finding] = []
    ungranted = replace(facts, grants=())
    for rule in RULES:
        known = ungranted if rule.id in without_grants else facts
        found = limit_flags(rule.check(known), rule.max_flags)
        if rule.id in blocking:
            findings += (finding.model_copy(update={"is_blocking": True}) for finding in found)
        else:
            findings += found
    return tuple(findings)


def check_run_traces(facts: ChangeFacts) -> tuple[Finding, ...]:
    """Return the findings of the rules over traces, of each with a limit on what is only told. Blocks."""
    findings: list[Finding] = []
    for rule in RULES:
        if rule.id in TRACE_RULES:
            findings += limit_flags(rule.check(facts), rule.max_flags)
    return tuple(findings)


def list_findings(rule: RuleId, facts: ChangeFacts) -> Iterator[Finding]:
    """Iterate over everything that one rule finds in a change, without a limit. Blocks."""
    for one in RULES:
        if one.id == rule:
            yield from one.check(facts)


def limit_flags(findings: Iterable[Finding], limit: int = MAX_FLAGS_PER_RULE) -> tuple[Finding, ...]:
    """Return the findings with at most `limit` of each rule that block nothing, and then how many were left out."""
    counts: Counter[str] = Counter()
    kept = []
    for finding in findings:
        if not finding.is_blocking:
            counts[finding.rule] += 1
        if finding.is_blocking or counts[finding.rule] <= limit:
            kept.append(finding)
    for rule, count in counts.items():
        if count > limit:
            kept.append(build_flag(rule, f"and {count - limit} more of the kind `{rule}`"))
    return tuple(kept)
