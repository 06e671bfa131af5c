"""Recipes: what a migration changes, how, and what must hold afterwards. Strict TOML, schema 1."""

import hashlib
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationError, field_validator, model_validator

from orchestrator.config.toml import describe, read_toml
from orchestrator.domain.base import Frozen
from orchestrator.domain.check import CheckSpec, ReportFormat
from orchestrator.errors import UsageProblem

Name = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]*$", max_length=60)]
Seconds = Annotated[float, Field(gt=0)]
Words = Annotated[str, Field(pattern=r"\S")]


class Migration(Frozen):
    """`[migration]`: `id` names the branch `migrate/<id>/…`; title and description go into the pull request."""

    id: Name
    title: str = ""
    description: str = ""


class Site(Frozen):
    """`[[scope.site]]`: a pattern whose matches are counted; a file without one has nothing to do."""

    id: Name
    engine: Literal["regex"] = "regex"
    pattern: str

    @field_validator("pattern")
    @classmethod
    def _compiles(cls, pattern: str) -> str:
        try:
            re.compile(pattern.encode())
        except re.error as error:
            raise ValueError(f"no regular expression: {error}") from error
        return pattern


class Scope(Frozen):
    """`[scope]`: globs as in .gitignore, against the base commit."""

    include: Annotated[tuple[str, ...], Field(min_length=1)]
    exclude: tuple[str, ...] = ()
    max_file_kb: Annotated[int, Field(ge=1, le=64 * 1024)] = 512
    site: tuple[Site, ...] = ()


class RecipeEnv(Frozen):
    """`[env]`: added to the user's own [env] and [hands] settings; relative directories start at the repository."""

    share: tuple[str, ...] = ()
    read_only: tuple[str, ...] = ()
    vars: dict[str, str] = Field(default_factory=dict)
    deps: tuple[str, ...] = ()


class Step(Frozen):
    """`[[step]]`: one rung of the ladder.

    `run` holds `{files}`, which becomes the file (per = file) or all files (per = shard). `when` says which files it
    takes: always; sites (files with a site, or all if the recipe counts none); sites-left (files that still have one);
    failed (files that an earlier rung could not bring through).
    """

    id: Name
    kind: Literal["command"] = "command"
    run: str
    per: Literal["file", "shard"] = "file"
    when: Literal["always", "sites", "sites-left", "failed"] = "sites"
    timeout_s: Seconds = 120.0
    ok_exit: tuple[int, ...] = (0,)
    must_parse: bool = True

    @field_validator("run")
    @classmethod
    def _takes_files(cls, run: str) -> str:
        if "{files}" not in run:
            raise ValueError("it does not say where the files go: write {files} in it")
        return run


class VerifyCheck(Frozen):
    """`[[verify.check]]`: a command that the union of all changes must pass."""

    id: Name
    run: Words
    level: Literal["queue"] = "queue"
    report: ReportFormat | None = None
    timeout_s: Seconds = 1_800.0


class Verify(Frozen):
    """`[verify]`: how checks report, and what counts as lost."""

    report: ReportFormat = ReportFormat.AUTO
    policy: Literal["no-new-failures"] = "no-new-failures"
    check: Annotated[tuple[VerifyCheck, ...], Field(min_length=1)]


class Recipe(Frozen):
    """A whole recipe."""

    schema_version: Annotated[Literal[1], Field(alias="schema")]
    migration: Migration
    scope: Scope
    env: RecipeEnv = Field(default_factory=RecipeEnv)
    step: Annotated[tuple[Step, ...], Field(min_length=1)]
    verify: Verify

    @model_validator(mode="after")
    def _ids_are_unique(self) -> "Recipe":
        for what, ids in (
            ("step", [step.id for step in self.step]),
            ("verify.check", [check.id for check in self.verify.check]),
            ("scope.site", [site.id for site in self.scope.site]),
        ):
            if len(set(ids)) < len(ids):
                raise ValueError(f"two entries of {what} have the same id")
        if self.step[0].when == "failed":
            raise ValueError("the first step has when = 'failed', but nothing can have failed before it")
        return self

    @property
    def title(self) -> str:
        """The title, or the id."""
        return self.migration.title or self.migration.id

    @property
    def revision(self) -> str:
        """A hash of everything in the recipe."""
        return hashlib.sha256(json.dumps(self.dump(), sort_keys=True).encode()).hexdigest()[:8]

    def checks(self) -> tuple[CheckSpec, ...]:
        """The gate."""
        return tuple(
            CheckSpec(id=check.id, run=check.run, report=check.report or self.verify.report, timeout_s=check.timeout_s)
            for check in self.verify.check
        )

    def dump(self) -> dict[str, Any]:
        """As plain data, from which `Recipe.model_validate` makes the same recipe."""
        return self.model_dump(mode="json", by_alias=True)


def load_recipe(path: Path) -> Recipe:
    """Read a recipe.

    Raises:
        UsageProblem: names file, line and key of everything that is wrong.
    """
    return parse_recipe(read_toml(path), path)


def parse_recipe(values: Mapping[str, Any], path: Path) -> Recipe:
    """A recipe from parsed TOML; `path` is the file it came from."""
    try:
        return Recipe.model_validate(values)
    except ValidationError as error:
        raise UsageProblem(describe(error, path, path.read_text(encoding="utf-8"))) from error
