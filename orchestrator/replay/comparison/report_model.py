"""JSON models of the report of a replay: `orchestrate.replay/1`."""

from typing import Any, Literal

from orchestrator.replay.comparison.requests import Divergence
from orchestrator.report.read_model import Document, ReadModel


class RequestCounts(ReadModel):
    """Model calls by how equal their requests are to the recorded ones."""

    same_bytes: int
    same_but_for_times: int
    different: int


class ComparedLanding(ReadModel):
    """One landing: its units, and the trees that were recorded and replayed; None where it is missing."""

    number: int
    units: tuple[str, ...]
    recorded: str | None
    replayed: str | None
    same: bool
    same_commit: bool


class ComparedValue(ReadModel):
    """Something of the run, as it was recorded and as the replay has it."""

    recorded: str
    replayed: str


class ComparedTree(ComparedValue):
    """The last tree of the two."""

    same: bool


class CallDifference(ReadModel):
    """The first difference between two replies: its path, and the JSON values that stand there."""

    at: str
    recorded: Any
    new: Any


class ComparedCall(ReadModel):
    """A call that was made again; `new` is None where it failed, and `error` says why."""

    seq: int
    session: str
    turn: int
    task: str
    model: str
    recorded: str
    new: str | None
    error: str
    same: bool
    first_difference: CallDifference | None


class RepeatSpending(ReadModel):
    """The cost of asking again; `usd` is None if part of it has no known price."""

    usd: float | None
    tokens: int
    calls: int


class ComparedRole(ReadModel):
    """A role that was asked again, call by call."""

    role: str
    models: tuple[str, ...]
    calls: tuple[ComparedCall, ...]
    same: int
    different: int
    failed: int
    spent: RepeatSpending


class ReplayDocument(Document, schema="orchestrate.replay/1"):
    """The output of `replay`; `kept` is the directory that was kept on demand."""

    run: str
    mode: Literal["goal", "migration"]
    same: bool
    exit: int
    whole: bool
    requests: RequestCounts
    landings: tuple[ComparedLanding, ...]
    final_tree: ComparedTree
    outcome: ComparedValue
    divergences: int
    first_divergence: Divergence | None
    environment_same: bool
    prompts: tuple[str, ...]
    asked_again: ComparedRole | None
    kept: str | None
