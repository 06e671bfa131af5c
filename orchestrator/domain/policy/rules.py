"""The rules of a policy file: one shape of table, with typed fields. Pure data.

A person's file and the project's have the same shape; `decision` says how both count together.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, field_validator, model_validator

from orchestrator.domain.chat import Role
from orchestrator.domain.frozen_model import FrozenModel
from orchestrator.domain.paths.globs import is_glob
from orchestrator.domain.sandbox.tier import Tier

PolicyEffect = Literal["allow", "ask", "deny"]
PolicyOrigin = Literal["user", "project"]
SubjectKind = Literal["tool", "mcp", "tier", "host", "write", "merge"]

STRICTNESS: Mapping[PolicyEffect, int] = {"allow": 0, "ask": 1, "deny": 2}
"""The order of effects: of those that fit, the strictest counts."""
SUBJECT_FIELDS: Mapping[str, SubjectKind] = {
    "tools": "tool",
    "mcp": "mcp",
    "tiers": "tier",
    "hosts": "host",
    "writes": "write",
    "merges": "merge",
}
"""The fields of a rule that say what it is about, with the kind of subject that each is matched with."""


MAX_RULES = 500
"""A file may have so many rules, and each list of one so many entries."""
_MAX_GLOBS = 1_000
_MAX_GLOB_CHARS = 300
_MAX_DEPTH_WILDCARDS = 3
"""Every call of a tool is matched with all globs, and the project's file is not trusted to have few and simple ones."""


def _wrap_value(value: object) -> object:
    if isinstance(value, str | int):
        return (value,)
    return value


Names = Annotated[tuple[str, ...], BeforeValidator(_wrap_value), Field(max_length=MAX_RULES)]
"""Globs; one may stand without a list."""


class PolicyRule(FrozenModel):
    """One `[[rule]]` table: an effect, whom it holds for, and what it is about.

    Empty `roles` and `variants` stand for all. What it is about is any of the other lists. `tools` and `mcp` match
    the names of tools and of the servers that they come from; `paths` narrows both to calls that name such a path.
    `tiers` are numbers, `hosts` names of hosts, `writes` paths that a change writes, `merges` paths that it may land.
    """

    effect: PolicyEffect
    reason: str = ""
    roles: Annotated[tuple[Role, ...], BeforeValidator(_wrap_value)] = ()
    variants: Names = ()
    paths: Names = ()
    tools: Names = ()
    mcp: Names = ()
    tiers: Annotated[tuple[Tier, ...], BeforeValidator(_wrap_value)] = ()
    hosts: Names = ()
    writes: Names = ()
    merges: Names = ()

    @model_validator(mode="after")
    def _check_subjects(self) -> "PolicyRule":
        if not any(getattr(self, name) for name in SUBJECT_FIELDS):
            raise ValueError(f"says of nothing that it is to {self.effect}: give one of {', '.join(SUBJECT_FIELDS)}")
        if self.paths and not (self.tools or self.mcp):
            raise ValueError("paths narrows tools or mcp: for files that are changed give writes or merges")
        for glob in self._list_globs():
            if not is_glob(glob) or len(glob) > _MAX_GLOB_CHARS:
                raise ValueError(f"{glob[:_MAX_GLOB_CHARS]!r} is no glob of at most {_MAX_GLOB_CHARS} characters")
            if glob.split("/").count("**") > _MAX_DEPTH_WILDCARDS:
                raise ValueError(
                    f"{glob!r} has more than {_MAX_DEPTH_WILDCARDS} times **, which takes too long to match"
                )
        for host in self.hosts:
            if ":" in host or host != host.lower():
                raise ValueError(f"hosts holds {host!r}: name a host in lower case, without a port")
        return self

    def count_globs(self) -> int:
        """Return how many globs it has."""
        return len(self._list_globs())

    def _list_globs(self) -> tuple[str, ...]:
        return (*self.variants, *self.paths, *self.tools, *self.mcp, *self.hosts, *self.writes, *self.merges)

    def get_patterns(self, kind: SubjectKind) -> tuple[str, ...]:
        """Return the globs of the names that it is about, of one kind of subject."""
        for name, named in SUBJECT_FIELDS.items():
            if named == kind:
                return tuple(map(_format_pattern, getattr(self, name)))
        return ()


def _format_pattern(pattern: object) -> str:
    if isinstance(pattern, Tier):
        return str(int(pattern))
    return str(pattern)


class PolicyRules(FrozenModel):
    """A policy file. `default` is the effect on whatever no rule of the file fits."""

    default: PolicyEffect = "allow"
    rule: Annotated[tuple[PolicyRule, ...], Field(max_length=MAX_RULES)] = ()

    @field_validator("rule")
    @classmethod
    def _check_size(cls, rules: tuple[PolicyRule, ...]) -> tuple[PolicyRule, ...]:
        if sum(map(PolicyRule.count_globs, rules)) > _MAX_GLOBS:
            raise ValueError(f"has more than {_MAX_GLOBS:,} globs: name directories instead of files")
        return rules


class RuleSet(FrozenModel):
    """The rules of one file. `lines` has the line of each rule, from 1; `default_line` is 0 where it has none."""

    origin: PolicyOrigin
    file: str
    rules: PolicyRules = PolicyRules()
    lines: tuple[int, ...] = ()
    default_line: int = 0

    def locate_rule(self, number: int) -> str:
        """Return `FILE:LINE` of a rule by its number from 0."""
        if number < len(self.lines):
            return f"{self.file}:{self.lines[number]}"
        return self.file

    @property
    def default_place(self) -> str:
        """`FILE:LINE` of the default, or the file alone where it is not written."""
        return f"{self.file}:{self.default_line}" if self.default_line else self.file


class PolicyActor(FrozenModel):
    """Who acts: a role, and the variant of it where it has one."""

    role: Role
    variant: str = ""


class PolicySubject(FrozenModel):
    """One thing that is to happen.

    `name` is a tool's name, an MCP server's, the number of a tier, a host, or the path that is written or lands.
    `path` is the path that a call of a tool names, relative to the repository; empty where it names none.
    """

    kind: SubjectKind
    name: str
    path: str = ""

    def __str__(self) -> str:
        """Return the subject for people."""
        if self.path:
            return f"{self.kind} {self.name} on {self.path}"
        return f"{self.kind} {self.name}"


def is_empty_policy(rule_sets: Sequence[RuleSet]) -> bool:
    """Return True if nothing is asked or denied by any file."""
    return all(one.rules.default == "allow" and not one.rules.rule for one in rule_sets)


class HostRules(FrozenModel):
    """The rules on hosts for one command, as it carries them into its sandbox."""

    actor: PolicyActor
    rule_sets: tuple[RuleSet, ...] = Field(default=())
