"""Files that tell agents what to do are flagged: the usual ones, and those that the user's settings name."""

import pytest

from orchestrator.judge.rules.change_facts import ChangeFacts
from orchestrator.judge.rules.unusual_files import check_agent_rules
from tests.unit.judge.changes import changed

NAMES = ("HOUSE.md", "!odd name")


def list_flagged(*paths: str, rule_files: tuple[str, ...] = NAMES) -> list[str]:
    """The paths of these that are told to reviewers as rules for agents."""
    facts = ChangeFacts([changed(path, "a\n", "b\n") for path in paths], rule_files=rule_files)
    findings = tuple(check_agent_rules(facts))
    assert not any(finding.is_blocking for finding in findings)
    return [finding.path for finding in findings]


@pytest.mark.parametrize("path", ["HOUSE.md", "web/HOUSE.md", "web/!odd name"])
def test_a_file_that_the_settings_name_is_flagged_in_any_directory(path: str) -> None:
    assert list_flagged(path) == [path]
    assert list_flagged(path, rule_files=()) == []


def test_a_file_that_only_sounds_like_it_is_not_flagged() -> None:
    assert list_flagged("HOUSE.md/a.txt", "HOUSE.md.txt", "MYHOUSE.md", "house.md", "odd name") == []


def test_the_usual_files_are_flagged_whatever_the_settings_name() -> None:
    assert list_flagged("AGENTS.md", "web/CLAUDE.md", rule_files=("HOUSE.md",)) == ["AGENTS.md", "web/CLAUDE.md"]


def test_a_file_that_has_both_kinds_of_names_is_flagged_once() -> None:
    assert list_flagged("AGENTS.md", rule_files=("AGENTS.md",)) == ["AGENTS.md"]
