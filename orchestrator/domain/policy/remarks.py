"""What is wrong with rules that can be read: those that can never match, and those without effect. Pure.

A remark is given only where it is certain: a tool of an MCP server or a host may come from anywhere.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from orchestrator.domain.chat import Role
from orchestrator.domain.frozen_model import FrozenModel
from orchestrator.domain.paths.globs import is_covered
from orchestrator.domain.policy.decision import MCP_MARK
from orchestrator.domain.policy.rules import STRICTNESS, SUBJECT_FIELDS, PolicyRule, RuleSet
from orchestrator.domain.sandbox.tier import Tier

_ACTING_ROLES: Mapping[str, frozenset[Role]] = {
    "tiers": frozenset({"planner", "worker", "arbiter"}),
    "hosts": frozenset({"planner", "worker", "arbiter"}),
    "writes": frozenset({"worker", "arbiter", "verifier"}),
    "merges": frozenset({"worker", "arbiter", "verifier"}),
}
"""The roles that ever do what these fields are about."""
_WILDCARDS = frozenset("*?[")


class PolicyRemark(FrozenModel):
    """A rule that does nothing: where it stands, and why."""

    place: str
    text: str


@dataclass(frozen=True)
class PolicyNames:
    """The names that rules can mean: tools, those whose calls name a path, and the worker's variants."""

    tools: Collection[str]
    path_tools: Collection[str]
    variants: Collection[str]


def find_policy_remarks(rule_sets: Sequence[RuleSet], names: PolicyNames) -> tuple[PolicyRemark, ...]:
    """Return the rules that can never match or have no effect, in the order of the files."""
    remarks = []
    for rule_set in rule_sets:
        for number, rule in enumerate(rule_set.rules.rule):
            reasons = list(_iterate_mismatches(rule, names)) or list(_iterate_idle_reasons(rule_sets, rule_set, number))
            for reason in reasons:
                remarks.append(PolicyRemark(place=rule_set.locate_rule(number), text=reason))
    return tuple(remarks)


def _iterate_mismatches(rule: PolicyRule, names: PolicyNames) -> Iterator[str]:
    """Yield why parts of a rule can never match."""
    yield from _iterate_unknown_names(rule, names)
    for field, roles in _ACTING_ROLES.items():
        if getattr(rule, field) and rule.roles and roles.isdisjoint(rule.roles):
            yield f"{field} never happens in the roles {', '.join(rule.roles)}"
    if Tier.FILES in rule.tiers:
        yield "tier 0 runs no commands, so that there is nothing to decide"
    if rule.hosts and rule.effect == "ask":
        yield "a connection cannot wait for a person, so that ask is kept as deny: write deny"


def _iterate_unknown_names(rule: PolicyRule, names: PolicyNames) -> Iterator[str]:
    """Yield which variants and tools of a rule do not exist, or not with paths."""
    if rule.variants and rule.roles and "worker" not in rule.roles:
        yield "only workers have variants, and the rule is not about them"
    for variant in rule.variants:
        if not any(fnmatchcase(known, variant) for known in names.variants):
            known = ", ".join(sorted(names.variants)) or "none"
            yield f"no variant of the worker is called {variant!r}; there are: {known}"
    for tool in rule.tools:
        if not _may_name_tool(tool, names.tools):
            yield f"no tool is called {tool!r}; there are: {', '.join(sorted(names.tools))}, and SERVER__TOOL of MCP"
        elif rule.paths and not rule.mcp and not _may_name_tool(tool, names.path_tools):
            yield f"calls of {tool!r} name no path, so that paths keeps the rule from matching"


def _may_name_tool(glob: str, tools: Collection[str]) -> bool:
    """Return True if a glob may fit one of the tools, or the tool of an MCP server, of which nobody knows the names."""
    if MCP_MARK in glob or glob[0] in _WILDCARDS:
        return True
    return any(fnmatchcase(tool, glob) for tool in tools)


def _iterate_idle_reasons(rule_sets: Sequence[RuleSet], rule_set: RuleSet, number: int) -> Iterator[str]:
    """Yield why a rule that may match changes nothing."""
    rule = rule_set.rules.rule[number]
    if rule.effect == "allow" and rule_set.rules.default == "allow":
        if rule_set.origin == "project":
            yield "the project's file can only tighten what the user allows, so that allow has no effect"
        else:
            yield "everything is allowed already that no rule denies or asks about, so that allow has no effect"
        return
    for other in rule_sets:
        for place, stricter in enumerate(other.rules.rule):
            is_later_twin = other is rule_set and place > number and stricter.effect == rule.effect
            is_itself = other is rule_set and place == number
            if is_itself or is_later_twin or not _covers_rule(stricter, rule):
                continue
            if rule_set.origin == "user" and other.origin == "project":
                continue  # the user's file holds in other projects as well
            yield f"has no effect: {other.locate_rule(place)} says {stricter.effect} of all that it is about"
            return


def _covers_rule(outer: PolicyRule, inner: PolicyRule) -> bool:
    """Return True if a rule is at least as strict as another one, on all that the other one is about."""
    if STRICTNESS[outer.effect] < STRICTNESS[inner.effect]:
        return False
    if outer.roles and not (inner.roles and set(inner.roles) <= set(outer.roles)):
        return False
    for field in ("variants", "paths"):
        outer_globs, inner_globs = getattr(outer, field), getattr(inner, field)
        if outer_globs and not (inner_globs and _covers_globs(outer_globs, inner_globs)):
            return False
    return all(_covers_globs(getattr(outer, name), getattr(inner, name)) for name in SUBJECT_FIELDS)


def _covers_globs(outer: Sequence[object], inner: Sequence[object]) -> bool:
    for wanted in inner:
        if wanted not in outer and not any(is_covered(str(wanted), str(glob)) for glob in outer):
            return False
    return True
