"""The configuration of the user's own repository, read from its file by GitPython, for messages to people.

GitPython gets no git to start, so that nothing the repository or the environment says can reach a program through it.
It opens one file and no repository: `Repo` would obey `GIT_COMMON_DIR` and its like, cannot read reftables, and starts
git for every object. What safety rests on is asked of git itself, by the guarded runner, since two parsers may differ.
"""

import os
import sys
from collections.abc import Mapping
from configparser import Error
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

from worktrees.errors import GitError

if TYPE_CHECKING:
    from git.config import GitConfigParser

_NO_PROGRAM = "/nonexistent/git"
_IMPORT_SETTINGS = {"GIT_PYTHON_GIT_EXECUTABLE": _NO_PROGRAM, "GIT_PYTHON_REFRESH": "quiet"}
_import_lock = Lock()


def list_remotes(common_dir: Path) -> Mapping[str, str]:
    """Return the name and URL of each remote in the configuration of the repository with this git directory.

    Files that the configuration includes are not looked into.

    Raises:
        GitError: the file cannot be read or understood.
    """
    remotes = {}
    for section, settings in _read_sections(common_dir).items():
        if section.startswith('remote "'):
            remotes[section[8:-1]] = settings.get("url", "")
    return remotes


def has_setting(common_dir: Path, section: str, name: str) -> bool:
    """Return True if a section, or a subsection of it, sets `name` (lower case) in the repository's configuration.

    Raises:
        GitError: the file cannot be read or understood.
    """
    for found, settings in _read_sections(common_dir).items():
        if found.partition(" ")[0].lower() == section and name in settings:
            return True
    return False


def _read_sections(common_dir: Path) -> dict[str, dict[str, str]]:
    """Return all settings by section, such as `remote "origin"`, and by name in lower case."""
    file = common_dir / "config"
    found = {}
    try:
        with _import_parser()(file, read_only=True, merge_includes=False) as parser:
            for section in parser.sections():
                found[section] = {name.lower(): str(value or "") for name, value in parser.items(section)}
    except (OSError, ValueError, AttributeError, Error) as error:
        raise GitError(f"{file} cannot be read as a configuration of git: {error}") from error
    return found


def _import_parser() -> "type[GitConfigParser]":
    """Import GitPython, which takes longer than everything else together, and would start the first git on PATH."""
    with _import_lock:
        if "git" not in sys.modules:
            given = {name: os.environ.get(name) for name in _IMPORT_SETTINGS}
            os.environ.update(_IMPORT_SETTINGS)
            try:
                import git
            finally:
                for name, value in given.items():
                    if value is None:
                        os.environ.pop(name, None)
                    else:
                        os.environ[name] = value
            git.Git.GIT_PYTHON_GIT_EXECUTABLE = _NO_PROGRAM
    from git.config import GitConfigParser

    return GitConfigParser
