"""The fields of every event.

Facts are named in the past tense; an effect is an intent before and a done event after.
"""

from datetime import datetime
from typing import NamedTuple

from orchestrator.domain.frozen_model import FrozenModel
from orchestrator.domain.ids import TaskId


class Event(FrozenModel):
    """One fact of a run. `v` is the version of its shape: a reader refuses what it does not know.

    Every concrete class fixes `kind` and `v` by its own Literal types.
    """

    kind: str
    v: int
    task: TaskId | None = None


class Intent(Event):
    """Written before an external effect. `key` is the effect's idempotency key, see `build_effect_key`."""

    key: str

    @property
    def effect(self) -> str:
        """The kind of effect that this begins: a name in `orchestrator.domain.effects.EFFECTS`."""
        return self.kind.partition(".")[0]


class Done(Event):
    """Written after an external effect, with the key of its intent."""

    key: str


class RecordedEvent(NamedTuple):
    """An event with its place in the journal: `seq` counts from 1 without gaps, `at` is aware UTC."""

    seq: int
    at: datetime
    event: Event
