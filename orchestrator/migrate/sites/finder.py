"""Find the places in files that a recipe is about, by any of the three engines."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from anyio import to_thread

from orchestrator.domain.migration.files import FileRecord, SitePlace
from orchestrator.domain.purpose import Purpose
from orchestrator.domain.recipe.model import Recipe, Scope, Site
from orchestrator.domain.text.sanitization import to_one_line
from orchestrator.engine.context import RunContext
from orchestrator.errors import EnvironmentProblem, UsageProblem
from orchestrator.migrate.sites import regex
from orchestrator.migrate.sites.command_search import EngineMatches, search_sites
from orchestrator.ports.hands import Workspace
from worktrees.object_store.trees import read_files

_FILE_BYTES = 64 * 1024 * 1024
_REGEX_S = 20.0
"""For one file, which takes milliseconds unless the pattern is one of those that never end."""


@dataclass(frozen=True)
class FoundSites:
    """The sites of each file that has any, in the order of their places, and what a person should be told."""

    places: Mapping[str, tuple[SitePlace, ...]]
    notices: tuple[str, ...] = ()


def needs_workspace(scope: Scope) -> bool:
    """Return True if sites are found by commands, which need a workspace."""
    return any(site.engine != "regex" for site in scope.site)


def sum_weights(scope: Scope, places: Sequence[SitePlace]) -> float:
    """Return what sites count together in the burndown."""
    weights = {site.id: site.weight for site in scope.site}
    return sum(weights[place.site] for place in places)


async def find_sites(scope: Scope, contents: Mapping[str, bytes], workspace: Workspace | None = None) -> FoundSites:
    """Return all sites of the files.

    Args:
        scope: says what a site is.
        contents: the files by their paths.
        workspace: holds these contents at these paths; only needed where `needs_workspace` says so.

    Raises:
        UsageProblem: a command or a pattern of the recipe cannot be used, or printed something else than sites.
        EnvironmentProblem: a command could not be started, or its program does not exist.
    """
    found: dict[str, list[SitePlace]] = defaultdict(list)
    notices: list[str] = []
    for site in scope.site:
        hits = await _search(site, contents, workspace)
        notices += hits.notices
        for path, places in hits.places.items():
            for line, column in places:
                found[path].append(SitePlace(site=site.id, line=line, column=column))
    ordered = {path: tuple(sorted(found[path], key=_build_sort_key)) for path in sorted(found)}
    return FoundSites(ordered, tuple(notices))


async def count_remaining_sites(
    scope: Scope, contents: Mapping[str, bytes], workspace: Workspace | None = None
) -> Mapping[str, int]:
    """Count the sites of each file with another content than the workspace holds; afterwards it holds its own again.

    Raises:
        UsageProblem, EnvironmentProblem: as `find_sites` does.
        ToolRefused: a file cannot be written.
    """
    if workspace is None or not needs_workspace(scope):
        found = await find_sites(scope, contents)
    else:
        found = await _find_sites_in_place(scope, contents, workspace)
    return {path: len(found.places.get(path, ())) for path in contents}


async def _find_sites_in_place(scope: Scope, contents: Mapping[str, bytes], workspace: Workspace) -> FoundSites:
    before = {}
    for path in contents:
        before[path] = await workspace.read_file(path, _FILE_BYTES)
    try:
        for path, content in contents.items():
            await workspace.write_file(path, content)
        return await find_sites(scope, contents, workspace)
    finally:
        for path, content in before.items():
            await workspace.write_file(path, content)


async def count_current_sites(context: RunContext, recipe: Recipe, files: Sequence[FileRecord]) -> Mapping[str, int]:
    """Return by path the sites of the content that stands for each file, in the surroundings of the PR branch.

    Raises:
        UsageProblem: a command that finds sites cannot be used.
        EnvironmentProblem: it could not be started, or no workspace could be had.
    """
    current = {file.path: file.blob or file.branch_blob for file in files}
    contents = await read_files(context.repository.git, current)
    if not needs_workspace(recipe.work_scope) or not files:
        return await count_remaining_sites(recipe.work_scope, contents)
    async with context.lend_workspace(await context.read_start_commit(), Purpose("count sites")) as workspace:
        return await count_remaining_sites(recipe.work_scope, contents, workspace)


async def _search(site: Site, contents: Mapping[str, bytes], workspace: Workspace | None) -> EngineMatches:
    if site.engine == "regex":
        return await _search_by_regex(site, contents)
    if workspace is None:
        raise EnvironmentProblem(f"sites of kind {site.id} are found by {site.engine}, which needs a workspace")
    hits = await search_sites(site, sorted(contents), workspace)
    if site.engine == "ast-grep":
        return EngineMatches(hits.places, (*hits.notices, *await to_thread.run_sync(_list_unread_files, contents)))
    return hits


def _list_unread_files(contents: Mapping[str, bytes]) -> list[str]:
    """Return a notice for each file that ast-grep passes over without a word."""
    reason = "ast-grep does not read it, as it is not UTF-8: its sites are not counted"
    unread = []
    for path, content in sorted(contents.items()):
        try:
            content.decode()
        except UnicodeDecodeError:
            unread.append(f"{path}: {reason}")
    return unread


async def _search_by_regex(site: Site, contents: Mapping[str, bytes]) -> EngineMatches:
    matches = await regex.find_matches(site.pattern, list(contents.values()), _REGEX_S)
    places_by_path = {}
    for path, places in zip(contents, matches, strict=True):
        if places is None:
            text = (
                f"site {site.id}: its pattern finds no end on {to_one_line(path)} within {_REGEX_S:g} s. Write it "
                "without repetitions within repetitions, such as (a+)+, or leave the file out of the scope"
            )
            raise UsageProblem(text, ("scope", "site", site.id, "pattern"))
        if places:
            places_by_path[path] = places
    return EngineMatches(places_by_path)


def _build_sort_key(place: SitePlace) -> tuple[int, int, str]:
    return place.line, place.column, place.site
