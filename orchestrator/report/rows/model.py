"""JSON models of a row of the fleet."""

from typing import Literal

from orchestrator.report.read_model import ReadModel
from orchestrator.report.rows.activity import Activity

RowKind = Literal["session", "task", "approval", "file", "shard", "step", "count"]


class FleetEntry(ReadModel):
    """A row of the fleet with its kind and its full name; numbers that nobody knows are None.

    `age` is in seconds, `cost` in dollars, `added` and `removed` count lines.
    """

    kind: RowKind
    key: str
    count: int
    id: str
    state: Activity
    role: str
    task: str
    title: str
    branch: str
    model: str
    turn: int
    tokens: int
    cost: float | None
    added: int | None
    removed: int | None
    age: float | None
    last: str
