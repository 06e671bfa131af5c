"""Each rule has an id with a description, one check, and a folder in tests/scenarios/rules that shows what it finds.

`found.json` and `quiet.json` are facts of a change in which the rule finds something, and of a similar one in which
it finds nothing; `expected.json` is what it finds. UPDATE_GOLDEN=1 writes the latter anew.
"""

import json
import os
from pathlib import Path

import pytest
from pydantic import TypeAdapter

from orchestrator.domain.judging.verdict import Finding, RuleId
from orchestrator.judge.rules.change_facts import ChangeFacts
from orchestrator.judge.rules.registry import PROMPT_INJECTION_RULES, RULES, check_change, list_findings
from orchestrator.report.documents.run_sarif import RULE_DESCRIPTIONS

SCENARIOS = Path(__file__).parents[2] / "scenarios" / "rules"
FACTS = TypeAdapter(ChangeFacts)
FINDINGS = TypeAdapter(tuple[Finding, ...])


def read_facts(rule: RuleId, name: str) -> ChangeFacts:
    return FACTS.validate_json((SCENARIOS / rule / f"{name}.json").read_text())


def test_every_rule_is_registered_once_with_a_description() -> None:
    assert [rule.id for rule in RULES] == list(RuleId)
    assert all(rule.id.description for rule in RULES)
    assert {rule.id: rule.id.description for rule in RULES}.items() <= dict(RULE_DESCRIPTIONS).items()
    assert frozenset(RuleId) > PROMPT_INJECTION_RULES


def test_every_rule_has_a_scenario_and_every_scenario_a_rule() -> None:
    assert {folder.name for folder in SCENARIOS.iterdir()} == {rule.value for rule in RuleId}


@pytest.mark.parametrize("rule", RuleId)
def test_a_rule_finds_what_its_scenario_says_under_its_own_id(rule: RuleId) -> None:
    expected = SCENARIOS / rule / "expected.json"
    findings = tuple(list_findings(rule, read_facts(rule, "found")))
    if os.environ.get("UPDATE_GOLDEN"):
        values = FINDINGS.dump_python(findings, mode="json", exclude_defaults=True)
        expected.write_text(json.dumps(values, indent=2) + "\n")
    assert findings == FINDINGS.validate_json(expected.read_text())
    assert findings
    assert {finding.rule for finding in findings} == {rule}


@pytest.mark.parametrize("rule", RuleId)
def test_a_rule_finds_nothing_in_a_similar_change_that_is_well(rule: RuleId) -> None:
    found = list_findings(rule, read_facts(rule, "quiet"))
    assert [finding.text for finding in found if not finding.is_granted] == []


@pytest.mark.parametrize("rule", RuleId)
def test_the_registry_runs_the_rule(rule: RuleId) -> None:
    assert rule in {finding.rule for finding in check_change(read_facts(rule, "found"))}


def test_nothing_is_found_without_facts() -> None:
    assert check_change(ChangeFacts()) == ()


def test_a_caller_may_take_back_grants_and_make_findings_block_rule_by_rule() -> None:
    facts = read_facts(RuleId.WEAKENED, "found")
    assert [one.is_blocking for one in check_change(facts)] == [False]
    assert [one.is_blocking for one in check_change(facts, blocking={RuleId.WEAKENED})] == [True]
    assert [one.rule for one in check_change(facts, without_grants={RuleId.PROTECTED, RuleId.WEAKENED})] == [
        "protected"
    ]
