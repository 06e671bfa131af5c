"""The files of a repository that its gate's commands run, or are configured by. Pure.

Only names are read, so this errs on the side of too many files; what the project's own tests import is left out, since
it is what they judge.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import filterfalse, pairwise
from pathlib import PurePosixPath

from orchestrator.domain.paths.globs import is_glob, matches_glob
from orchestrator.domain.text.lazy_pattern import compile_lazily
from orchestrator.judge.gate_files import command_lines

_IMPLIED: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("make", "gmake"), ("GNUmakefile", "makefile", "Makefile")),
    **dict.fromkeys(("npm", "yarn", "pnpm", "bun"), ("package.json",)),
    **dict.fromkeys(("invoke", "inv"), ("tasks.py",)),
    **dict.fromkeys(
        ("docker-compose", "compose"),
        ("compose.yaml", "compose.yml", "docker-compose.yml", "docker-compose.yaml", "docker-compose.override.yml"),
    ),
    "tox": ("tox.ini", "tox.toml"),
    "nox": ("noxfile.py",),
    "just": ("justfile", ".justfile"),
    "task": ("Taskfile.yml", "Taskfile.yaml"),
    "rake": ("Rakefile",),
    "gulp": ("gulpfile.js",),
    "grunt": ("Gruntfile.js",),
}
"""What programs read without being told to, by their names."""
_LOOKS_ONLY = frozenset(
    {"test", "[", "[[", "grep", "egrep", "rg", "ls", "find", "stat", "wc", "echo", "printf", "git"}
    | {"rm", "mkdir", "touch", "cp", "mv", "tar", "zip", "rsync", "chmod"}
)
"""Programs that judge nothing by what stands in the files that they are given, or that say so in the command."""
_EXAMINES = frozenset(
    {"pytest", "py.test", "unittest", "doctest", "nose2", "ruff", "mypy", "pyright", "flake8", "pylint", "black"}
    | {"isort", "bandit", "vulture", "py_compile", "compileall", "eslint", "prettier", "tsc", "jest", "vitest"}
    | {"mocha", "ava", "tap", "shellcheck", "rubocop", "rspec", "gofmt", "rustfmt", "biome", "--test"}
)
"""Programs to which files are handed to be tested or looked at, and not to decide."""
_LOADS = frozenset(
    {"-p", "-c", "-r", "--require", "--import", "--loader", "--config", "--config-file", "--rcfile", "--plugin"}
)
"""Options of those whose value they run or are configured by."""
_SETTINGS = frozenset({".ini", ".cfg", ".toml", ".json", ".yml", ".yaml", ".conf", ".rc"})
_CODE = frozenset({".py", ".js", ".mjs", ".cjs", ".jsx", ".ts", ".tsx", ".rb", ".go", ".rs", ".java", ".php"})
_SCRIPTS = _CODE | {".sh", ".bash", ".zsh", ".mk", ".just", ".pl", ".ps1"}
_SAYS_WHAT_IT_RUNS = frozenset({".sh", ".bash", ".zsh", ".ksh", ".mk", ".just", ".json", ".ini", ""})
_MOST_FILES = 500
"""Of one pattern; one that fits more files names none of them in particular."""
_CHANGES_FOLDER = frozenset({"cd", "pushd"})
_IN_FOLDER = frozenset({"-C", "--directory", "--prefix", "--cwd", "--project-directory", "--rootdir"})
_SOURCES = ("src", "lib")
_TOOLING = frozenset({"scripts", "script", "tools", "tool", "ci", ".ci", "bin", "build", "hack", "dev", "etc"})
_IMPORT = compile_lazily(rb"^\s*(?:from|import)\s+([A-Za-z_]\w*)", re.MULTILINE)
_RELATIVE = compile_lazily(rb"""["'](?:\.\.?/)+([\w./-]+)["']""")


def fold_path(path: str) -> str:
    """Return what a path is compared by, so that no file system takes two for one."""
    return unicodedata.normalize("NFKC", path).casefold()


def iterate_imported_names(test: bytes) -> Iterator[str]:
    """Yield the top-level names that a test file imports in Python, and the stems of files that it requires."""
    for found in _IMPORT.findall(test):
        yield found.decode()
    for found in _RELATIVE.findall(test):
        yield PurePosixPath(found.decode()).stem


def _is_loaded(option: str, word: str) -> bool:
    """Return True if a program that examines files is configured by this word, the one after `option`."""
    name, _, given = word.partition("=")
    if not name.startswith("-"):
        given = word * option.startswith("-")
    return option in _LOADS or name in _LOADS or word.startswith("@") or PurePosixPath(given).suffix in _SETTINGS


class GateFileFinder:
    """Finds the files of a repository that commands name.

    `paths` are those that exist, `imported` what its tests import, `links` the targets of its symbolic links as paths
    of the repository.
    """

    def __init__(
        self, paths: Iterable[str], imported: Iterable[str] = (), links: Mapping[str, str] | None = None
    ) -> None:
        self._paths = frozenset(paths)
        self._imported = frozenset(imported)
        self._links = dict(links or {})

    def find_named_files(self, command: str, folder: str = "") -> Mapping[str, frozenset[str]]:
        """Return each file that a command line names, with the words of the command that does.

        `folder` is where it may stand beside the top; what it changes into counts as well.
        """
        found: dict[str, frozenset[str]] = {}
        here = folder
        for words in command_lines.iterate_simple_commands(command):
            if words[0] in _CHANGES_FOLDER and len(words) > 1:
                here = next(self._find_folders(words[1], (here, folder, "")), here)
            folders = tuple(dict.fromkeys(("", folder, here, *self._find_given_folders(words, ("", here)))))
            for path in self._find_named(words, folders):
                found[path] = found.get(path, frozenset()) | frozenset(words)
        return found

    def find_followed_files(self, path: str, content: bytes, words: frozenset[str]) -> Mapping[str, frozenset[str]]:
        """Return what a file names that a command with these words names."""
        found: dict[str, frozenset[str]] = {}
        if self._is_product(path):
            return found
        name = PurePosixPath(path)
        says_what_it_runs = name.suffix.casefold() in _SAYS_WHAT_IT_RUNS
        folder = path.rpartition("/")[0]
        for line in command_lines.iterate_command_lines(path, content.decode("utf-8", "replace"), words):
            for file, told in self.find_named_files(line, folder).items():
                if says_what_it_runs or PurePosixPath(file).suffix in _SCRIPTS:
                    found[file] = found.get(file, frozenset()) | told
        return found

    @cached_property
    def _folders(self) -> frozenset[str]:
        folders: set[str] = set()
        for path in self._paths:
            folders.update(map(str, PurePosixPath(path).parents))
        return frozenset(folders)

    @cached_property
    def _by_fold(self) -> Mapping[str, str]:
        return {fold_path(path): path for path in self._paths}

    def _find_named(self, words: Sequence[str], folders: Sequence[str]) -> Iterator[str]:
        names = command_lines.list_program_names(words)
        for name in dict.fromkeys(names):
            for file in _IMPLIED.get(name, ()):
                yield from self._find_existing(command_lines.join_path(folder, file) for folder in folders)
        for at, word in enumerate(words):
            before = frozenset(names[:at])
            if before & _LOOKS_ONLY:
                continue
            option = words[at - 1] if at else ""
            if not before & _EXAMINES or _is_loaded(option, word):
                found = self._find_word(word, folders, is_module=option in {"-m", "-p"})
                yield from filterfalse(self._is_product, found)

    def _find_word(self, word: str, folders: Sequence[str], *, is_module: bool) -> Iterator[str]:
        for text in command_lines.iterate_written_paths(word):
            for folder in folders:
                yield from self._find_fitting(folder, text)
                if is_module:
                    yield from self._find_module(folder, text)

    def _find_fitting(self, folder: str, text: str) -> Iterator[str]:
        path = command_lines.join_path(folder, text)
        if not path:
            return
        yield from self._find_existing((path, command_lines.join_path(path, "__main__.py")))
        if any(char in path for char in "*?[") and path[0] not in "*?[" and is_glob(path):
            fitting = [known for known in self._paths if matches_glob(path, known)]
            if len(fitting) <= _MOST_FILES:
                yield from fitting

    def _find_module(self, folder: str, text: str) -> Iterator[str]:
        """Yield the files that `python -m` or a runner's `-p` may find for a module's name."""
        inside = text.replace(".", "/")
        ends = (f"{inside}.py", f"{inside}/__main__.py", f"{inside}/__init__.py")
        roots = dict.fromkeys((folder, *_SOURCES))
        for root in roots:
            yield from self._find_existing(command_lines.join_path(root, end) for end in ends)

    def _find_existing(self, paths: Iterable[str | None]) -> Iterator[str]:
        """Yield paths that exist as they are spelt or if a file system ignores case; links with their targets."""
        for path in filter(None, paths):
            spelt = [path]
            for link, target in self._links.items():
                if path == link or path.startswith(f"{link}/"):
                    spelt.append(f"{target}{path.removeprefix(link)}")
            yield from filter(None, map(self._by_fold.get, map(fold_path, spelt)))

    def _find_folders(self, text: str, folders: Sequence[str]) -> Iterator[str]:
        for path in command_lines.iterate_written_paths(text):
            for folder in folders:
                place = command_lines.join_path(folder, path)
                if place and place in self._folders:
                    yield place

    def _find_given_folders(self, words: Sequence[str], folders: Sequence[str]) -> Iterator[str]:
        for option, word in pairwise(("", *words)):
            if option in _IN_FOLDER or word.partition("=")[0] in _IN_FOLDER:
                yield from self._find_folders(word, folders)

    def _is_product(self, path: str) -> bool:
        """Return True for code of the project that its own tests import, or that lies where sources do."""
        parts = PurePosixPath(path).parts
        if PurePosixPath(path).suffix not in _CODE or parts[0] in _TOOLING:
            return False
        top = parts[1:] if parts[0] in _SOURCES and len(parts) > 1 else parts
        return len(top) < len(parts) or PurePosixPath(top[0]).stem in self._imported
