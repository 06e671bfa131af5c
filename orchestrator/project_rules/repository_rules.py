"""The rules in files of the repository as they stand at a run's base, whatever has been changed since."""

from collections.abc import Sequence
from dataclasses import dataclass

from orchestrator.ports.project_rules import RuleText, SelectedRules
from orchestrator.project_rules.base_files import BaseFile, BaseFileReader, get_directory
from orchestrator.project_rules.import_syntax import (
    find_imports,
    has_only_imports,
    looks_like_file,
    resolve_import,
)
from orchestrator.project_rules.nearest import list_rule_directories
from orchestrator.project_rules.room import limit_rules
from worktrees.git import Git
from worktrees.object_store.trees import list_files_named
from worktrees.safety.path_rules import escape_path

MAX_DEPTH = 5
"""Imports are followed so many deep."""
_MAX_FILES = 64
_MAX_LOOKUPS = 256
"""So many imports are looked for in one selection: nobody who means well has more."""
_SHOWN_CHARS = 200


class RepositoryRules:
    """The `ports.ProjectRules` of one commit. `names` are what files of rules are called, the preferred one first."""

    def __init__(self, git: Git, commit: str, names: Sequence[str]) -> None:
        self._git = git
        self._commit = commit
        self._names = tuple(names)
        self._files = BaseFileReader(git, commit)
        self._paths: frozenset[str] | None = None

    async def select_rules(self, paths: Sequence[str], max_chars: int) -> SelectedRules:
        """Return the rules for work on these paths or globs, and for the whole; the nearest first."""
        selection = _Selection(self._files)
        directories = await self.list_directories()
        for directory in list_rule_directories(paths, directories):
            await self._add_directory(selection, directory)
        return limit_rules(selection.texts, max_chars, selection.problems)

    async def list_directories(self) -> tuple[str, ...]:
        """Return the directories that have a file of rules."""
        return tuple(sorted(set(map(get_directory, await self._list_paths()))))

    async def _list_paths(self) -> frozenset[str]:
        if self._paths is None:
            self._paths = frozenset(await list_files_named(self._git, self._commit, self._names))
        return self._paths

    async def _add_directory(self, selection: "_Selection", directory: str) -> None:
        """Add what the files of rules in a directory say: the preferred one, and others with words of their own."""
        known = await self._list_paths()
        for name in self._names:
            path = f"{directory}/{name}".lstrip("/")
            if path in known:
                await selection.add_rules(path, directory)


class _Selection:
    """Rules that are being gathered, in their order, each file once."""

    def __init__(self, files: BaseFileReader) -> None:
        self.texts: list[RuleText] = []
        self.problems: list[str] = []
        self._files = files
        self._seen: set[str] = set()
        self._directory = ""
        self._lookups = 0

    async def add_rules(self, path: str, directory: str) -> None:
        """Add a file of rules with what it imports, unless another file of its directory says the same."""
        file = await self._files.read_file(path)
        self._directory = directory
        if file.problem:
            self.problems.append(f"{escape_path(path)} {file.problem}")
        elif file.text and file.path not in self._seen and not self._repeats(file):
            await self._add_file(path, file, "", 0)

    def _repeats(self, file: BaseFile) -> bool:
        """Return True if a file copies what was added for its directory, or only imports what was added."""
        own = [rule.text for rule in self.texts if rule.directory == self._directory]
        if file.text in own:
            return True
        targets = [resolve_import(file.path, target) for target in find_imports(file.text)]
        return bool(targets) and has_only_imports(file.text) and self._seen.issuperset(filter(None, targets))

    async def _add_file(self, path: str, file: BaseFile, importer: str, depth: int) -> None:
        self._seen |= {path, file.path}
        rule = RuleText(path=path, directory=self._directory, text=file.text, importer=importer)
        self.texts.append(rule)
        for target in find_imports(file.text):
            problem = await self._add_import(path, file.path, target, depth + 1)
            if problem:
                self.problems.append(f"{escape_path(path)} imports {_shorten(target)}, which {problem}")

    async def _add_import(self, path: str, place: str, target: str, depth: int) -> str:
        """Add a file that another one imports; return in words why it cannot be shown, if so."""
        inside = resolve_import(place, target)
        if inside is None:
            return "lies outside of the repository"
        self._lookups += 1
        if inside in self._seen or self._lookups > _MAX_LOOKUPS:
            return ""
        file = await self._files.read_file(inside)
        if file.is_missing and not looks_like_file(target):
            return ""
        if file.problem:
            return file.problem
        if depth > MAX_DEPTH:
            return f"lies more than {MAX_DEPTH} imports deep"
        if len(self.texts) >= _MAX_FILES:
            return f"is one of more than {_MAX_FILES} files"
        if file.text and file.path not in self._seen:
            await self._add_file(inside, file, path, depth)
        return ""


def _shorten(target: str) -> str:
    return f"`{escape_path(target)[:_SHOWN_CHARS]}`"


@dataclass(frozen=True)
class RulesSurvey:
    """The files of rules of a commit by their directories, those that no brief shows wholly, and what is wrong."""

    directories: tuple[str, ...] = ()
    cut_files: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()


async def survey_rules(rules: RepositoryRules, max_chars: int) -> RulesSurvey:
    """Return what becomes of the rules in briefs for work in each directory that has some."""
    directories = await rules.list_directories()
    cut: dict[str, None] = {}
    problems: dict[str, None] = {}
    for directory in directories:
        selected = await rules.select_rules((directory,), max_chars)
        cut |= dict.fromkeys(selected.list_cut_files())
        problems |= dict.fromkeys(selected.problems)
    return RulesSurvey(directories, tuple(cut), tuple(problems))
