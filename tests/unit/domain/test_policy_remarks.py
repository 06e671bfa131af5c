"""Rules that can be read and do nothing are named at their line; rules that do something are not."""

import pytest

from orchestrator.agent.tools.known_tools import KNOWN_TOOLS, PATH_TOOLS
from orchestrator.config.policy_file import parse_rule_set
from orchestrator.domain.policy.remarks import PolicyNames, find_policy_remarks

NAMES = PolicyNames(tools=KNOWN_TOOLS, path_tools=PATH_TOOLS, variants=("cheap",))


def rule(effect: str, **fields: object) -> str:
    lines = [f"{name} = {value!r}" for name, value in fields.items()]
    return "\n".join(["[[rule]]", f'effect = "{effect}"', *lines]) + "\n"


def told(user: str, project: str = "") -> list[tuple[str, str]]:
    sets = (parse_rule_set(user, "user", "u.toml"), parse_rule_set(project, "project", "p.toml"))
    return [(one.place, one.text) for one in find_policy_remarks(sets, NAMES)]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (rule("deny", tools="shel"), "no tool is called 'shel'"),
        (rule("deny", tools="shell", paths="x"), "name no path"),
        (rule("deny", tools="shell", variants="dear"), "no variant of the worker is called 'dear'"),
        (rule("deny", tools="shell", variants="cheap", roles="judge"), "only workers have variants"),
        (rule("deny", writes="x", roles="planner"), "writes never happens in the roles planner"),
        (rule("deny", merges="x", roles="judge"), "merges never happens in the roles judge"),
        (rule("deny", tiers=0), "tier 0 runs no commands"),
        (rule("ask", hosts="a.test"), "cannot wait for a person"),
        (rule("allow", tools="shell"), "allow has no effect"),
    ],
)
def test_a_rule_that_does_nothing_is_named(text: str, words: str) -> None:
    ((place, said),) = told(text)
    assert (place, words in said) == ("u.toml:1", True)


@pytest.mark.parametrize(
    "text",
    [
        rule("deny", tools="shell", roles="planner"),
        rule("deny", tools="github__*", paths="x"),
        rule("deny", tools="*"),
        rule("ask", tools="read", paths="x"),
        rule("deny", tools="shell", variants="ch*"),
        'default = "deny"\n' + rule("allow", tools="read"),
        rule("ask", writes="infra/**") + rule("deny", writes="infra/a"),
        rule("deny", writes="infra/**", roles="worker") + rule("deny", writes="infra/a"),
        rule("deny", tools="read", paths="a/**") + rule("deny", tools="read"),
    ],
)
def test_a_rule_that_does_something_is_not_named(text: str) -> None:
    assert told(text) == []


def test_a_rule_of_which_a_stricter_one_says_all_is_named_with_that_one() -> None:
    both = rule("ask", writes="infra/docs/**", roles="worker") + rule("deny", writes="infra/**")
    assert told(both) == [("u.toml:1", "has no effect: u.toml:5 says deny of all that it is about")]


def test_what_a_project_allows_has_no_effect_and_its_copy_of_a_user_s_rule_neither() -> None:
    found = told(rule("deny", tools="shell"), rule("allow", tools="shell") + rule("deny", tools="shell"))
    assert [place for place, _ in found] == ["p.toml:1", "p.toml:4"]
