"""A row of the fleet with its columns, the fields for filters, and its JSON model."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from orchestrator.domain.budget.usage import Usage
from orchestrator.domain.text.durations import format_short_duration
from orchestrator.domain.text.sanitization import to_one_line
from orchestrator.report.read_model import ReadModel
from orchestrator.report.rows.activity import Activity
from orchestrator.report.rows.row_filter import FilterValue

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


_PLACES = 4


@dataclass(frozen=True)
class AgentRow:
    """Something of a run that is at work, waits, or needs a person.

    `id` names it within its `kind`, `name` is short. `changed` are lines added and removed, None where nobody knows.
    `age_s` is how long ago it was last heard of. `turn` counts from 1; 0 is before the first. `count` is how many
    things the row stands for.
    """

    kind: RowKind
    id: str
    name: str
    activity: Activity
    role: str = ""
    task: str = ""
    title: str = ""
    branch: str = ""
    model: str = ""
    turn: int = 0
    spent: Usage = field(default_factory=Usage)
    changed_lines: tuple[int, int] | None = None
    age_s: float | None = None
    last: str = ""
    count: int = 1

    @property
    def key(self) -> str:
        """The row's unique name within the run."""
        return f"{self.kind}:{self.id}"

    @property
    def usd(self) -> float | None:
        """The known cost in dollars; None where no price is known."""
        if self.spent.calls and self.spent.unpriced_calls == self.spent.calls:
            return None
        return round(float(self.spent.cost_usd), _PLACES)

    @property
    def urgency(self) -> int:
        """Its place when sorted by attention. A planner whose tasks are under way needs as little as what waits."""
        waits = self.kind == "task" and self.role != "worker" and self.activity is Activity.RUN
        if waits:
            return Activity.QUEUE.urgency
        return self.activity.urgency

    def get_filter_values(self) -> dict[str, FilterValue]:
        """Return the values that filters compare, by field."""
        added, removed = self.changed_lines or (None, None)
        return {
            "id": self.name if self.kind == "session" else self.id,
            "state": self.activity.filter_values,
            "role": self.role,
            "task": self.task,
            "title": self.title,
            "branch": self.branch,
            "model": self.model,
            "turn": self.turn,
            "tokens": self.spent.tokens,
            "cost": self.usd,
            "added": added,
            "removed": removed,
            "age": self.age_s,
            "last": self.last,
        }

    def build_entry(self) -> FleetEntry:
        """Return the row as `status --filter --json` prints it."""
        values = {**self.get_filter_values(), "state": self.activity}
        return FleetEntry.model_validate({"kind": self.kind, "key": self.id, "count": self.count, **values})

    def render_cells(self, is_ascii: bool = False) -> dict[str, str]:
        """Return the text of each column of `AGENT_COLUMNS`, in one line each."""
        if self.task and self.title:
            title = f"{self.task} {self.title}"
        else:
            title = self.task or self.title
        return {
            "id": self.name,
            "state": self.activity.render_label(is_ascii),
            "role": self.role,
            "task": to_one_line(title),
            "branch": to_one_line(self.branch),
            "model": to_one_line(self.model),
            "turn": str(self.turn) if self.turn else "-",
            "tokens": format_tokens(self.spent.tokens),
            "cost": self.cost_text,
            "change": f"+{self.changed_lines[0]}/-{self.changed_lines[1]}" if self.changed_lines else "-",
            "age": "-" if self.age_s is None else format_short_duration(self.age_s),
            "last": to_one_line(self.last),
        }

    @property
    def cost_text(self) -> str:
        """The cost in words; `-` without any call."""
        if not self.spent.calls:
            return "-"
        return self.spent.cost_text


AGENT_KEYS: Sequence[str] = tuple(AgentRow("task", "", "", Activity.RUN).get_filter_values())
"""The fields by which rows can be filtered."""
AGENT_COLUMNS: Sequence[tuple[str, str, int]] = (
    ("id", "ID", 4),
    ("state", "STATE", 9),
    ("role", "ROLE", 7),
    ("task", "TASK", 34),
    ("branch", "BRANCH", 20),
    ("model", "MODEL", 16),
    ("turn", "TURN", 4),
    ("tokens", "TOK", 6),
    ("cost", "COST", 17),
    ("change", "+/-", 10),
    ("age", "AGE", 6),
    ("last", "LAST", 60),
)
"""Key, title and usual width in cells of the columns, from left to right."""


def format_tokens(tokens: int) -> str:
    """Return a number of tokens as `-`, `950`, `212k` or `9.1M`."""
    if not tokens:
        return "-"
    if tokens < 1_000:
        return str(tokens)
    if tokens < 999_500:
        return f"{tokens / 1_000:.0f}k"
    return f"{tokens / 1_000_000:.1f}M"
