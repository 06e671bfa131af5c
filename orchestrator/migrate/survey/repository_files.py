"""The files that are asked."""

import tomllib
from collections.abc import Mapping
from configparser import ConfigParser, Error
from dataclasses import dataclass, field
from json import JSONDecodeError, loads
from pathlib import Path, PurePosixPath
from typing import Any

REQUIREMENT_FILES = (
    *("requirements-test.txt", "requirements-tests.txt", "requirements_test.txt", "test-requirements.txt"),
    *("requirements/test.txt", "requirements/tests.txt", "requirements/testing.txt"),
    *("requirements-dev.txt", "requirements_dev.txt", "dev-requirements.txt", "requirements/dev.txt"),
    "requirements.txt",
)
"""Places of requirements files, those for tests first."""
CONFIG_FILES = frozenset(
    {
        *("pyproject.toml", "pytest.ini", ".pytest.ini", "tox.ini", "setup.cfg", "noxfile.py", "Makefile"),
        *("package.json", "setup.py", "manage.py", *REQUIREMENT_FILES),
    }
)
"""Files of a repository that say how it is tested, and with what."""


@dataclass(frozen=True)
class RepositoryFiles:
    """The committed files of a repository: all paths, and the texts of those that speak. `root` is its checkout."""

    paths: tuple[str, ...]
    texts: Mapping[str, str] = field(default_factory=dict)
    root: Path | None = None
    branch: str = ""

    def get_text(self, path: str) -> str:
        """Return the text of a file; empty where there is none."""
        return self.texts.get(path, "")

    def parse_toml(self, path: str) -> dict[str, Any]:
        """Return a TOML file; empty where there is none or it cannot be read."""
        try:
            return tomllib.loads(self.get_text(path))
        except tomllib.TOMLDecodeError:
            return {}

    def parse_json(self, path: str) -> dict[str, Any]:
        """Return a JSON file that holds an object; empty where there is none or it cannot be read."""
        try:
            found = loads(self.get_text(path) or "{}")
        except (JSONDecodeError, RecursionError):
            return {}
        return found if isinstance(found, dict) else {}

    def parse_ini(self, path: str) -> ConfigParser:
        """Return an INI file; without sections where there is none or it cannot be read."""
        parser = ConfigParser(interpolation=None, strict=False)
        try:
            parser.read_string(self.get_text(path))
        except Error:
            return ConfigParser(interpolation=None)
        return parser

    def list_with_suffix(self, *suffixes: str) -> list[str]:
        """Return the paths with one of these suffixes."""
        return [path for path in self.paths if PurePosixPath(path).suffix in suffixes]

    def is_in_checkout(self, *names: str) -> bool:
        """Return True if the checkout, committed or not, has something at this place."""
        return self.root is not None and self.root.joinpath(*names).exists()
