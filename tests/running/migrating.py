"""Migrations in this process, on real git and in the real sandbox, and what people tell them."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from orchestrator.app.run_execution import RunExit, resume_run, run_migration
from orchestrator.domain.commands.definitions import Command
from orchestrator.domain.recipe.model import Recipe
from orchestrator.journal.storage.event_store import read_all_events
from orchestrator.project.options import Options
from orchestrator.run_control.control import send_command
from tests.running.projects import git, repository

WORD_TEST = """import pathlib
import unittest

ROOT = pathlib.Path(__file__).parent
BAD = {bad!r}


class WordsTest(unittest.TestCase):
    pass


for path in sorted(ROOT.glob("*/*.txt")):
    def check(self, path=path):
        text = path.read_text()
        for word in BAD:
            if word in text:
                raise ValueError(word + " is not allowed")
    name = "test_" + str(path.relative_to(ROOT)).replace("/", "_").replace(".", "_")
    setattr(WordsTest, name, check)
"""
GATE = "python3 -m unittest -v"
SED = "sed -i s/old/new/ {files}"


def words(root: Path, files: dict[str, str], bad: tuple[str, ...] = ("wrong", "odd")) -> Path:
    """A repository of texts in directories, with a test for each that refuses some words."""
    content: dict[str, str | bytes] = {".gitignore": "__pycache__/\n", "test_words.py": WORD_TEST.format(bad=bad)}
    return repository(root, content | {path: f"{text}\n" for path, text in files.items()})


def recipe(*steps: dict[str, Any], **more: Any) -> Recipe:
    """A recipe over all texts that counts the word `old`."""
    values = {
        "schema": 1,
        "migration": {"id": "words"},
        "scope": {"include": ["*.txt"], "site": [{"id": "old", "pattern": "old"}]},
        "step": [{"id": f"step-{number}"} | step for number, step in enumerate(steps)],
        "verify": {"report": "unittest", "coverage": False, "check": [{"id": "t", "run": GATE}]},
        "shard": {"by": ["directory"], "depth": 1, "min_files": 1},
    }
    return Recipe.model_validate(values | more)


@dataclass
class Migrated:
    """A repository that is migrated, perhaps in several processes, always with the same `settings`."""

    root: Path
    ended: RunExit | None = None
    settings: dict[str, Any] = field(default_factory=dict)

    @property
    def now(self) -> RunExit:
        """How far the latest process came."""
        assert self.ended is not None
        return self.ended

    def options(self, **flags: Any) -> Options:
        """What the command line would say."""
        return Options(self.root, {"state": {"dir": str(self.root.parent / "state")}} | self.settings | flags)

    async def run(self, given: Recipe, **flags: Any) -> RunExit:
        """A new run, to wherever it comes."""
        self.ended = await run_migration(self.options(**flags), given)
        return self.ended

    async def say(self, *commands: Command) -> RunExit:
        """Tell the latest run something, and let it go on."""
        for command in commands:
            send_command(self.now.directory, command, by="ada")
        self.ended = await resume_run(self.options(), str(self.now.state.run.run))
        return self.ended

    def statuses(self) -> dict[str, str]:
        """Path → status."""
        return {path: file.status.value for path, file in self.now.state.migration.files.items()}

    def subjects(self) -> list[str]:
        """The shards of the commits on the PR branch, first one first, each with its number of files."""
        branch = self.now.state.run.branch
        lines = git(
            self.root, "log", "--reverse", "--format=%(trailers:key=Shard,valueonly,separator=)", f"main..{branch}"
        )
        return [line for line in lines.splitlines() if line]

    def text(self, path: str) -> str:
        """What a file holds on the PR branch."""
        return git(self.root, "show", f"{self.now.state.run.branch}:{path}")

    def events(self, kind: type[Any]) -> list[Any]:
        """The events of a kind, in order."""
        return [one.event for one in read_all_events(self.now.directory.journal) if isinstance(one.event, kind)]
