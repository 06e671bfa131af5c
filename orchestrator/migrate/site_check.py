"""The ratchet: count the sites of a commit and find new ones, without a run and without any state."""

from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from orchestrator.domain.ids import CommitId
from orchestrator.domain.migration.files import SitePlace
from orchestrator.domain.recipe.model import Recipe, Scope
from orchestrator.migrate.scope.inventory import FILE_MODES, build_scope_matcher
from orchestrator.migrate.sites.finder import FoundSites, find_sites
from orchestrator.report.migration.site_check import CheckedSite, SiteCheckReport, SiteLimit
from worktrees.git import Git
from worktrees.object_store.trees import TreeEntry, list_tree, read_blobs
from worktrees.safety.path_rules import escape_path

SiteFinder = Callable[[Scope, Mapping[str, bytes]], Awaitable[FoundSites]]
"""Finds the sites of files that are given by their paths."""

_LINE_CHARS = 200
_AT_ONCE = 500


@dataclass
class SiteCount:
    """The sites of one commit, and what could not be looked at, in words."""

    commit: CommitId
    files: int = 0
    hits: list[CheckedSite] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)

    @property
    def counts_by_file(self) -> Counter[tuple[str, str]]:
        """The number of sites by (path, site)."""
        return Counter((hit.path, hit.site) for hit in self.hits)

    @property
    def counts_by_site(self) -> Counter[str]:
        """The number of sites by their kind."""
        return Counter(hit.site for hit in self.hits)


async def count_sites(
    git: Git, commit: CommitId, scope: Scope, find: SiteFinder = find_sites, at_once: int = _AT_ONCE
) -> SiteCount:
    """Return all sites of a commit, sorted by path and place.

    Args:
        git: the repository.
        commit: the one to look at.
        scope: which files, and which sites.
        find: finds the sites in files.
        at_once: how many files it is given at a time; a command should get all.

    Raises:
        GitError: the commit cannot be read.
        OrchestrateError: as `find` does.
    """
    matches, tally, oids = build_scope_matcher(scope), SiteCount(commit), {}
    for entry in await list_tree(git, commit):
        if entry.mode in FILE_MODES and matches(entry.path):
            tally.files += 1
            if _is_small(entry, scope, tally):
                oids[entry.path] = entry.oid
    small = list(oids)
    for start in range(0, len(small), at_once):
        paths = small[start : start + at_once]
        blobs = await read_blobs(git, [oids[path] for path in paths])
        contents = {path: blobs[oids[path]] for path in paths}
        found = await find(scope, contents)
        tally.skipped += map(escape_path, found.notices)
        for path, places in found.places.items():
            tally.hits += _list_hits(path, contents[path], places)
    tally.hits.sort(key=lambda hit: (hit.path, hit.line, hit.column, hit.site))
    return tally


def _is_small(entry: TreeEntry, scope: Scope, tally: SiteCount) -> bool:
    if (entry.size or 0) <= scope.max_file_kb * 1024:
        return True
    tally.skipped.append(f"{escape_path(entry.path)} was not looked at: larger than max_file_kb = {scope.max_file_kb}")
    return False


def _list_hits(path: str, content: bytes, places: Sequence[SitePlace]) -> Iterator[CheckedSite]:
    shown, lines = escape_path(path), content.split(b"\n")
    for place in places:
        line = b"".join(lines[place.line - 1 : place.line])
        text = line.decode(errors="replace").strip()[:_LINE_CHARS]
        where = place.model_dump()
        yield CheckedSite(path=shown, **where, text=text, news="", is_over=False)


@dataclass(frozen=True)
class SiteCheckResult:
    """The verdict of the ratchet: `limits` by kind of site, or one (named "") for all of them together.

    `hits` are all sites, with what is new about them where an earlier commit was named.
    """

    tally: SiteCount
    hits: tuple[CheckedSite, ...]
    limits: Mapping[str, int]
    earlier: SiteCount | None = None

    @property
    def excess_counts(self) -> dict[str, int]:
        """The number of sites by kind (or ""), where that is more than allowed."""
        counts = self.tally.counts_by_site
        counts[""] = len(self.tally.hits)
        return {site: counts[site] for site, limit in self.limits.items() if counts[site] > limit}

    @property
    def is_within_limits(self) -> bool:
        """True if there are no more sites than allowed."""
        return not self.excess_counts


def check_site_limits(
    recipe: Recipe, tally: SiteCount, most: int | None, earlier: SiteCount | None = None
) -> SiteCheckResult:
    """Return the verdict; without `most` each kind of site may have as many as its target says."""
    if most is None:
        limits = {site.id: site.target for site in recipe.work_scope.site}
    else:
        limits = {"": most}
    return SiteCheckResult(tally, tuple(_mark_news(tally.hits, earlier)), limits, earlier)


def _mark_news(hits: Sequence[CheckedSite], earlier: SiteCount | None) -> Iterator[CheckedSite]:
    """Yield the sites, those marked that are new since the earlier commit: by their line's text, since lines move.

    `came back`: the file had none of this kind then. `new`: it had some, but not this one.
    """
    if earlier is None:
        yield from hits
        return
    before, in_file = Counter((hit.path, hit.site, hit.text) for hit in earlier.hits), earlier.counts_by_file
    for hit in hits:
        key = (hit.path, hit.site, hit.text)
        if before[key] > 0:
            before[key] -= 1
            yield hit
        elif in_file[hit.path, hit.site]:
            yield hit.model_copy(update={"news": "new"})
        else:
            yield hit.model_copy(update={"news": "came back"})


def build_site_report(recipe: Recipe, verdict: SiteCheckResult, since: str) -> SiteCheckReport:
    """Return the verdict as it is printed."""
    return SiteCheckReport(
        migration=recipe.migration.id,
        commit=verdict.tally.commit,
        since=since,
        files=verdict.tally.files,
        found=len(verdict.hits),
        allowed=verdict.limits.get("", sum(verdict.limits.values())),
        holds=verdict.is_within_limits,
        exit=0 if verdict.is_within_limits else 3,
        limits=tuple(_iterate_limits(recipe, verdict)),
        sites=tuple(_iterate_sites(verdict)),
        skipped=tuple(verdict.tally.skipped),
    )


def _iterate_limits(recipe: Recipe, verdict: SiteCheckResult) -> Iterator[SiteLimit]:
    counts = verdict.tally.counts_by_site
    for site in recipe.work_scope.site:
        yield SiteLimit(
            site=site.id, pattern=site.pattern or site.run, found=counts[site.id], allowed=verdict.limits.get(site.id)
        )


def _iterate_sites(verdict: SiteCheckResult) -> Iterator[CheckedSite]:
    over = verdict.excess_counts
    for hit in verdict.hits:
        yield hit.model_copy(update={"is_over": "" in over or hit.site in over})
