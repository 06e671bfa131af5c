"""A whole recipe."""

import hashlib
import json
from collections.abc import Sequence
from datetime import date
from operator import attrgetter
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from orchestrator.domain.frozen_model import FrozenModel
from orchestrator.domain.judging.check import CheckSpec
from orchestrator.domain.recipe.field_types import Slug, build_key_problem
from orchestrator.domain.recipe.merge import MergeRules, StopRules
from orchestrator.domain.recipe.scope import RecipeEnv, Scope, Site
from orchestrator.domain.recipe.shard import Sample, ShardRules
from orchestrator.domain.recipe.step import Step
from orchestrator.domain.recipe.verify import Invariant, JudgeRules, Level, Verify, VerifyCheck


class Migration(FrozenModel):
    """`[migration]`: `id` names the branch `migrate/<id>/…`; title and description go into the pull request.

    `base` is the commit to start from, if it is not the one that is checked out. With `atomic` all files land together
    or none does. `deadline` draws the burndown's ideal line.
    """

    id: Slug
    title: str = ""
    description: str = ""
    base: str = ""
    owner: str = ""
    atomic: bool = False
    deadline: date | None = None


def _require_unique_ids(table: tuple[str, ...], entries: Sequence[Step | VerifyCheck | Site]) -> None:
    known = set()
    for number, entry in enumerate(entries):
        if entry.id in known:
            raise build_key_problem((*table, number, "id"), f"{entry.id!r} is there already: no two have the same id")
        known.add(entry.id)


class Recipe(FrozenModel):
    """A whole recipe."""

    schema_version: Annotated[Literal[1], Field(alias="schema")]
    migration: Migration
    scope: Scope
    env: RecipeEnv = Field(default_factory=RecipeEnv)
    shard: ShardRules = Field(default_factory=ShardRules)
    sample: Sample = Field(default_factory=Sample)
    step: Annotated[tuple[Step, ...], Field(min_length=1)]
    verify: Verify
    invariant: tuple[Invariant, ...] = ()
    judge: JudgeRules = Field(default_factory=JudgeRules)
    merge: MergeRules = Field(default_factory=MergeRules)
    stop: StopRules = Field(default_factory=StopRules)

    @model_validator(mode="after")
    def _check_ids(self) -> Self:
        _require_unique_ids(("step",), self.step)
        _require_unique_ids(("verify", "check"), self.verify.check)
        _require_unique_ids(("scope", "site"), self.scope.site)
        return self

    @model_validator(mode="after")
    def _check_references(self) -> Self:
        if self.step[0].when == "failed":
            text = "'failed' takes nothing here: nothing can have failed before it"
            raise build_key_problem(("step", 0, "when"), text)
        sites = list(map(attrgetter("id"), self.scope.site))
        for number, invariant in enumerate(self.invariant):
            if invariant.site and invariant.site not in sites:
                known = ", ".join(sites) or "none"
                text = f"there is no scope.site {invariant.site!r}; there are: {known}"
                raise build_key_problem(("invariant", number, "site"), text)
        if self.judge.diff_review == "llm" and "llm" not in self.step_kinds:
            text = "'llm' reviews what models write, but no step has kind = 'llm'"
            raise build_key_problem(("judge", "diff_review"), text)
        for number, step in enumerate(self.step[:-1]):
            if step.kind == "human":
                raise build_key_problem(("step", number, "kind"), "'human' is the last rung of the ladder")
        return self

    @property
    def title(self) -> str:
        """The title, or the id."""
        return self.migration.title or self.migration.id

    @property
    def revision(self) -> str:
        """A hash of everything in the recipe."""
        return hashlib.sha256(json.dumps(self.dump_values(), sort_keys=True).encode()).hexdigest()[:8]

    @property
    def work_scope(self) -> Scope:
        """The scope with the sites that have to go: without those that an invariant only wants to be there."""
        bounded = {(rule.kind, rule.site) for rule in self.invariant}
        sites = []
        for site in self.scope.site:
            if ("sites-at-least", site.id) not in bounded or ("sites-at-most", site.id) in bounded:
                sites.append(site)
        return self.scope.model_copy(update={"site": tuple(sites)})

    @property
    def step_kinds(self) -> frozenset[str]:
        """The kinds of its steps."""
        return frozenset(map(attrgetter("kind"), self.step))

    @property
    def needed_roles(self) -> tuple[str, ...]:
        """The roles whose models carrying it out takes."""
        if "llm" not in self.step_kinds:
            return ()
        if self.judge.diff_review == "llm":
            return ("worker", "judge")
        return ("worker",)

    @property
    def needs_models(self) -> bool:
        """True if carrying it out takes a model."""
        return bool(self.needed_roles)

    def build_checks(self, level: Level = "queue") -> tuple[CheckSpec, ...]:
        """Return the checks of a level over all tests; those of `queue` are the gate."""
        specs = []
        for check in self.verify.check:
            if check.level == level:
                run, report = check.run.replace("{tests}", check.all), check.report or self.verify.report
                specs.append(CheckSpec(id=check.id, run=run, report=report, timeout_s=check.timeout_s))
        return tuple(specs)

    def dump_values(self) -> dict[str, Any]:
        """Return plain data from which `Recipe.model_validate` makes the same recipe; without what is as by default."""
        return {"schema": self.schema_version, **self.model_dump(mode="json", by_alias=True, exclude_defaults=True)}
