"""`migrate init`: write a recipe for a repository, from what its files show."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path
from typing import Annotated

from anyio import to_thread
from pydantic import Field, PlainSerializer

from orchestrator.discovery.migration_events import build_inventory
from orchestrator.domain.recipe.model import Recipe
from orchestrator.domain.text.user_pattern import compile_user_pattern
from orchestrator.errors import OrchestrateError, UsageProblem
from orchestrator.migrate.bundled import COMMAND_TEMPLATE, NATURAL_LANGUAGE_TEMPLATE, RecipeTemplate, load_template
from orchestrator.migrate.recipe import load_recipe
from orchestrator.migrate.survey.findings import Findings
from orchestrator.migrate.survey.layout import LANGUAGES
from orchestrator.migrate.survey.pytest_files import list_test_files
from orchestrator.migrate.survey.recipe_draft import RecipeTools, fill_template, find_tools
from orchestrator.migrate.survey.repository_files import CONFIG_FILES, RepositoryFiles
from orchestrator.migrate.survey.surveyor import survey_repository
from orchestrator.project.options import Options, load_project_context
from orchestrator.report.read_model import Document
from worktrees.object_store.trees import list_tree, read_blobs
from worktrees.repositories.repository import GitRepository

_PATTERN = "old"
_LONGEST_ID = 40


@dataclass(frozen=True)
class RecipeRequest:
    """A request for a recipe: the name of a template, a change in words, a pattern for its sites."""

    template: str = ""
    goal: str = ""
    pattern: str = ""

    @property
    def template_name(self) -> str:
        """The name of the template that the request means."""
        if self.template:
            return self.template
        if self.goal:
            return NATURAL_LANGUAGE_TEMPLATE
        return COMMAND_TEMPLATE


class WrittenRecipe(Document, schema="orchestrate.init/1"):
    """The recipe that was written, the findings it rests on, and what it finds."""

    file: Path
    template: Annotated[RecipeTemplate, PlainSerializer(attrgetter("name"), return_type=str)] = Field(alias="from")
    findings: Findings = Field(alias="found")
    tools: RecipeTools
    counted: str = Field(alias="scope")

    def render_lines(self) -> Iterator[str]:
        """Yield the lines for a person."""
        yield f"wrote {self.file} ({self.template.name}: {self.template.summary})"
        yield from self.findings.render_lines()
        if self.tools.missing:
            for line in self.tools.render_advice():
                yield f"  {line}"
        if "model" in self.template.needs:
            yield "  it asks a model: [roles.worker] of your configuration"
        yield f"  {self.counted}"
        yield f"next: orchestrate migrate plan {self.file}, then orchestrate migrate run {self.file}"


async def write_recipe_file(
    options: Options, request: RecipeRequest, file: Path | None, overwrite: bool
) -> WrittenRecipe:
    """Write a recipe.

    Args:
        options: the repository.
        request: what it is to be about.
        file: where; by default, named after the migration in the current directory.
        overwrite: whether a file that is there may be lost.

    Raises:
        UsageProblem: there is no such template, what it needs was not said, or the file exists.
    """
    template = _require_template(request)
    project = await to_thread.run_sync(load_project_context, options)
    files = await read_project(project.repository)
    findings = survey_repository(files, template.language)
    if template.language and not files.list_with_suffix(*LANGUAGES[template.language]):
        raise UsageProblem(f"{template.name} is for {template.language}, of which no file is committed here")
    recipe_id = _build_id(request.goal or COMMAND_TEMPLATE)
    values = {"id": recipe_id, "goal": request.goal, "pattern": request.pattern or _PATTERN}
    draft = fill_template(template, findings, values, RecipeTools())
    tools = find_tools(draft, template.needs, project.repository.root)
    name = values["id"] if template.has_placeholder("id") else template.name
    target = file or Path(f"{name}.toml")
    text = fill_template(template, findings, values, tools)
    await to_thread.run_sync(write_new_file, target, text, overwrite, "name another FILE, or ")
    counted = await _describe_scope(options, load_recipe(target))
    return WrittenRecipe(file=target, template=template, findings=findings, tools=tools, counted=counted)


def _require_template(request: RecipeRequest) -> RecipeTemplate:
    """Return the template, if the request fits it."""
    template = load_template(request.template_name)
    for word, given in (("goal", request.goal), ("pattern", request.pattern)):
        if not given.isprintable() and any(0xD800 <= ord(letter) <= 0xDFFF for letter in given):
            raise UsageProblem(f"--{word} is not UTF-8")
        if given and not template.has_placeholder(word):
            raise UsageProblem(f"the recipe {template.name} takes no --{word}; leave it out, or do not say --from")
    if template.has_placeholder("goal") and not (request.goal and request.pattern):
        needed = "--goal TEXT, what is to be changed, and --pattern REGEX, which finds where"
        raise UsageProblem(f"{template.name} needs {needed}")
    try:
        compile_user_pattern(request.pattern)
    except ValueError as error:
        raise UsageProblem(f"--pattern {request.pattern!r}: {error}") from error
    return template


def _build_id(text: str) -> str:
    """Return a name for a migration made of the first words of a text."""
    name = ""
    for word in re.findall(r"[a-z0-9]+", text.lower()):
        if len(name) + len(word) >= _LONGEST_ID:
            break
        name = f"{name}-{word}".lstrip("-")
    return name or "change"


async def read_project(repository: GitRepository) -> RepositoryFiles:
    """Return the files of a repository's current commit, with the texts of its configuration and test files."""
    oids = {}
    for entry in await list_tree(repository.git, repository.read_head_commit()):
        if entry.kind == "blob":
            oids[entry.path] = entry.oid
    paths = tuple(oids)
    texts = {}
    read = [*filter(CONFIG_FILES.__contains__, paths), *list_test_files(paths)]
    contents = await read_blobs(repository.git, [oids[path] for path in read])
    for path in read:
        texts[path] = contents[oids[path]].decode("utf-8", "replace")
    return RepositoryFiles(paths, texts, repository.root, repository.read_branch() or "")


def write_new_file(target: Path, text: str, overwrite: bool, advice: str = "") -> None:
    """Write a file, which may only exist with `overwrite`; `advice` is what else a person can do.

    Raises:
        UsageProblem: it exists.
    """
    try:
        with target.open("w" if overwrite else "x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise UsageProblem(f"{target} exists already: {advice}say --force to lose it") from None


async def _describe_scope(options: Options, recipe: Recipe) -> str:
    """Return a line on what is in scope, as far as it can be counted without running a command."""
    if any(site.engine != "regex" for site in recipe.scope.site):
        return "its sites are counted by orchestrate migrate plan"
    try:
        found = await build_inventory(options, recipe)
    except OrchestrateError as problem:
        return f"as it stands it finds nothing: {problem}"
    text = f"{len(found.files)} files in scope"
    if recipe.scope.site:
        text += f", {found.sites} sites in {sum(file.sites > 0 for file in found.files)} of them"
    return text
