"""Findings of a survey, and what was not found."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated

from pydantic import Field, computed_field

from orchestrator.report.read_model import ReadModel


class TestRunner(StrEnum):
    """The program that runs the tests: pytest, another one in Python, or one of Node."""

    __test__ = False  # pytest would take it for a test class

    PYTEST = "pytest"
    PYTHON = "python"
    NODE = "node"


@dataclass(frozen=True)
class TestCommand:
    """The command that tests a project.

    `run` with `{report}` where its report goes and `{tests}` where single files go.

    `all` stands for `{tests}` where all are meant. `source_file` says so. `notes` are what a person should
    know of it.
    """

    __test__ = False  # pytest would take it for a test class

    run: str
    report: str
    runner: Annotated[TestRunner, Field(exclude=True)]
    source_file: Annotated[str, Field(serialization_alias="said_by")]
    all: Annotated[str, Field(exclude=True)] = ""
    notes: Annotated[tuple[str, ...], Field(exclude=True)] = ()


class Findings(ReadModel):
    """Everything that `migrate init` writes into a recipe.

    `all_files`, `sources` and `tests` are globs for the include key; `pairs` say which test belongs to which source.
    `environments` lie in the checkout; `manifests` say what one would be made of, `deps` which of them `[env] deps` can
    install from.
    """

    language: str = ""
    all_files: tuple[str, ...] = Field(default=("*",), exclude=True)
    sources: tuple[str, ...] = ()
    tests: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    pairs: tuple[str, ...] = ()
    command: TestCommand | None = Field(default=None, alias="test_command")
    codeowners: str | None = None
    environments: tuple[str, ...] = ()
    manifests: tuple[str, ...] = ()
    deps: tuple[str, ...] = ()
    branch: str | None = None
    unknown: tuple[str, ...] = ()

    @computed_field  # type: ignore[prop-decorator]
    @property
    def notes(self) -> tuple[str, ...]:
        """Notes for a person."""
        return self.command.notes if self.command else ()

    def render_lines(self) -> list[str]:
        """Return lines for a person."""
        command = ""
        if self.command:
            command = f"{self.command.run}  (from {self.command.source_file}; report: {self.command.report})"
        values = [
            ("language", self.language),
            ("sources", ", ".join(self.sources)),
            ("tests", ", ".join(self.tests)),
            ("test command", command),
            ("owners", self.codeowners),
            ("environment", ", ".join(self.environments)),
            ("manifests", ", ".join(self.manifests)),
            ("branch", self.branch),
        ]
        lines = [f"  {name:13} {value}" for name, value in values if value]
        lines += (f"  not found: {text}" for text in self.unknown)
        lines += (f"  note: {text}" for text in self.notes)
        return lines
