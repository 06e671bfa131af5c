"""Sites: where what a recipe is about stands in its files, found by any of the three engines."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from anyio import to_thread

from orchestrator.domain.migration.files import SitePlace
from orchestrator.domain.text.sanitization import to_one_line
from orchestrator.errors import EnvironmentProblem, UsageProblem
from orchestrator.migrate.recipe import Scope, Site
from orchestrator.migrate.sites import regex
from orchestrator.migrate.sites.command_search import EngineMatches, search_sites
from orchestrator.ports.hands import Workspace

_FILE_BYTES = 64 * 1024 * 1024
_REGEX_S = 20.0
"""For one file, which takes milliseconds unless the pattern is one of those that never end."""


@dataclass(frozen=True)
class FoundSites:
    """The sites of each file that has any, in the order of their places, and what a person should be told."""

    places: Mapping[str, tuple[SitePlace, ...]]
    notices: tuple[str, ...] = ()


def needs_workspace(scope: Scope) -> bool:
    """Whether sites are found by commands, which need a workspace."""
    return any(site.engine != "regex" for site in scope.site)


def sum_weights(scope: Scope, places: Sequence[SitePlace]) -> float:
    """What sites count together in the burndown."""
    weights = {site.id: site.weight for site in scope.site}
    return sum(weights[place.site] for place in places)


async def find_sites(scope: Scope, contents: Mapping[str, bytes], workspace: Workspace | None = None) -> FoundSites:
    """All sites of the files.

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
        hits = await _hits(site, contents, workspace)
        notices += hits.notices
        for path, places in hits.places.items():
            found[path] += (SitePlace(site=site.id, line=line, column=column) for line, column in places)
    return FoundSites({path: tuple(sorted(found[path], key=_place)) for path in sorted(found)}, tuple(notices))


async def count_remaining_sites(
    scope: Scope, contents: Mapping[str, bytes], workspace: Workspace | None = None
) -> Mapping[str, int]:
    """How many sites each file has with another content than the workspace holds; afterwards it holds its own again.

    Raises:
        UsageProblem, EnvironmentProblem: as `find_sites` does.
        ToolRefused: a file cannot be written.
    """
    if workspace is None or not needs_workspace(scope):
        found = await find_sites(scope, contents)
        return {path: len(found.places.get(path, ())) for path in contents}
    before = {path: await workspace.read_file(path, _FILE_BYTES) for path in contents}
    try:
        for path, content in contents.items():
            await workspace.write_file(path, content)
        found = await find_sites(scope, contents, workspace)
    finally:
        for path, content in before.items():
            await workspace.write_file(path, content)
    return {path: len(found.places.get(path, ())) for path in contents}


async def _hits(site: Site, contents: Mapping[str, bytes], workspace: Workspace | None) -> EngineMatches:
    if site.engine == "regex":
        return await _by_regex(site, contents)
    if workspace is None:
        raise EnvironmentProblem(f"sites of kind {site.id} are found by {site.engine}, which needs a workspace")
    hits = await search_sites(site, sorted(contents), workspace)
    if site.engine == "ast-grep":
        return EngineMatches(hits.places, (*hits.notices, *await to_thread.run_sync(_unread, contents)))
    return hits


def _unread(contents: Mapping[str, bytes]) -> list[str]:
    """What ast-grep passes over without a word."""
    told = "ast-grep does not read it, as it is not UTF-8: its sites are not counted"
    return [f"{path}: {told}" for path, content in sorted(contents.items()) if not _is_utf8(content)]


def _is_utf8(content: bytes) -> bool:
    try:
        content.decode()
    except UnicodeDecodeError:
        return False
    return True


async def _by_regex(site: Site, contents: Mapping[str, bytes]) -> EngineMatches:
    found = dict(zip(contents, await regex.find_matches(site.pattern, list(contents.values()), _REGEX_S), strict=True))
    if endless := [path for path, places in found.items() if places is None]:
        told = (
            f"site {site.id}: its pattern finds no end on {to_one_line(endless[0])} within {_REGEX_S:g} s. Write it "
            "without repetitions within repetitions, such as (a+)+, or leave the file out of the scope"
        )
        raise UsageProblem(told, ("scope", "site", site.id, "pattern"))
    return EngineMatches({path: places for path, places in found.items() if places})


def _place(place: SitePlace) -> tuple[int, int, str]:
    return place.line, place.column, place.site
