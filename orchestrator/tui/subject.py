"""The things that actions are about."""

from dataclasses import dataclass
from typing import Literal

SubjectKind = Literal["session", "task", "unit", "approval", "file", "shard", "event", "run"]


@dataclass(frozen=True)
class Subject:
    """The thing that an action is about: `id` is a session, a task, a unit, an approval's item, a path, a shard."""

    kind: SubjectKind
    id: str
    title: str = ""

    @property
    def label(self) -> str:
        """Its title, or else its id."""
        return self.title or self.id
