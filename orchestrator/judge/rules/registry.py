"""The one list of rules that look into a change: what it may not touch, what it may not do, what is only told of it."""

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass

from orchestrator.domain.judging.rules import RuleId
from orchestrator.domain.judging.verdict import Finding
from orchestrator.judge.rules.change_facts import ChangeFacts
from orchestrator.judge.rules.change_size import check_change_size, check_empty_change
from orchestrator.judge.rules.confusable_identifiers import check_confusable_identifiers
from orchestrator.judge.rules.credentials import check_credentials
from orchestrator.judge.rules.flag_limits import MAX_FLAGS_PER_RULE, limit_flags
from orchestrator.judge.rules.flaky import check_flaky
from orchestrator.judge.rules.forgery import check_forgery
from orchestrator.judge.rules.formatting_only import check_formatting_only
from orchestrator.judge.rules.hidden_characters import check_hidden_characters
from orchestrator.judge.rules.linter_settings import check_linter_settings
from orchestrator.judge.rules.new_tests import check_new_tests
from orchestrator.judge.rules.prompt_injection import check_prompt_injection
from orchestrator.judge.rules.protected_files import check_protected_files
from orchestrator.judge.rules.snapshot_findings import check_flagged_files, check_leaked_secrets, check_left_out_files
from orchestrator.judge.rules.suppressions import check_suppressions
from orchestrator.judge.rules.task_scope import check_task_scope
from orchestrator.judge.rules.unreadable_code import check_unreadable_code
from orchestrator.judge.rules.unusual_files import check_binary_files, check_file_modes, check_generated_files
from orchestrator.judge.rules.weakened_assertions import check_weakened_assertions


@dataclass(frozen=True)
class Rule:
    """A rule with its check, which may block the thread while it parses sources.

    At most `max_flags` of its findings that block nothing are told.
    """

    id: RuleId
    check: Callable[[ChangeFacts], Iterable[Finding]]
    max_flags: int = MAX_FLAGS_PER_RULE

    @property
    def description(self) -> str:
        """A few words on what the rule finds."""
        return self.id.description


RULES: tuple[Rule, ...] = (
    Rule(RuleId.EMPTY, check_empty_change),
    Rule(RuleId.SIZE, check_change_size),
    Rule(RuleId.SECRET, check_leaked_secrets),
    Rule(RuleId.DROPPED, check_left_out_files),
    Rule(RuleId.FLAGGED, check_flagged_files),
    Rule(RuleId.SCOPE, check_task_scope),
    Rule(RuleId.PROTECTED, check_protected_files),
    Rule(RuleId.FORGERY, check_forgery),
    Rule(RuleId.UNREADABLE, check_unreadable_code),
    Rule(RuleId.SUPPRESSION, check_suppressions),
    Rule(RuleId.CREDENTIAL, check_credentials),
    Rule(RuleId.WEAKENED, check_weakened_assertions),
    Rule(RuleId.IDENTIFIER, check_confusable_identifiers),
    Rule(RuleId.MODE, check_file_modes),
    Rule(RuleId.LINTER, check_linter_settings),
    Rule(RuleId.BINARY, check_binary_files),
    Rule(RuleId.GENERATED, check_generated_files),
    Rule(RuleId.LAYOUT, check_formatting_only),
    Rule(RuleId.ADDRESSED, check_prompt_injection, max_flags=20),
    Rule(RuleId.HIDDEN_TEXT, check_hidden_characters, max_flags=20),
    Rule(RuleId.FLAKY, check_flaky),
    Rule(RuleId.NEW_TESTS, check_new_tests),
)
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
    for rule in RULES:
        found = limit_flags(_run_rule(rule, facts, without_grants), rule.max_flags)
        if rule.id in blocking:
            findings += (finding.model_copy(update={"is_blocking": True}) for finding in found)
        else:
            findings += found
    return tuple(findings)


def _run_rule(rule: Rule, facts: ChangeFacts, without_grants: Collection[RuleId]) -> Iterable[Finding]:
    if rule.id in without_grants:
        return rule.check(facts.without_grants())
    return rule.check(facts)


def list_findings(rule: RuleId, facts: ChangeFacts) -> Iterator[Finding]:
    """Iterate over everything that one rule finds in a change, without a limit. Blocks."""
    for one in RULES:
        if one.id == rule:
            yield from one.check(facts)
