"""A whole recipe: its tables, its two environments, and how journals hold it.

The environment of the baseline and that of the verdict are an `[env]` of their own. Journals' recipes are read without
looking at their globs again; one that a later program would refuse can still be shown: whatever of it is valid is as it
was.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from datetime import date
from operator import attrgetter
from typing import Annotated, Any, Literal, Self, TypeVar

from pydantic import Field, PlainSerializer, PlainValidator, ValidationError, model_validator

from orchestrator.domain.frozen_model import FrozenModel
from orchestrator.domain.judging.check import CheckSpec
from orchestrator.domain.recipe import field_types
from orchestrator.domain.recipe.merge import MergeRules, StopRules
from orchestrator.domain.recipe.shard import Sample, ShardRules
from orchestrator.domain.recipe.step import CommandStep, Step
from orchestrator.domain.recipe.verify import Invariant, JudgeRules, Level, Verify, VerifyCheck


class Site(FrozenModel):
    """`[[scope.site]]`: what is counted; one site is one match, and a file without any has nothing to do.

    `regex` matches `pattern` line by line, `ast-grep` matches it as code of `language`, `command` runs `run` in the
    sandbox, whose standard output names sites as `path:line[:column]`. `weight` is how much one site counts in the
    burndown; `target` is how many may remain in the whole scope when the migration is done.
    """

    id: field_types.Slug
    engine: Literal["regex", "ast-grep", "command"] = "regex"
    pattern: str = ""
    language: str = ""
    run: str = ""
    weight: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 1.0
    target: field_types.Count = 0

    @model_validator(mode="after")
    def _check_engine_keys(self) -> Self:
        if self.engine == "command" and not self.run.strip():
            raise ValueError("engine = 'command' needs run = \"…\", whose output names sites as path:line[:column]")
        if self.engine != "command" and not self.pattern:
            raise ValueError(f"engine = '{self.engine}' needs a pattern")
        if self.engine == "ast-grep" and not self.language:
            raise ValueError("engine = 'ast-grep' needs a language, such as python or typescript")
        if self.engine == "regex":
            try:
                field_types.check_regex(self.pattern)
            except ValueError as error:
                raise field_types.build_key_problem(("pattern",), str(error)) from error
        return self


class Scope(FrozenModel):
    """`[scope]`: globs as in .gitignore, against the base commit."""

    include: Annotated[tuple[field_types.Glob, ...], Field(min_length=1)]
    exclude: tuple[field_types.Glob, ...] = ()
    max_file_kb: Annotated[int, Field(ge=1, le=64 * 1024)] = 512
    site: tuple[Site, ...] = ()


class RecipeEnv(FrozenModel):
    """`[env]`: added to the user's own [env] and [hands] settings; relative directories start at the repository.

    `setup` are command lines that install what the work needs into git-ignored places of the checkout; the result is
    kept and lent to every workspace. `before` and `after` are further ones for the world of the baseline and for that
    of the verdict. `compat` says in which world what lands has to be green: the new one only, or both of them.
    Steps run in the new world. `deps` names manifests to install from. Programs of `read_only` go first on PATH, those
    of `tools` last.
    """

    share: tuple[str, ...] = ()
    read_only: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    vars: dict[str, str] = Field(default_factory=dict)
    deps: tuple[str, ...] = ()
    setup: tuple[field_types.NonBlank, ...] = ()
    before: tuple[field_types.NonBlank, ...] = ()
    after: tuple[field_types.NonBlank, ...] = ()
    vars_before: dict[str, str] = Field(default_factory=dict)
    vars_after: dict[str, str] = Field(default_factory=dict)
    read_only_before: tuple[str, ...] = ()
    read_only_after: tuple[str, ...] = ()
    compat: Literal["after", "both"] = "after"
    network: Literal["deny", "allow"] = "deny"

    @property
    def has_two_environments(self) -> bool:
        """True if the baseline is taken in another environment than the verdict."""
        before = (self.before, self.vars_before, self.read_only_before)
        return before != (self.after, self.vars_after, self.read_only_after)


class Migration(FrozenModel):
    """`[migration]`: `id` names the branch `migrate/<id>/…`; title and description go into the pull request.

    `base` is the commit to start from, if it is not the one that is checked out. With `atomic` all files land together
    or none does. `deadline` draws the burndown's ideal line.
    """

    id: field_types.Slug
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
            raise field_types.build_key_problem(
                (*table, number, "id"), f"{entry.id!r} is there already: no two have the same id"
            )
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
            raise field_types.build_key_problem(("step", 0, "when"), text)
        sites = list(map(attrgetter("id"), self.scope.site))
        for number, invariant in enumerate(self.invariant):
            if invariant.site and invariant.site not in sites:
                known = ", ".join(sites) or "none"
                text = f"there is no scope.site {invariant.site!r}; there are: {known}"
                raise field_types.build_key_problem(("invariant", number, "site"), text)
        if self.judge.diff_review == "llm" and "llm" not in self.step_kinds:
            text = "'llm' reviews what models write, but no step has kind = 'llm'"
            raise field_types.build_key_problem(("judge", "diff_review"), text)
        for number, step in enumerate(self.step[:-1]):
            if step.kind == "human":
                raise field_types.build_key_problem(("step", number, "kind"), "'human' is the last rung of the ladder")
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
    def has_tree_step(self) -> bool:
        """True if a step is given the repository as a whole."""
        return any(step.takes_tree for step in self.step)

    @property
    def is_one_wave(self) -> bool:
        """True if all files climb together: a step runs once over all of them, or they land together or not at all."""
        return self.migration.atomic or self.has_tree_step

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


EnvironmentName = Literal["before", "after"]
ENVIRONMENT_NAMES: tuple[EnvironmentName, ...] = ("before", "after")


def select_environment(env: RecipeEnv, name: EnvironmentName) -> RecipeEnv:
    """Return what one environment needs: what both have in common, and its own. Its own directories come first on PATH.

    The result has one environment only, which is the same before and after.
    """
    own, vars_, directories = env.after, env.vars_after, env.read_only_after
    if name == "before":
        own, vars_, directories = env.before, env.vars_before, env.read_only_before
    changes = {"read_only": (*directories, *env.read_only), "vars": env.vars | vars_, "setup": (*env.setup, *own)}
    common = {"share", "tools", "deps", "compat", "network"}
    return RecipeEnv(**env.model_dump(include=common), **changes)


_Table = TypeVar("_Table", bound=FrozenModel)


class InvalidRecipe(Recipe):
    """A recorded recipe that is valid no longer, as far as reports show it; `recorded` is all of it."""

    recorded: dict[str, Any]

    def dump_values(self) -> dict[str, Any]:
        """Return the recipe as it was recorded."""
        return self.recorded


def read_recorded_recipe(values: Mapping[str, Any]) -> Recipe:
    """Return the recipe that a journal holds as plain data, an `InvalidRecipe` if it is none any more."""
    try:
        return Recipe.model_validate(values, context=field_types.CHECKED_BEFORE)
    except ValidationError:
        return _read_invalid_recipe(values)


def require_valid_recipe(recipe: Recipe) -> Recipe:
    """Return a recorded recipe to work by, with all of it checked again.

    Raises:
        ValidationError: it is valid no longer.
    """
    return Recipe.model_validate(recipe.dump_values())


def _dump_recipe(recipe: Recipe) -> dict[str, Any]:
    return recipe.dump_values()


RecordedRecipe = Annotated[Recipe, PlainValidator(read_recorded_recipe), PlainSerializer(_dump_recipe)]
"""A recipe that is stored as plain data and read as journals' are."""


def _read_invalid_recipe(values: Mapping[str, Any]) -> Recipe:
    scope = values.get("scope", {})
    sites = [_read_table(Site, site, id="") for site in scope.get("site", ())]
    return InvalidRecipe.model_construct(
        recorded=dict(values),
        schema_version=1,
        migration=_read_table(Migration, values.get("migration", {}), id=""),
        scope=_read_table(Scope, {**scope, "site": tuple(sites)}, include=()),
        env=_read_table(RecipeEnv, values.get("env", {})),
        shard=_read_table(ShardRules, values.get("shard", {})),
        step=tuple(_read_table(CommandStep, step, id="") for step in values.get("step", ())),
        verify=Verify.model_construct(check=()),
    )


def _read_table(kind: type[_Table], values: Mapping[str, Any], **required: Any) -> _Table:  # noqa: ANN401
    """Return a table as its model, without a check if it is not valid."""
    try:
        return kind.model_validate(values, context=field_types.CHECKED_BEFORE)
    except ValidationError:
        return kind.model_construct(None, **(required | dict(values)))  # type: ignore[return-value]
