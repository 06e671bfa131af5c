"""JSON models of runs in short, and of the list of many."""

from datetime import datetime
from typing import Literal

from pydantic import Field

from orchestrator.domain.ids import RunId
from orchestrator.domain.run_outcome import ShownOutcome
from orchestrator.report.cost.model import ShortAmount
from orchestrator.report.read_model import Document, Omittable, ReadModel


class AskedQuestion(ReadModel):
    """A question that waits for a person: its id, as `approve` takes it, and its title."""

    id: str
    title: str


class RunSummary(ReadModel):
    """A run in short, as its engine derives it and as it stands in its journal.

    `goal` is the first line. `word` is the outcome of a run that ended, else what the journal says that it does.
    `done` of `total` are leaf tasks, or files of a migration, that landed. `questions` are the oldest of
    `questions_open`. `name` is what a person calls it. `last_at` is the time of its last event.
    """

    run: RunId
    mode: Literal["goal", "migration"]
    goal: str
    repository: str
    pr_branch: str
    started_at: datetime
    last_at: datetime
    outcome: ShownOutcome
    word: str
    cost: ShortAmount
    done: int
    total: int
    questions: tuple[AskedQuestion, ...] = ()
    questions_open: int = 0
    name: str = ""
    labels: dict[str, str] = Field(default_factory=dict)


class RunEntry(ReadModel):
    """A run in the list of many. `summary` is left out where the run cannot be read, and `problem` says why.

    `place` is its directory. `word` is what it does by now: a run whose engine is gone is stopped.
    """

    run: RunId
    place: str
    is_live: bool
    word: str
    problem: str = ""
    summary: Omittable[RunSummary] = None


class RunsDocument(Document, schema="orchestrate.runs/1"):
    """The output of `runs`: those that fit the filters, the latest first, of `total` in all."""

    total: int
    runs: tuple[RunEntry, ...]
