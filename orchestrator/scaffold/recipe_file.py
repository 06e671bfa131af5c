"""`migrate init`: write a recipe for a repository, from what its files show."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from anyio import to_thread

from orchestrator.discovery.inventory import build_inventory
from orchestrator.errors import OrchestrateError, UsageProblem
from orchestrator.migrate.bundled import COMMAND_TEMPLATE, NATURAL_LANGUAGE_TEMPLATE, RecipeTemplate, load_template
from orchestrator.migrate.recipe import Recipe, load_recipe
from orchestrator.migrate.survey.findings import Findings
from orchestrator.migrate.survey.layout import LANGUAGES
from orchestrator.migrate.survey.recipe_draft import fill_template
from orchestrator.migrate.survey.recipe_tools import RecipeTools, find_tools
from orchestrator.migrate.survey.repository_files import CONFIG_FILES, RepositoryFiles
from orchestrator.migrate.survey.surveyor import survey_repository
from orchestrator.project.options import Options, load_project_context
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
        return self.template or (NATURAL_LANGUAGE_TEMPLATE if self.goal else COMMAND_TEMPLATE)


@dataclass(frozen=True)
class WrittenRecipe:
    """The recipe that was written, the findings it rests on, and what it finds."""

    file: Path
    template: RecipeTemplate
    findings: Findings
    tools: RecipeTools
    counted: str

    def as_object(self) -> dict[str, Any]:
        """Return the object for --json."""
        return {
            "schema": "orchestrate.init/1",
            "file": str(self.file),
            "from": self.template.name,
            "found": self.findings.as_object(),
            "tools": {"elsewhere": list(self.tools.elsewhere), "missing": list(self.tools.missing)},
            "scope": self.counted,
        }

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


async def write_recipe_file(options: Options, wish: RecipeRequest, file: Path | None, overwrite: bool) -> WrittenRecipe:
    """Write a recipe.

    Args:
        options: the repository.
        wish: what it is to be about.
        file: where; by default, named after the migration in the current directory.
        overwrite: whether a file that is there may be lost.

    Raises:
        UsageProblem: there is no such template, what it needs was not said, or the file exists.
    """
    chosen = _checked(wish)
    around = await to_thread.run_sync(load_project_context, options)
    project = await read_project(around.repository)
    findings = survey_repository(project, chosen.language)
    if chosen.language and not project.list_with_suffix(*LANGUAGES[chosen.language]):
        raise UsageProblem(f"{chosen.name} is for {chosen.language}, of which no file is committed here")
    words = {"id": _id(wish.goal or COMMAND_TEMPLATE), "goal": wish.goal, "pattern": wish.pattern or _PATTERN}
    draft = fill_template(chosen, findings, words, RecipeTools())
    tools = find_tools(draft, chosen.needs, around.repository.root)
    place = file or Path(f"{words['id'] if chosen.has_placeholder('id') else chosen.name}.toml")
    text = fill_template(chosen, findings, words, tools)
    await to_thread.run_sync(_write, place, text, overwrite)
    return WrittenRecipe(place, chosen, findings, tools, await _counted(options, load_recipe(place)))


def _checked(wish: RecipeRequest) -> RecipeTemplate:
    """Return the template, if the request fits it."""
    chosen = load_template(wish.template_name)
    for word, given in (("goal", wish.goal), ("pattern", wish.pattern)):
        if not given.isprintable() and any(0xD800 <= ord(letter) <= 0xDFFF for letter in given):
            raise UsageProblem(f"--{word} is not UTF-8")
        if given and not chosen.has_placeholder(word):
            raise UsageProblem(f"the recipe {chosen.name} takes no --{word}; leave it out, or do not say --from")
    if chosen.has_placeholder("goal") and not (wish.goal and wish.pattern):
        raise UsageProblem(
            f"{chosen.name} needs --goal TEXT, what is to be changed, and --pattern REGEX, which finds where"
        )
    try:
        re.compile(wish.pattern)
    except re.error as error:
        raise UsageProblem(f"--pattern {wish.pattern!r} is no regular expression: {error}") from error
    return chosen


def _id(text: str) -> str:
    """Return a name for a migration made of the first words of a text."""
    words = re.findall(r"[a-z0-9]+", text.lower())
    name = ""
    for word in words:
        if len(name) + len(word) >= _LONGEST_ID:
            break
        name = f"{name}-{word}" if name else word
    return name or "change"


async def read_project(repository: GitRepository) -> RepositoryFiles:
    """Return the files of a repository's current commit, with the text of its configuration files."""
    entries = []
    for entry in await list_tree(repository.git, repository.read_head_commit()):
        if entry.kind == "blob":
            entries.append(entry)
    speaking = {}
    for entry in entries:
        if entry.path in CONFIG_FILES:
            speaking[entry.path] = entry.oid
    contents = await read_blobs(repository.git, list(speaking.values()))
    texts = {}
    for path, oid in speaking.items():
        texts[path] = contents[oid].decode("utf-8", "replace")
    return RepositoryFiles(
        tuple(entry.path for entry in entries), texts, repository.root, repository.read_branch() or ""
    )


def _write(place: Path, text: str, overwrite: bool) -> None:
    try:
        with place.open("w" if overwrite else "x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise UsageProblem(f"{place} exists already: name another FILE, or say --force to lose it") from None


async def _counted(options: Options, recipe: Recipe) -> str:
    """Return a line on what is in scope, as far as it can be counted without running a command."""
    if any(site.engine != "regex" for site in recipe.scope.site):
        return "its sites are counted by orchestrate migrate plan"
    try:
        found = await build_inventory(options, recipe)
    except OrchestrateError as problem:
        return f"as it stands it finds nothing: {problem}"
    sites = f", {found.sites} sites in {sum(file.sites > 0 for file in found.files)} of them"
    return f"{len(found.files)} files in scope{sites if recipe.scope.site else ''}"
