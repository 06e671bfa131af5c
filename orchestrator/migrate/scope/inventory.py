"""The inventory: which files of the base are in scope, which sites each has, and whose they are."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from pathspec import GitIgnoreSpec

from orchestrator.domain.event.migration import FilesFound, FoundFile
from orchestrator.domain.event.run import Noticed
from orchestrator.domain.ids import CommitId
from orchestrator.errors import NothingToMigrate, ToolRefused, UsageProblem
from orchestrator.hands.files.workspace_files import normalize_path
from orchestrator.migrate.recipe import Recipe, Scope
from orchestrator.migrate.scope.owners import find_owners_file, match_owners
from orchestrator.migrate.sites.finder import FoundSites, find_sites, sum_weights
from orchestrator.ports.hands import Workspace
from worktrees.git import Git
from worktrees.object_store.trees import TreeEntry, find_commit, list_tree, read_blobs
from worktrees.safety.path_rules import escape_path


@dataclass(frozen=True)
class _Small:
    """The files in scope that can be migrated, sorted by path, and why others cannot."""

    entries: tuple[TreeEntry, ...]
    left_out: Mapping[str, str]


async def resolve_base(git: Git, recipe: Recipe, head: str) -> CommitId:
    """The commit that the migration starts from; `head` is what is checked out.

    Raises:
        UsageProblem: the recipe names none.
    """
    name = recipe.migration.base
    if name:
        found = await find_commit(git, name)
    else:
        found = head
    if not found:
        told = (
            f"base = {name!r} names no commit of the repository: write a branch, a tag or a commit that exists "
            "(git fetch may be missing), or remove base to start from what is checked out"
        )
        raise UsageProblem(told, ("migration", "base"))
    return CommitId(found)


async def take_inventory(
    git: Git, base: CommitId, recipe: Recipe, workspace: Workspace | None = None
) -> tuple[FilesFound | Noticed, ...]:
    """The files in scope, sorted by path, as the events that begin a migration, with notices of what was left out.

    Args:
        git: of the repository.
        base: the commit to look at.
        recipe: says what is in scope and what a site is.
        workspace: one at the base, for recipes whose sites are found by commands.

    Raises:
        NothingToMigrate: no file in scope has a site.
        UsageProblem: no file of the base is in scope, or sites or owners cannot be found out as the recipe says.
        EnvironmentProblem: a command that finds sites could not be started.
    """
    scope, listed = recipe.work_scope, await list_tree(git, base)
    small = _in_scope(scope, listed)
    found = FoundSites({})
    if scope.site:
        blobs = await read_blobs(git, [entry.oid for entry in small.entries])
        found = await find_sites(scope, {entry.path: blobs[entry.oid] for entry in small.entries}, workspace)
        if not found.places:
            raise NothingToMigrate(_no_site(scope, len(small.entries)))
    owners = await _owners(git, recipe, listed, [entry.path for entry in small.entries])
    files = tuple(_found(entry, scope, found, owners) for entry in small.entries)
    told = (*_left_out(small), *found.notices, *_unused(scope, found))
    return FilesFound(files=files), *(Noticed(level="warning", text=text) for text in told)


def is_in_scope(scope: Scope, path: str) -> bool:
    """Whether the include globs take the path in and the exclude globs do not take it out."""
    return any(_taken(scope, (path,)))


def _taken(scope: Scope, paths: Sequence[str]) -> Iterator[bool]:
    include, exclude = GitIgnoreSpec.from_lines(scope.include), GitIgnoreSpec.from_lines(scope.exclude)
    return (include.match_file(path) and not exclude.match_file(path) for path in paths)


def _in_scope(scope: Scope, listed: Sequence[TreeEntry]) -> _Small:
    files = sorted((entry for entry in listed if entry.mode in {"100644", "100755"}), key=lambda entry: entry.path)
    taken = _taken(scope, [entry.path for entry in files])
    inside = [entry for entry, is_taken in zip(files, taken, strict=True) if is_taken]
    if not inside:
        raise UsageProblem(_nothing_found(scope, len(files)), ("scope", "include"))
    left_out = {entry.path: why for entry in inside if (why := _objection(entry, scope.max_file_kb))}
    return _Small(tuple(entry for entry in inside if entry.path not in left_out), left_out)


def _objection(entry: TreeEntry, max_file_kb: int) -> str:
    """Why a file in scope cannot be migrated; empty if it can."""
    if (entry.size or 0) > max_file_kb * 1024:
        return f"it is larger than max_file_kb = {max_file_kb}"
    try:
        entry.path.encode()
        normalize_path(entry.path)
    except UnicodeEncodeError:
        return "its name is not UTF-8"
    except ToolRefused as refusal:
        return str(refusal).rstrip(".")
    return ""


async def _owners(git: Git, recipe: Recipe, listed: Sequence[TreeEntry], paths: Sequence[str]) -> Mapping[str, str]:
    entries = {}
    for entry in listed:
        if entry.kind == "blob":
            entries[entry.path] = entry
    place = find_owners_file(entries, recipe.shard.codeowners)
    if place is None:
        return {}
    content = await read_blobs(git, [entries[place].oid])
    return match_owners(content[entries[place].oid].decode("utf-8", "replace"), paths)


def _found(entry: TreeEntry, scope: Scope, found: FoundSites, owners: Mapping[str, str]) -> FoundFile:
    places = found.places.get(entry.path, ())
    return FoundFile(
        path=entry.path,
        blob=entry.oid,
        mode=entry.mode,
        sites=len(places),
        places=places,
        weight=sum_weights(scope, places),
        owner=owners.get(entry.path, ""),
    )


def _left_out(small: _Small) -> Iterator[str]:
    return (f"{escape_path(path)} was left out: {why}" for path, why in small.left_out.items())


def _unused(scope: Scope, found: FoundSites) -> Iterator[str]:
    """Kinds of sites of which there is none, beside others of which there are."""
    seen = set()
    for places in found.places.values():
        for place in places:
            seen.add(place.site)
    return (f"there is no site of kind {site.id}: is its pattern right?" for site in scope.site if site.id not in seen)


def _no_site(scope: Scope, files: int) -> str:
    patterns = "; ".join(f"{site.id} ({site.engine}): {site.pattern or site.run}" for site in scope.site)
    return (
        f"no site was found in {files} files in scope, so there is nothing to migrate: is the pattern right, or is all "
        f"of it done? {patterns}. Correct [[scope.site]] or [scope] include, and see with `orchestrate migrate plan`"
    )


def _nothing_found(scope: Scope, total: int) -> str:
    return (
        f"no file is in scope: include = {_listed(scope.include)}, exclude = {_listed(scope.exclude)} match none of "
        f"the {total} files of the base commit; only committed files count"
    )


def _listed(globs: Sequence[str]) -> str:
    return "[" + ", ".join(repr(glob) for glob in globs) + "]"
