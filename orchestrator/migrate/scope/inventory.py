"""The inventory: the files of the base that are in scope, with their sites, and their owners by CODEOWNERS."""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import takewhile

from pathspec import GitIgnoreSpec
from pathspec.patterns.gitignore.base import GitIgnorePatternError
from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern

from orchestrator.domain.event.migration import FilesFound, FoundFile
from orchestrator.domain.event.run import Noticed
from orchestrator.domain.ids import CommitId
from orchestrator.domain.migration.files import SitePlace
from orchestrator.domain.recipe.model import Recipe, Scope
from orchestrator.domain.text.lazy_pattern import compile_lazily
from orchestrator.errors import NothingToMigrate, ToolRefused, UsageProblem
from orchestrator.hands.files.workspace_files import normalize_path
from orchestrator.migrate.sites.finder import FoundSites, find_sites, sum_weights
from orchestrator.ports.hands import Workspace
from worktrees.git import Git
from worktrees.object_store.trees import TreeEntry, find_commit, list_tree, read_blobs, read_files
from worktrees.safety.path_rules import escape_path

OWNERS_FILES = (".github/CODEOWNERS", "CODEOWNERS", "docs/CODEOWNERS", ".gitlab/CODEOWNERS")
"""The places of the file of owners; the first one counts."""
_WORD = compile_lazily(r"(?:\\.|[^\s\\])+")
_SECTION = compile_lazily(r"\^?\[[^\]]+\](?:\[\d+\])?(?P<owners>(?:\s+[^\s#]+)*)\s*(?:#.*)?")


FILE_MODES = frozenset({"100644", "100755"})
"""The modes of regular files in git."""


def find_owners_file(paths: Collection[str], wanted: str = "auto") -> str | None:
    """Return the path of the file that names owners; None if `auto` finds none.

    Raises:
        UsageProblem: the wanted one is not there.
    """
    if wanted == "auto":
        return next(filter(paths.__contains__, OWNERS_FILES), None)
    if wanted not in paths:
        text = f"codeowners = {wanted!r}: the base commit has no such file; write a path, or 'auto'"
        raise UsageProblem(text, ("shard", "codeowners"))
    return wanted


def match_owners(text: str, paths: Iterable[str]) -> Mapping[str, str]:
    """Return the owners of each path, as in `@core @infra`; empty for those that nobody owns."""
    rules = list(_parse_rules(text))
    owners = dict.fromkeys(paths, "")
    for path in owners:
        owners[path] = next((names for pattern, names in reversed(rules) if pattern.match(path)), "")
    return owners


def _parse_rules(text: str) -> Iterator[tuple[re.Pattern[str], str]]:
    """Yield patterns with their owners, in order; lines that are no rules, such as negated patterns, are left out."""
    default = ""
    for line in text.splitlines():
        if section := _SECTION.fullmatch(line.strip()):
            default = " ".join(section["owners"].split())
            continue
        words = _WORD.findall(line)
        if not words or words[0].startswith(("#", "!")):
            continue
        if (pattern := _compile_glob(words[0])) is not None:
            yield pattern, " ".join(takewhile(lambda word: not word.startswith("#"), words[1:])) or default


def _compile_glob(glob: str) -> re.Pattern[str] | None:
    """Return the pattern that fits the glob.

    As in .gitignore, but `dir/*` does not reach into directories below `dir`.
    """
    try:
        compiled = GitIgnoreSpecPattern(glob).regex
    except (GitIgnorePatternError, re.error):
        return None
    if compiled is None:
        return None
    if "/" in glob and glob.endswith("/*"):
        return re.compile(compiled.pattern.rpartition("(?:")[0] + "$")
    return compiled


async def resolve_base(git: Git, recipe: Recipe, head: str) -> CommitId:
    """Return the commit that the migration starts from; `head` is what is checked out.

    Raises:
        UsageProblem: the recipe names none.
    """
    name = recipe.migration.base
    if name:
        found = await find_commit(git, name)
    else:
        found = head
    if not found:
        text = (
            f"base = {name!r} names no commit of the repository: write a branch, a tag or a commit that exists "
            "(git fetch may be missing), or remove base to start from what is checked out"
        )
        raise UsageProblem(text, ("migration", "base"))
    return CommitId(found)


async def take_inventory(
    git: Git, base: CommitId, recipe: Recipe, workspace: Workspace | None = None
) -> tuple[FilesFound | Noticed, ...]:
    """Return the files in scope, by path, as the events that begin a migration, with notices of what was left out.

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
    entries, left_out = _select_files(scope, listed)
    oids = {entry.path: entry.oid for entry in entries}
    found = FoundSites({})
    if scope.site:
        found = await find_sites(scope, await read_files(git, oids), workspace)
        if not found.places:
            raise NothingToMigrate(_explain_no_sites(scope, len(oids)))
    owners = await _read_owners(git, recipe, listed, oids)
    files = []
    for entry in entries:
        files.append(_build_file(entry, scope, found.places.get(entry.path, ()), owners.get(entry.path, "")))
    texts = [f"{escape_path(path)} was left out: {reason}" for path, reason in left_out.items()]
    texts += (*found.notices, *_list_unused_sites(scope, found))
    return FilesFound(files=tuple(files)), *(Noticed(level="warning", text=text) for text in texts)


def is_in_scope(scope: Scope, path: str) -> bool:
    """Return True if the include globs take the path in and the exclude globs do not take it out."""
    return build_scope_matcher(scope)(path)


def build_scope_matcher(scope: Scope) -> Callable[[str], bool]:
    """Return a function that tells of a path if it is in scope; for many paths that is faster than `is_in_scope`."""
    include, exclude = GitIgnoreSpec.from_lines(scope.include), GitIgnoreSpec.from_lines(scope.exclude)
    return lambda path: include.match_file(path) and not exclude.match_file(path)


def _select_files(scope: Scope, listed: Sequence[TreeEntry]) -> tuple[list[TreeEntry], dict[str, str]]:
    """Return the files in scope that can be migrated, sorted by path, and the reason for each that cannot."""
    matches, total = build_scope_matcher(scope), 0
    entries: list[TreeEntry] = []
    left_out: dict[str, str] = {}
    for entry in sorted(listed, key=lambda entry: entry.path):
        if entry.mode not in FILE_MODES:
            continue
        total += 1
        if not matches(entry.path):
            continue
        if obstacle := _find_obstacle(entry, scope.max_file_kb):
            left_out[entry.path] = obstacle
        else:
            entries.append(entry)
    if not entries and not left_out:
        raise UsageProblem(_explain_empty_scope(scope, total), ("scope", "include"))
    return entries, left_out


def _find_obstacle(entry: TreeEntry, max_file_kb: int) -> str:
    """Return why a file in scope cannot be migrated; empty if it can."""
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


async def _read_owners(
    git: Git, recipe: Recipe, listed: Sequence[TreeEntry], paths: Iterable[str]
) -> Mapping[str, str]:
    """Return the owners of each path, as the base's file of owners says."""
    oids = {entry.path: entry.oid for entry in listed if entry.kind == "blob"}
    if (place := find_owners_file(oids, recipe.shard.codeowners)) is None:
        return {}
    contents = await read_blobs(git, [oids[place]])
    return match_owners(contents[oids[place]].decode("utf-8", "replace"), paths)


def _build_file(entry: TreeEntry, scope: Scope, places: tuple[SitePlace, ...], owner: str) -> FoundFile:
    return FoundFile(
        path=entry.path,
        blob=entry.oid,
        mode=entry.mode,
        sites=len(places),
        places=places,
        weight=sum_weights(scope, places),
        owner=owner,
    )


def _list_unused_sites(scope: Scope, found: FoundSites) -> Iterator[str]:
    """Yield a notice for each kind of site of which there is none, beside others of which there are."""
    known = {place.site for places in found.places.values() for place in places}
    for site in scope.site:
        if site.id not in known:
            yield f"there is no site of kind {site.id}: is its pattern right?"


def _explain_no_sites(scope: Scope, files: int) -> str:
    patterns = "; ".join(f"{site.id} ({site.engine}): {site.pattern or site.run}" for site in scope.site)
    return (
        f"no site was found in {files} files in scope, so there is nothing to migrate: is the pattern right, or is all "
        f"of it done? {patterns}. Correct [[scope.site]] or [scope] include, and see with `orchestrate migrate plan`"
    )


def _explain_empty_scope(scope: Scope, total: int) -> str:
    return (
        f"no file is in scope: include = {list(scope.include)}, exclude = {list(scope.exclude)} match none of "
        f"the {total} files of the base commit; only committed files count"
    )
