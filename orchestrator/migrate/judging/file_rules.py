"""Rules for every changed file by itself: invariants that its contents tell of, and `[judge] reject_if`."""

import ast
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from anyio import to_thread

from orchestrator.domain.judging.verdict import RuleId
from orchestrator.domain.migration.files import SitePlace
from orchestrator.domain.recipe.model import Recipe
from orchestrator.domain.recipe.verify import Invariant, Level
from orchestrator.domain.text.lazy_pattern import compile_lazily
from orchestrator.engine.context import RunContext
from orchestrator.judge.files.changed_file import ChangedFile, is_test_path
from orchestrator.judge.rules.change_facts import ChangeFacts
from orchestrator.judge.rules.registry import list_findings
from orchestrator.judge.source.python_syntax import parse_python
from orchestrator.judge.source.testcases import list_test_functions
from orchestrator.migrate.judging import invariants
from orchestrator.migrate.scope.inventory import is_in_scope
from orchestrator.migrate.sites.finder import find_sites
from orchestrator.migrate.sites.regex import find_matches
from orchestrator.ports.hands import Workspace
from worktrees.diffs.file_diffs import diff_blobs
from worktrees.diffs.hunks import Hunk
from worktrees.git import Git
from worktrees.object_store.trees import read_blobs, read_files

_REGEX_S = 20.0
_WHOLE_FILE = invariants.ChangedRegion(1, 1_000_000, 1, 1_000_000)
"""Of a file of which git cannot say what changed in it."""
_PLAIN = "100644"
_SCRIPT_SUFFIXES = (".js", ".jsx", ".mjs", ".cjs", ".ts", ".tsx")
_SCRIPT_TEST = compile_lazily(rb"(?<![\w.$])(?:it|test|specify)(?:\.\w+)?\s*\(")


class FileRules:
    """The rules of one recipe; what was found of a content is remembered."""

    def __init__(self, context: RunContext, recipe: Recipe) -> None:
        self._context = context
        self._git = context.repository.git
        self._recipe = recipe
        self._known: dict[tuple[str, str, str, Level], invariants.RuleViolation | None] = {}

    def needs_workspace(self, level: Level) -> bool:
        """Return True if the rules have to be given a workspace that holds the new contents, to find sites in."""
        by_command = {site.id for site in self._recipe.scope.site if site.engine != "regex"}
        due = invariants.select_due_invariants(self._recipe.invariant, level)
        return any(rule.kind in invariants.SITE_KINDS and rule.site in by_command for rule in due)

    async def find_violations(
        self, files: Mapping[str, str], level: Level, workspace: Workspace | None = None
    ) -> dict[str, invariants.RuleViolation]:
        """Return by path the first rule that a file breaks with its new content.

        Args:
            files: path → the blob of the new content.
            level: how far they have come; rules of earlier levels still hold.
            workspace: holds these contents, see `needs_workspace`.
        """
        records = self._context.state.migration.files
        keys = {path: (path, records[path].base, blob, level) for path, blob in files.items()}
        new = {path: blob for path, blob in files.items() if keys[path] not in self._known}
        changes = await self._read_changes(new, level, workspace)
        endless = await self._find_endless_patterns(changes, level)
        for change in changes:
            violation = endless.get(change.path) or await to_thread.run_sync(self._find_first, change, level)
            self._known[keys[change.path]] = violation
        found = {}
        for path in sorted(files):
            violation = self._known[keys[path]]
            if violation is not None:
                found[path] = violation
        return found

    async def count_sites_in_scope(
        self, files: Mapping[str, str], workspace: Workspace | None = None
    ) -> Mapping[str, int]:
        """Return how many sites of each kind all files have; those not in `files` have what they had on the base."""
        sites = await self._find_sites(await read_files(self._git, files), workspace)
        counts: Counter[str] = Counter()
        for path, record in self._context.state.migration.files.items():
            places = sites.get(path, ()) if path in files else record.places
            counts.update(place.site for place in places)
        return counts

    def _list_rules(self, level: Level) -> list[Invariant]:
        due = invariants.select_due_invariants(self._recipe.invariant, level)
        return [rule for rule in due if rule.kind in invariants.FILE_KINDS and not invariants.is_scope_wide(rule)]

    async def _find_endless_patterns(
        self, changes: Sequence[invariants.FileChange], level: Level
    ) -> Mapping[str, invariants.RuleViolation]:
        """Return by path the pattern that would never be done with a file; nothing else may be asked of these."""
        found: dict[str, invariants.RuleViolation] = {}
        for rule in self._list_rules(level):
            if rule.kind != "no-new-match":
                continue
            contents: list[bytes] = []
            for change in changes:
                contents += [change.before, change.after]
            matches = await find_matches(rule.pattern, contents, _REGEX_S)
            words = f"{rule.pattern} finds no end on it within {_REGEX_S:g} s"
            for change, before, after in zip(changes, matches[::2], matches[1::2], strict=True):
                if before is None or after is None:
                    found[change.path] = invariants.RuleViolation(words, words)
        return found

    def _find_first(self, change: invariants.FileChange, level: Level) -> invariants.RuleViolation | None:
        return invariants.find_broken_invariant(change, self._list_rules(level)) or find_objection(change, self._recipe)

    async def _read_changes(
        self, files: Mapping[str, str], level: Level, workspace: Workspace | None
    ) -> Sequence[invariants.FileChange]:
        records = self._context.state.migration.files
        pairs = {path: (records[path].base, blob) for path, blob in files.items()}
        contents = await read_blobs(self._git, [*files.values(), *(base for base, _ in pairs.values())])
        sites: Mapping[str, Sequence[SitePlace]] = {}
        if any(rule.kind in invariants.SITE_KINDS for rule in self._list_rules(level)):
            sites = await self._find_sites({path: contents[blob] for path, blob in files.items()}, workspace)
        regions: Mapping[str, Sequence[invariants.ChangedRegion]] = {}
        if self._needs_regions(level):
            regions = await find_changed_regions(self._git, pairs)
        changes = []
        for path, (base, blob) in pairs.items():
            change = invariants.FileChange(
                path, contents[base], contents[blob], records[path].places, sites.get(path, ()), regions.get(path, ())
            )
            changes.append(change)
        return changes

    async def _find_sites(
        self, contents: Mapping[str, bytes], workspace: Workspace | None
    ) -> Mapping[str, Sequence[SitePlace]]:
        """Return by path the sites of these contents, which the workspace holds."""
        if not contents:
            return {}
        return (await find_sites(self._recipe.scope, contents, workspace)).places

    def _needs_regions(self, level: Level) -> bool:
        is_limited = any(rule.kind == "max-diff" for rule in self._list_rules(level))
        return is_limited or "unrelated-hunk" in self._recipe.judge.reject_if


async def find_changed_regions(
    git: Git, pairs: Mapping[str, tuple[str, str]]
) -> Mapping[str, Sequence[invariants.ChangedRegion]]:
    """Return by path what changed between two blobs; everything, where git cannot tell."""
    found = await diff_blobs(git, list(pairs.values()))
    return {path: _build_regions(hunks) for path, hunks in zip(pairs, found, strict=True)}


def _build_regions(hunks: Sequence[Hunk] | None) -> Sequence[invariants.ChangedRegion]:
    if hunks is None:
        return (_WHOLE_FILE,)
    return [
        invariants.ChangedRegion(hunk.old_start, hunk.old_length, hunk.new_start, hunk.new_length) for hunk in hunks
    ]


def find_objection(change: invariants.FileChange, recipe: Recipe) -> invariants.RuleViolation | None:
    """Return the first reason to reject a change: a forgery, or one under `[judge] reject_if`; None without one."""
    return next(_list_objections(change, recipe), None)


def _list_objections(change: invariants.FileChange, recipe: Recipe) -> Iterator[invariants.RuleViolation]:
    rules = recipe.judge
    if forgery := find_forgery(change, rules.grants):
        yield forgery
    if "out-of-scope-path" in rules.reject_if and not is_in_scope(recipe.scope, change.path):
        yield invariants.RuleViolation("it is not in scope", "it is not in scope")
    if "deleted-test" in rules.reject_if and is_test_path(change.path) and (lost := list_deleted_tests(change)):
        yield invariants.RuleViolation(f"tests are gone from it: {', '.join(lost[:3])}", "tests are gone from it")
    if "unrelated-hunk" in rules.reject_if and recipe.scope.site:
        far = count_unrelated_lines(change.regions, (place.line for place in change.sites_before), rules.near)
        if far > rules.max_unrelated_lines:
            words = f"changed lines are further than {rules.near} lines from any site"
            yield invariants.RuleViolation(f"{far} {words}, at most {rules.max_unrelated_lines} may be", words)


def find_forgery(change: invariants.FileChange, grants: Sequence[str]) -> invariants.RuleViolation | None:
    """Return what a change adds that would talk a test run into another result; None if it adds nothing of the kind.

    What the file has on the base already does not count, whichever step changed it. A file in scope may change, so
    `grants` are only those that the recipe gives for this. Blocks.
    """
    file = ChangedFile(change.path, change.before, change.after, _PLAIN, _PLAIN)
    for finding in list_findings(RuleId.FORGERY, ChangeFacts(files=(file,), grants=grants)):
        if finding.is_blocking:
            place, _, words = finding.text.partition(" ")
            line = place.rpartition(":")[2]
            advice = "if it has to be so, name the file in grants under [judge] of the recipe"
            return invariants.RuleViolation(f"line {line} {words}; {advice}", words)
    return None


def count_unrelated_lines(regions: Iterable[invariants.ChangedRegion], sites: Iterable[int], near: int) -> int:
    """Return how many changed lines lie further than `near` lines from every line of `sites`.

    Args:
        regions: what changed.
        sites: lines of the old file.
        near: how many lines away from a site a change still belongs to it.
    """
    related: set[int] = set()
    for line in sites:
        related.update(range(line - near, line + near + 1))
    return sum(line not in related for line in _list_old_lines(regions))


def _list_old_lines(regions: Iterable[invariants.ChangedRegion]) -> Iterator[int]:
    """Yield for each changed line where that is in the old file: new lines stand for those they replace."""
    for region in regions:
        yield from range(region.old_line, region.old_line + region.removed)
        last = max(region.removed - 1, 0)
        for number in range(region.added):
            yield region.old_line + min(number, last)


def list_deleted_tests(change: invariants.FileChange) -> list[str]:
    """Return the tests that the file no longer has, by name; of scripts only how many fewer they are. Blocks."""
    if change.path.endswith(".py"):
        before, after = parse_python(change.before), parse_python(change.after)
        if before and after:
            return sorted(_list_test_names(before) - _list_test_names(after))
    elif change.path.endswith(_SCRIPT_SUFFIXES):
        fewer = len(_SCRIPT_TEST.findall(change.before)) - len(_SCRIPT_TEST.findall(change.after))
        if fewer > 0:
            return [f"{fewer} calls of it or test"]
    return []


def _list_test_names(tree: ast.Module) -> set[str]:
    return {function.name for function in list_test_functions("", tree) if function.is_collected}
