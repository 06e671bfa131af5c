"""The decision of a policy: a table of role × tool × path, which rule is named, and that a project only tightens."""

from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.config.policy_file import parse_rule_set
from orchestrator.domain.policy.decision import PolicyDecision, allows_host, decide_policy, find_highest_tier
from orchestrator.domain.policy.rules import STRICTNESS, HostRules, PolicyActor, PolicyRule, PolicyRules, PolicySubject
from orchestrator.domain.policy.rules import RuleSet as Rules
from orchestrator.domain.sandbox.tier import Tier

USER = """\
[[rule]] # 1
effect = "deny"
tools = "shell"
roles = "planner"
[[rule]] # 5
effect = "ask"
tools = ["github__*"]
[[rule]] # 8
effect = "deny"
tools = "github__delete_*"
reason = "nothing is deleted"
[[rule]] # 12
effect = "allow"
tools = "github__list_issues"
[[rule]] # 15
effect = "deny"
mcp = "web"
roles = "judge"
[[rule]] # 19
effect = "deny"
tools = ["read", "edit", "write"]
paths = "secrets/**"
[[rule]] # 23
effect = "ask"
tools = "shell"
variants = "cheap"
[[rule]] # 27
effect = "deny"
writes = ["infra/**", "*.lock"]
[[rule]] # 30
effect = "ask"
writes = "infra/docs/**"
[[rule]] # 33
effect = "ask"
merges = "db/**"
[[rule]] # 36
effect = "deny"
merges = "db/schema.sql"
roles = "arbiter"
[[rule]] # 40
effect = "deny"
tiers = 3
[[rule]] # 43
effect = "ask"
tiers = 2
roles = "worker"
[[rule]] # 47
effect = "deny"
hosts = "*.evil.test"
"""
PROJECT = """\
[[rule]] # 1
effect = "deny"
tools = "program"
[[rule]] # 4
effect = "allow"
writes = "infra/**"
[[rule]] # 7
effect = "ask"
merges = "**"
roles = "arbiter"
"""
USER_SET = parse_rule_set(USER, "user", "policy.toml")
PROJECT_SET = parse_rule_set(PROJECT, "project", "project.toml")
BOTH = (USER_SET, PROJECT_SET)


def decide(role: str, kind: str, name: str, path: str = "", variant: str = "") -> PolicyDecision:
    actor = PolicyActor.model_validate({"role": role, "variant": variant})
    return decide_policy(BOTH, actor, PolicySubject.model_validate({"kind": kind, "name": name, "path": path}))


TABLE = [
    ("planner", "tool", "shell", "", "deny", "policy.toml:1", "allow"),
    ("worker", "tool", "shell", "", "allow", "", ""),
    ("worker:cheap", "tool", "shell", "", "ask", "policy.toml:23", "allow"),
    ("worker:strong", "tool", "shell", "", "allow", "", ""),
    ("arbiter", "tool", "shell", "", "allow", "", ""),
    ("worker", "tool", "program", "", "deny", "project.toml:1", "allow"),
    ("planner", "tool", "program", "", "deny", "project.toml:1", "allow"),
    ("worker", "tool", "github__create_issue", "", "ask", "policy.toml:5", "allow"),
    ("planner", "tool", "github__create_issue", "", "ask", "policy.toml:5", "allow"),
    ("worker", "tool", "github__delete_repo", "", "deny", "policy.toml:8", "ask"),
    ("worker", "tool", "github__list_issues", "", "ask", "policy.toml:5", "allow"),
    ("judge", "tool", "web__fetch", "", "deny", "policy.toml:15", "allow"),
    ("worker", "tool", "web__fetch", "", "allow", "", ""),
    ("judge", "mcp", "web", "", "deny", "policy.toml:15", "allow"),
    ("worker", "tool", "read", "secrets/key.pem", "deny", "policy.toml:19", "allow"),
    ("worker", "tool", "read", "./src/../secrets//key.pem", "deny", "policy.toml:19", "allow"),
    ("worker", "tool", "read", "src/secrets.py", "allow", "", ""),
    ("judge", "tool", "write", "secrets", "deny", "policy.toml:19", "allow"),
    ("worker", "tool", "read", "", "allow", "", ""),
    ("worker", "write", "infra/main.tf", "", "deny", "policy.toml:27", "allow"),
    ("worker", "write", "infra/docs/a.md", "", "deny", "policy.toml:27", "ask"),
    ("arbiter", "write", "poetry.lock", "", "deny", "policy.toml:27", "allow"),
    ("worker", "write", "src/a.py", "", "allow", "", ""),
    ("worker", "merge", "db/a.sql", "", "ask", "policy.toml:33", "allow"),
    ("arbiter", "merge", "db/schema.sql", "", "deny", "policy.toml:36", "ask"),
    ("arbiter", "merge", "db/a.sql", "", "ask", "project.toml:7", "ask"),
    ("arbiter", "merge", "src/a.py", "", "ask", "project.toml:7", "allow"),
    ("worker", "merge", "src/a.py", "", "allow", "", ""),
    ("worker", "tier", "3", "", "deny", "policy.toml:40", "deny"),
    ("worker", "tier", "2", "", "ask", "policy.toml:43", "allow"),
    ("planner", "tier", "2", "", "allow", "", ""),
    ("worker", "host", "files.evil.test:443", "", "deny", "policy.toml:47", "allow"),
    ("worker", "host", "FILES.EVIL.TEST.", "", "deny", "policy.toml:47", "allow"),
    ("worker", "host", "evil.test", "", "allow", "", ""),
]


@pytest.mark.parametrize(("who", "kind", "name", "path", "effect", "place", "otherwise"), TABLE)
def test_a_row_of_the_policy_is_decided_and_its_rule_is_named(
    who: str, kind: str, name: str, path: str, effect: str, place: str, otherwise: str
) -> None:
    role, _, variant = who.partition(":")
    found = decide(role, kind, name, path, variant)
    assert found.effect == effect
    if place:
        assert (found.place, found.otherwise, found.is_default) == (place, otherwise, False)
    else:
        assert found.is_default


def test_the_reason_of_the_rule_is_told_with_its_place() -> None:
    assert decide("worker", "tool", "github__delete_repo").rule_text == "policy.toml:8: nothing is deleted"


def test_the_default_decides_where_no_rule_fits_and_is_named_as_such() -> None:
    closed = parse_rule_set('default = "deny"\n[[rule]]\neffect = "allow"\ntools = "read"\n', "user", "p.toml")
    actor = PolicyActor(role="worker")
    by_rule = decide_policy((closed,), actor, PolicySubject(kind="tool", name="read"))
    by_default = decide_policy((closed,), actor, PolicySubject(kind="tool", name="shell"))
    assert (by_rule.effect, by_rule.place, by_rule.otherwise) == ("allow", "p.toml:2", "deny")
    assert (by_default.effect, by_default.rule_text) == ("deny", "the default of p.toml:1")


def test_commands_run_at_the_highest_tier_that_is_allowed_or_that_a_person_granted() -> None:
    worker = PolicyActor(role="worker")
    assert find_highest_tier(BOTH, worker, Tier.EVERYTHING, Tier.FILES) == Tier.COMMANDS
    assert find_highest_tier(BOTH, worker, Tier.EVERYTHING, Tier.REGISTRIES) == Tier.REGISTRIES
    assert find_highest_tier((), worker, Tier.EVERYTHING, Tier.FILES) == Tier.EVERYTHING


def test_the_whole_network_is_not_given_where_a_host_is_denied() -> None:
    hosts = parse_rule_set('[[rule]]\neffect = "deny"\nhosts = "evil.test"\n', "user", "p.toml")
    assert find_highest_tier((hosts,), PolicyActor(role="worker"), Tier.EVERYTHING, Tier.FILES) == Tier.REGISTRIES
    assert not allows_host(HostRules(actor=PolicyActor(role="worker"), rule_sets=(hosts,)), "evil.test:443")


@dataclass(frozen=True)
class Words:
    """What random rules and subjects are made of."""

    roles = st.sampled_from(["planner", "worker", "judge", "verifier", "arbiter"])
    effects = st.sampled_from(["allow", "ask", "deny"])
    names = st.sampled_from(["shell", "write", "gh__a", "gh", "a/b", "a", "2", "3", "h.test"])
    globs = st.sampled_from(["*", "**", "gh__*", "gh", "shell", "a", "a/**", "*/b", "h.test", "*.test"])


RULES = st.fixed_dictionaries(
    {"effect": Words.effects},
    optional={
        "roles": st.lists(Words.roles, max_size=2),
        "variants": st.lists(Words.globs, max_size=1),
        "tiers": st.lists(st.sampled_from([1, 2, 3]), max_size=2),
        **{name: st.lists(Words.globs, max_size=2) for name in ("mcp", "hosts", "writes", "merges")},
    },
).flatmap(lambda rule: st.lists(Words.globs, min_size=1, max_size=2).map(lambda tools: {**rule, "tools": tools}))
FILES = st.builds(
    lambda default, rules: PolicyRules(default=default, rule=tuple(map(PolicyRule.model_validate, rules))),
    Words.effects,
    st.lists(RULES, max_size=4),
)
SUBJECTS = st.builds(
    PolicySubject,
    kind=st.sampled_from(["tool", "mcp", "tier", "host", "write", "merge"]),
    name=Words.names,
    path=st.sampled_from(["", "a", "a/b"]),
)
ACTORS = st.builds(PolicyActor, role=Words.roles, variant=st.sampled_from(["", "gh", "a"]))


@settings(max_examples=300, deadline=None)
@given(FILES, FILES, ACTORS, SUBJECTS)
def test_the_project_s_rules_never_make_a_decision_milder(
    user: PolicyRules, project: PolicyRules, actor: PolicyActor, subject: PolicySubject
) -> None:
    alone = Rules(origin="user", file="user.toml", rules=user)
    added = Rules(origin="project", file="project.toml", rules=project)
    before = decide_policy((alone,), actor, subject)
    after = decide_policy((alone, added), actor, subject)
    assert STRICTNESS[after.effect] >= STRICTNESS[before.effect]
    for tier in Tier:
        lowered = find_highest_tier((alone, added), actor, tier, Tier.REGISTRIES)
        assert lowered <= find_highest_tier((alone,), actor, tier, Tier.REGISTRIES)
