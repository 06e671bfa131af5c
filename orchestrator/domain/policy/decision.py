"""The decision of a policy: (who, what) → allow, ask or deny, with the rule that decides. Pure.

Within a file deny beats ask beats allow, and its default counts where no rule fits. Of two files the stricter decision
counts, so that the project's can only tighten the user's.
"""

import posixpath
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache

from orchestrator.domain.frozen_model import FrozenModel
from orchestrator.domain.paths.globs import matches_glob
from orchestrator.domain.policy.rules import (
    STRICTNESS,
    HostRules,
    PolicyActor,
    PolicyEffect,
    PolicyOrigin,
    PolicyRule,
    PolicySubject,
    RuleSet,
    SubjectKind,
)
from orchestrator.domain.sandbox.tier import Tier

MCP_MARK = "__"
"""The mark between the server and the tool in the name of a tool of an MCP server."""
_PATH_KINDS: tuple[SubjectKind, ...] = ("write", "merge")
_WILDCARDS = frozenset("*?[]")


class PolicyDecision(FrozenModel):
    """The effect on a subject, with the rule that decides.

    `place` is `FILE:LINE` of the rule, or of the default (`is_default`); empty where there is no policy file.
    `reason` is the rule's own. `otherwise` is the effect that would count without that rule.
    """

    effect: PolicyEffect
    origin: PolicyOrigin | None = None
    place: str = ""
    reason: str = ""
    is_default: bool = False
    otherwise: PolicyEffect = "allow"

    @property
    def is_allowed(self) -> bool:
        """True if nobody has to be asked."""
        return self.effect == "allow"

    @property
    def rule_text(self) -> str:
        """The rule for people: where it stands, and its reason where it gives one."""
        if not self.place:
            return "no policy file"
        name = f"the default of {self.place}" if self.is_default else self.place
        if self.reason:
            return f"{name}: {self.reason}"
        return name


_ALLOWED = PolicyDecision(effect="allow")
"""The decision where no file says anything; one object, as every call of a tool asks several times."""


@dataclass(frozen=True)
class _Ground:
    """A rule that fits, or a file's default: what it says, and how closely it fits."""

    rule_set: RuleSet
    number: int | None
    effect: PolicyEffect
    closeness: tuple[int, int]

    @property
    def rank(self) -> tuple[int, int, tuple[int, int]]:
        """Its place among the grounds: the strictest first, rules before defaults, the most specific before others."""
        return STRICTNESS[self.effect], int(self.number is not None), self.closeness


def decide_policy(rule_sets: Sequence[RuleSet], actor: PolicyActor, subject: PolicySubject) -> PolicyDecision:
    """Return what the files say of a subject, and the most specific rule that says it.

    Args:
        rule_sets: the files, the user's first: of rules that fit as closely, the earlier one is named.
        actor: who acts.
        subject: what is to happen.
    """
    grounds = list(_iterate_grounds(rule_sets, actor, subject))
    if not grounds:
        return _ALLOWED
    strongest = max(grounds, key=lambda ground: ground.rank)
    others = [ground for ground in grounds if ground is not strongest]
    return _describe_ground(strongest, _find_other_effect(rule_sets, others, strongest))


def _describe_ground(ground: _Ground, otherwise: PolicyEffect) -> PolicyDecision:
    rule_set = ground.rule_set
    if ground.number is None:
        place, reason = rule_set.default_place, ""
    else:
        place, reason = rule_set.locate_rule(ground.number), rule_set.rules.rule[ground.number].reason
    return PolicyDecision(
        effect=ground.effect,
        origin=rule_set.origin,
        place=place,
        reason=reason,
        is_default=ground.number is None,
        otherwise=otherwise,
    )


def _find_other_effect(rule_sets: Sequence[RuleSet], others: Iterable[_Ground], without: _Ground) -> PolicyEffect:
    """Return the effect without one ground: a file of which no rule fits any more falls back to its default."""
    effects: list[PolicyEffect] = ["allow"]
    standing = []
    for ground in others:
        effects.append(ground.effect)
        standing.append(ground.rule_set)
    if without.number is not None and without.rule_set not in standing:
        effects.append(without.rule_set.rules.default)
    return max(effects, key=STRICTNESS.__getitem__)


def _iterate_grounds(rule_sets: Sequence[RuleSet], actor: PolicyActor, subject: PolicySubject) -> Iterator[_Ground]:
    """Yield the rules of every file that fit, and the default of a file of which none does."""
    for rule_set in rule_sets:
        fitting = []
        for number, rule in enumerate(rule_set.rules.rule):
            closeness = _measure_closeness(rule, actor, subject)
            if closeness is not None:
                fitting.append(_Ground(rule_set, number, rule.effect, closeness))
        yield from fitting or [_Ground(rule_set, None, rule_set.rules.default, (0, 0))]


def _measure_closeness(rule: PolicyRule, actor: PolicyActor, subject: PolicySubject) -> tuple[int, int] | None:
    """Return how closely a rule fits: its conditions, then the letters that its globs name; None if it does not."""
    named = _measure_name(rule, subject)
    if named is None or (rule.roles and actor.role not in rule.roles):
        return None
    conditions, letters = int(bool(rule.roles)), named
    if rule.variants:
        found = _find_longest(rule.variants, actor.variant, is_path=False)
        if not actor.variant or found is None:
            return None
        conditions, letters = conditions + 1, letters + found
    if rule.paths and subject.kind in ("tool", "mcp"):
        found = _find_longest(rule.paths, normalize_path(subject.path), is_path=True)
        if not subject.path or found is None:
            return None
        conditions, letters = conditions + 1, letters + found
    return conditions, letters


def _measure_name(rule: PolicyRule, subject: PolicySubject) -> int | None:
    """Return how many letters of the subject's name a rule names; None if it is not about it."""
    name, is_path = subject.name, subject.kind in _PATH_KINDS
    if is_path:
        name = normalize_path(name)
    elif subject.kind == "host":
        name = strip_port(name)
    measured = [_find_longest(rule.get_patterns(subject.kind), name, is_path=is_path)]
    if subject.kind == "tool" and MCP_MARK in name:
        measured.append(_find_longest(rule.mcp, name.partition(MCP_MARK)[0], is_path=False))
    if subject.kind == "tier" and name == str(int(Tier.EVERYTHING)) and rule.hosts and rule.effect != "allow":
        measured.append(0)  # nobody decides about hosts at this tier, so a rule on hosts is kept by refusing it
    return max((one for one in measured if one is not None), default=None)


def _find_longest(globs: Iterable[str], name: str, *, is_path: bool) -> int | None:
    """Return the letters of the longest glob that fits a name, without wildcards; None if none fits."""
    longest = None
    for glob in globs:
        fits = matches_glob(glob, name) if is_path else fnmatchcase(name, glob)
        if fits:
            longest = max(longest or 0, len(glob) - len(_WILDCARDS & set(glob)))
    return longest


def normalize_path(path: str) -> str:
    """Return a path as rules are matched with it: without `./`, `//` and what `..` takes back."""
    return posixpath.normpath(path).lstrip("/") if path else ""


def strip_port(host: str) -> str:
    """Return the name of a host in lower case, without a port and a last dot."""
    name, colon, port = host.rpartition(":")
    if colon and port.isdigit():
        host = name
    return host.lower().rstrip(".")


def allows_host(rules: HostRules, host: str) -> bool:
    """Return True if a command may reach a host. One that is to be asked about is refused: no packet waits for that."""
    return decide_policy(rules.rule_sets, rules.actor, PolicySubject(kind="host", name=host)).is_allowed


def may_refuse(rule_sets: Sequence[RuleSet], kind: SubjectKind) -> bool:
    """Return True if some subject of a kind may be refused: by a rule on it, or because a default is not allow."""
    for rule_set in rule_sets:
        if rule_set.rules.default != "allow":
            return True
        for rule in rule_set.rules.rule:
            if rule.effect != "allow" and rule.get_patterns(kind):
                return True
    return False


def find_highest_tier(rule_sets: Sequence[RuleSet], actor: PolicyActor, usual: Tier, granted: Tier) -> Tier:
    """Return the highest tier that commands may run at.

    Args:
        rule_sets: the files.
        actor: who runs them.
        usual: the tier that the configuration gives.
        granted: the tier that a person granted to the task: what is to be asked about has been asked.
    """
    for tier in sorted(Tier, reverse=True):
        if tier == Tier.FILES or tier > usual:
            continue
        effect = decide_policy(rule_sets, actor, build_tier_question(tier)).effect
        if effect == "allow" or (effect == "ask" and tier <= granted):
            return tier
    return Tier.FILES


@cache
def build_tier_question(tier: Tier) -> PolicySubject:
    """Return the subject that a tier is."""
    return PolicySubject(kind="tier", name=str(int(tier)))
