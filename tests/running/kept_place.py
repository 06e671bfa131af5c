"""A repository with a recorded run of each kind, for verbs that only read."""

from pathlib import Path
from typing import NamedTuple

from click.testing import CliRunner

from orchestrator.cli.main import cli
from orchestrator.errors import JournalProblem
from orchestrator.journal.locations.run_directory import RunDirectory, StateDirectory
from tests.golden import DATA
from tests.running.projects import repository
from tests.unit.journal.test_golden_journals import restore

GOAL, MIGRATION = "20260101-000000-aaaa", "20260102-000000-bbbb"
"""What the two runs are called."""


class Place(NamedTuple):
    """A repository and its state directory."""

    repo: Path
    state: Path

    @property
    def where(self) -> tuple[str, ...]:
        """The options that name it."""
        return ("--repo", str(self.repo), "--state", str(self.state))

    def says(self, *words: str) -> str:
        """What a verb prints, also of a recording without its long texts: it says so afterwards."""
        done = CliRunner().invoke(cli, [*words, *self.where])
        assert done.exception is None or isinstance(done.exception, SystemExit | JournalProblem), done.exception
        return done.stdout


def kept_runs(root: Path) -> Place:
    """The recorded goal and the recorded migration as runs of one repository."""
    repo = repository(root / "repo", {"a.txt": "a\n"})
    runs = StateDirectory.locate_for(repo, str(root / "state")).path / "runs"
    for name, run in (("goal.v2", GOAL), ("migration.v1", MIGRATION)):
        directory = RunDirectory(runs / run)
        directory.path.mkdir(parents=True)
        restore(DATA / "journals" / f"{name}.jsonl", directory.journal)
    return Place(repo, root / "state")
