"""What runs commands on a host: one interface for bubblewrap, containers and whatever else can hold a command."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from orchestrator.domain.tier import Tier
from orchestrator.hands.mounts import Mount
from orchestrator.hands.places import Surroundings
from orchestrator.hands.policy import Policy, Registries
from orchestrator.hands.process import Ended
from orchestrator.ports.hands import Command


@dataclass(frozen=True)
class Place:
    """A workspace as a sandbox sees it: its checkout `root`, its shadow git directory, and what it borrows.

    `shared` are names of things in the checkout, each with the host directory in which it lies under the same name.
    """

    root: Path
    git: Path
    objects: tuple[Path, ...] = ()
    shared: Mapping[str, Path] = field(default_factory=dict, hash=False)


@dataclass(frozen=True)
class Order:
    """A command to be run in a place, its whole output into `log`.

    `exchange` is a host directory for `command.files`. `timeout_s` of wall time and `output_bytes` count, not what the
    command says of them. `registries` are given with a command at tier 2, and are all it may reach.
    """

    command: Command
    place: Place
    log: Path
    timeout_s: float
    output_bytes: int
    exchange: Path | None = None
    registries: Registries | None = None

    @property
    def folders(self) -> tuple[Path, ...]:
        """The host directories that the command can write to."""
        return (self.place.root, self.place.git, *([self.exchange] if self.exchange else []))


class Backend(Protocol):
    """Runs commands behind walls. Made once per process and tried by the self-test before any command of a model."""

    @property
    def name(self) -> str:
        """One word for it."""
        ...

    @property
    def around(self) -> Surroundings:
        """What lies around the work on the host."""
        ...

    @property
    def policy(self) -> Policy:
        """What commands run under."""
        ...

    @property
    def owner(self) -> int | None:
        """Whom files must belong to that commands are to use; None for ourselves."""
        ...

    @property
    def ceiling(self) -> Tier:
        """The highest tier that it can offer."""
        ...

    @property
    def described(self) -> str:
        """The program behind it, its version, and as whom commands run."""
        ...

    def mounts(self, place: Place) -> tuple[Mount, ...]:
        """What stands where for a command in a place; nothing where there are no walls."""
        ...

    def env(self, command: Command, registries: Registries | None = None) -> dict[str, str]:
        """Every variable the command sees when it starts."""
        ...

    async def run(self, order: Order) -> Ended:
        """Run a command to its end; returns only when everything it started is dead, also when cancelled.

        Raises:
            OSError: the host could not keep a log or watch the command.
        """
        ...

    async def leave(self, place: Place) -> None:
        """The workspace is about to be closed: end what is kept for it between commands."""
        ...
