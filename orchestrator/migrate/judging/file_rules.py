"""What holds for every changed file by itself: invariants that its contents tell of, and `[judge] reject_if`."""

from collections import Counter
from collections.abc import Mapping, Sequence

from anyio import to_thread

from orchestrator.domain.migration.files import FileRecord, SitePlace
from orchestrator.domain.recipe.verify import Level
from orchestrator.migrate.judging.file_change import ChangedRegion, FileChange, FindSites, RuleViolation
from orchestrator.migrate.judging.invariants import (
    FILE_KINDS,
    SITE_KINDS,
    find_broken_invariant,
    is_scope_wide,
    select_due_invariants,
)
from orchestrator.migrate.judging.reject_rules import find_objection
from orchestrator.migrate.recipe import Invariant, Recipe
from orchestrator.migrate.sites.regex import find_matches
from orchestrator.ports.hands import Workspace
from worktrees.diffs.file_diffs import diff_blobs
from worktrees.diffs.hunks import Hunk
from worktrees.git import Git
from worktrees.object_store.trees import read_blobs

_REGEX_S = 20.0
_TOO_MUCH = ChangedRegion(1, 1_000_000, 1, 1_000_000)
"""Of a file of which git cannot say what changed in it."""


class FileRules:
    """The rules of one recipe; what was found of a content is remembered."""

    def __init__(self, git: Git, recipe: Recipe, find: FindSites) -> None:
        self._git = git
        self._recipe = recipe
        self._find = find
        self._known: dict[tuple[str, str, str, Level], RuleViolation | None] = {}

    def needs_workspace(self, level: Level) -> bool:
        """Whether `broken` and `sites_in_scope` have to be given a workspace that holds the new contents."""
        by_command = set()
        for site in self._recipe.scope.site:
            if site.engine != "regex":
                by_command.add(site.id)
        return any(
            rule.site in by_command
            for rule in select_due_invariants(self._recipe.invariant, level)
            if rule.kind in SITE_KINDS
        )

    async def find_violations(
        self,
        files: Mapping[str, str],
        records: Mapping[str, FileRecord],
        level: Level,
        workspace: Workspace | None = None,
    ) -> dict[str, RuleViolation]:
        """By path, the first rule that a file breaks with its new content.

        Args:
            files: path → the blob of the new content.
            records: what the files were on the base.
            level: how far they have come; rules of earlier levels still hold.
            workspace: holds these contents, see `needs_workspace`.
        """
        new = {}
        for path, blob in files.items():
            if self._key(path, blob, records, level) not in self._known:
                new[path] = blob
        changes = await self._changes(new, records, level, workspace)
        endless = await self._endless(changes, level)
        for change in changes:
            found = endless.get(change.path) or await to_thread.run_sync(self._first, change, level)
            self._known[self._key(change.path, files[change.path], records, level)] = found
        told = {}
        for path, blob in sorted(files.items()):
            told[path] = self._known[self._key(path, blob, records, level)]
        return {path: found for path, found in told.items() if found is not None}

    async def count_sites_in_scope(
        self, files: Mapping[str, str], records: Mapping[str, FileRecord], workspace: Workspace | None = None
    ) -> Mapping[str, int]:
        """How many sites of each kind all files have together; those not in `files` have what they had on the base."""
        contents = await read_blobs(self._git, list(files.values()))
        now = await self._find({path: contents[blob] for path, blob in files.items()}, workspace) if files else {}
        unchanged = (record.places for path, record in records.items() if path not in files)
        return Counter(place.site for places in (*unchanged, *now.values()) for place in places)

    def _key(
        self, path: str, blob: str, records: Mapping[str, FileRecord], level: Level
    ) -> tuple[str, str, str, Level]:
        return path, records[path].base, blob, level

    def _rules(self, level: Level) -> tuple[Invariant, ...]:
        of_a_file = (rule for rule in select_due_invariants(self._recipe.invariant, level) if rule.kind in FILE_KINDS)
        return tuple(rule for rule in of_a_file if not is_scope_wide(rule))

    async def _endless(self, changes: Sequence[FileChange], level: Level) -> Mapping[str, RuleViolation]:
        """By path, the pattern that would never be done with a file; nothing else may be asked of these."""
        found: dict[str, RuleViolation] = {}
        for rule in self._rules(level):
            if rule.kind == "no-new-match":
                contents = []
                for change in changes:
                    for content in (change.before, change.after):
                        contents.append(content)
                told = await find_matches(rule.pattern, contents, _REGEX_S)
                words = f"{rule.pattern} finds no end on it within {_REGEX_S:g} s"
                ends = zip(changes, told[::2], told[1::2], strict=True)
                found |= {change.path: RuleViolation(words, words) for change, *both in ends if None in both}
        return found

    def _first(self, change: FileChange, level: Level) -> RuleViolation | None:
        return find_broken_invariant(change, self._rules(level)) or find_objection(change, self._recipe)

    async def _changes(
        self, files: Mapping[str, str], records: Mapping[str, FileRecord], level: Level, workspace: Workspace | None
    ) -> Sequence[FileChange]:
        contents = await read_blobs(self._git, [*files.values(), *(records[path].base for path in files)])
        sites = await self._sites({path: contents[blob] for path, blob in files.items()}, level, workspace)
        pairs = {}
        for path, blob in files.items():
            pairs[path] = (records[path].base, blob)
        regions = await find_changed_regions(self._git, pairs) if self._asks_for_regions(level) else {}
        return [
            FileChange(
                path,
                contents[records[path].base],
                contents[blob],
                records[path].places,
                sites.get(path, ()),
                regions.get(path, ()),
            )
            for path, blob in files.items()
        ]

    async def _sites(
        self, contents: Mapping[str, bytes], level: Level, workspace: Workspace | None
    ) -> Mapping[str, Sequence[SitePlace]]:
        if not contents or not any(rule.kind in SITE_KINDS for rule in self._rules(level)):
            return {}
        return await self._find(contents, workspace)

    def _asks_for_regions(self, level: Level) -> bool:
        is_limited = any(rule.kind == "max-diff" for rule in self._rules(level))
        return is_limited or "unrelated-hunk" in self._recipe.judge.reject_if


async def find_changed_regions(git: Git, pairs: Mapping[str, tuple[str, str]]) -> Mapping[str, Sequence[ChangedRegion]]:
    """By path, what changed between two blobs; everything, where git cannot tell."""
    found = await diff_blobs(git, list(pairs.values()))
    return {path: _regions(hunks) for path, hunks in zip(pairs, found, strict=True)}


def _regions(hunks: Sequence[Hunk] | None) -> Sequence[ChangedRegion]:
    if hunks is None:
        return (_TOO_MUCH,)
    return tuple(ChangedRegion(hunk.old_start, hunk.old_length, hunk.new_start, hunk.new_length) for hunk in hunks)
