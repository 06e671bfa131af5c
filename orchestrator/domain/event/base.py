"""The fields of every event.

Facts are named in the past tense; an effect is an intent before and a done event after.
"""

from datetime import datetime
from typing import Any, Literal, NamedTuple

from orchestrator.domain.frozen_model import FrozenModel, fix_field
from orchestrator.domain.ids import TaskId
from orchestrator.domain.purpose import PurposeFacts, parse_old_purpose


class Event(FrozenModel):
    """One fact of a run. `v` is the version of its shape: a reader refuses what it does not know.

    Every concrete class names its `kind` behind its bases. One that is a later shape of a kind stands beside the old
    one, and fixes `v` as well.
    """

    kind: str = ""
    v: Literal[1] = 1
    task: TaskId | None = None

    def __init_subclass__(cls, kind: str = "", **options: Any) -> None:  # noqa: ANN401  pydantic's own
        super().__init_subclass__(**options)
        if kind:
            fix_field(cls, "kind", kind)


class Intent(Event):
    """Written before an external effect. `key` is the effect's idempotency key, see `build_effect_key`."""

    key: str

    @property
    def effect(self) -> str:
        """The kind of effect that this begins: a name in `orchestrator.domain.effects.EFFECTS`."""
        return self.kind.partition(".")[0]


class PurposeIntent(Intent):
    """An intent with a purpose: words for people, with facts that programs go by; old journals have none of these."""

    purpose: str
    facts: PurposeFacts | None = None

    @property
    def purpose_facts(self) -> PurposeFacts:
        """The facts of its purpose, also from an old journal."""
        return self.facts or parse_old_purpose(self.purpose)


class Done(Event):
    """Written after an external effect, with the key of its intent."""

    key: str


class RecordedEvent(NamedTuple):
    """An event with its place in the journal: `seq` counts from 1 without gaps, `at` is aware UTC."""

    seq: int
    at: datetime
    event: Event
