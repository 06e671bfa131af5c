"""Findings of a survey, and what was not found."""

from dataclasses import dataclass


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
    source_file: str
    all: str = ""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Findings:
    """Everything that `migrate init` writes into a recipe.

    `all_files`, `sources` and `tests` are globs for the include key; `pairs` say which test belongs to which source.
    `environments` lie in the checkout; `manifests` say what one would be made of.
    """

    language: str = ""
    all_files: tuple[str, ...] = ("*",)
    sources: tuple[str, ...] = ()
    tests: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    pairs: tuple[str, ...] = ()
    command: TestCommand | None = None
    codeowners: str = ""
    environments: tuple[str, ...] = ()
    manifests: tuple[str, ...] = ()
    branch: str = ""
    unknown: tuple[str, ...] = ()

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes for a person."""
        return self.command.notes if self.command else ()

    def as_object(self) -> dict[str, object]:
        """Return the object for --json."""
        command = self.command
        return {
            "language": self.language,
            "sources": list(self.sources),
            "tests": list(self.tests),
            "exclude": list(self.exclude),
            "pairs": list(self.pairs),
            "test_command": command and {"run": command.run, "report": command.report, "said_by": command.source_file},
            "codeowners": self.codeowners or None,
            "environments": list(self.environments),
            "manifests": list(self.manifests),
            "branch": self.branch or None,
            "unknown": list(self.unknown),
            "notes": list(self.notes),
        }

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
