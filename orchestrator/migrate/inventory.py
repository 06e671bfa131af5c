"""The inventory: which files of the base are in scope, and how many sites each has."""

import re
from collections.abc import Mapping, Sequence

from pathspec import GitIgnoreSpec

from orchestrator.domain.event.migration import FilesFound, FoundFile
from orchestrator.domain.event.run import Noticed
from orchestrator.domain.ids import CommitId
from orchestrator.errors import ToolRefused, UsageProblem
from orchestrator.hands.files import tidy
from orchestrator.migrate.recipe import Recipe, Scope
from worktrees.git import Git
from worktrees.names import printable
from worktrees.trees import Entry, list_tree, read_blobs


async def take_inventory(git: Git, base: CommitId, recipe: Recipe) -> tuple[FilesFound | Noticed, ...]:
    """The files in scope, sorted by path, as the events that begin a migration, with notices of what was left out.

    Raises:
        UsageProblem: no file of the base is in scope, or none of them has a site.
    """
    everything = [entry for entry in await list_tree(git, base) if entry.mode in {"100644", "100755"}]
    inside = [entry for entry in everything if in_scope(recipe.scope, entry.path)]
    if not inside:
        raise UsageProblem(_nothing_found(recipe.scope, len(everything)))
    left_out = {entry.path: why for entry in inside if (why := _objection(entry, recipe.scope.max_file_kb))}
    small = [entry for entry in inside if entry.path not in left_out]
    contents = await read_blobs(git, [entry.oid for entry in small]) if recipe.scope.site else {}
    found = tuple(_found(entry, recipe.scope, contents) for entry in sorted(small, key=lambda entry: entry.path))
    if recipe.scope.site and not any(file.sites for file in found):
        patterns = ", ".join(site.pattern for site in recipe.scope.site)
        raise UsageProblem(f"no site was found in {len(found)} files in scope: is the pattern right? {patterns}")
    told = (f"{printable(path)} was left out: {why}" for path, why in left_out.items())
    return FilesFound(files=found), *(Noticed(level="warning", text=text) for text in told)


def _objection(entry: Entry, max_file_kb: int) -> str:
    """Why a file in scope cannot be migrated; empty if it can."""
    if (entry.size or 0) > max_file_kb * 1024:
        return f"it is larger than max_file_kb = {max_file_kb}"
    try:
        entry.path.encode()
        tidy(entry.path)
    except UnicodeEncodeError:
        return "its name is not UTF-8"
    except ToolRefused as refusal:
        return str(refusal).rstrip(".")
    return ""


def in_scope(scope: Scope, path: str) -> bool:
    """Whether the include globs take the path in and the exclude globs do not take it out."""
    include, exclude = GitIgnoreSpec.from_lines(scope.include), GitIgnoreSpec.from_lines(scope.exclude)
    return include.match_file(path) and not exclude.match_file(path)


def count_sites(scope: Scope, content: bytes) -> int:
    """How many matches the site patterns have in a file, all patterns together."""
    return sum(sum(1 for _ in re.finditer(site.pattern.encode(), content, re.MULTILINE)) for site in scope.site)


def _found(entry: Entry, scope: Scope, contents: Mapping[str, bytes]) -> FoundFile:
    sites = count_sites(scope, contents[entry.oid]) if scope.site else 0
    return FoundFile(path=entry.path, blob=entry.oid, mode=entry.mode, sites=sites)


def _nothing_found(scope: Scope, total: int) -> str:
    return (
        f"no file is in scope: include = {_listed(scope.include)}, exclude = {_listed(scope.exclude)} match none of "
        f"the {total} files of the base commit; only committed files count"
    )


def _listed(globs: Sequence[str]) -> str:
    return "[" + ", ".join(repr(glob) for glob in globs) + "]"
