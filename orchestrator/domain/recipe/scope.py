"""`[scope]` and `[env]`: which files and sites a migration is about, and what has to be there to work on them."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from orchestrator.domain.frozen_model import FrozenModel
from orchestrator.domain.recipe.field_types import Count, Glob, NonBlank, Slug, build_key_problem, check_regex


class Site(FrozenModel):
    """`[[scope.site]]`: what is counted; one site is one match, and a file without any has nothing to do.

    `regex` matches `pattern` line by line, `ast-grep` matches it as code of `language`, `command` runs `run` in the
    sandbox, whose standard output names sites as `path:line[:column]`. `weight` is how much one site counts in the
    burndown; `target` is how many may remain in the whole scope when the migration is done.
    """

    id: Slug
    engine: Literal["regex", "ast-grep", "command"] = "regex"
    pattern: str = ""
    language: str = ""
    run: str = ""
    weight: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 1.0
    target: Count = 0

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
                check_regex(self.pattern)
            except ValueError as error:
                raise build_key_problem(("pattern",), str(error)) from error
        return self


class Scope(FrozenModel):
    """`[scope]`: globs as in .gitignore, against the base commit."""

    include: Annotated[tuple[Glob, ...], Field(min_length=1)]
    exclude: tuple[Glob, ...] = ()
    max_file_kb: Annotated[int, Field(ge=1, le=64 * 1024)] = 512
    site: tuple[Site, ...] = ()


class RecipeEnv(FrozenModel):
    """`[env]`: added to the user's own [env] and [hands] settings; relative directories start at the repository.

    `setup` are command lines that install what the work needs into git-ignored places of the checkout; the result is
    kept and lent to every workspace. `before` and `after` are further ones for the world of the baseline and for that
    of the verdict. `compat` says in which world what lands has to be green: the new one only, or both of them.
    Steps run in the new world. `deps` names manifests to install from.
    """

    share: tuple[str, ...] = ()
    read_only: tuple[str, ...] = ()
    vars: dict[str, str] = Field(default_factory=dict)
    deps: tuple[str, ...] = ()
    setup: tuple[NonBlank, ...] = ()
    before: tuple[NonBlank, ...] = ()
    after: tuple[NonBlank, ...] = ()
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
