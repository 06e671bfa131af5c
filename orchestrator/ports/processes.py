"""Programs of the user's choice that run in a workspace beside commands: what they are granted, and speaking with them.

An agent of another maker is one, or a server of tools. Only the user's configuration grants anything here.
"""

from typing import Protocol

from pydantic import Field

from orchestrator.domain.frozen_model import FrozenModel

READ_BYTES = 64 * 1024


class HostGrant(FrozenModel):
    """The hosts that one program reaches at tier 2 in place of the registries, each as `host:port`.

    Those in `private` may resolve to a private address, those in `plain` are spoken to without TLS. `budget_bytes` is
    what the program may move, both ways.
    """

    hosts: tuple[str, ...] = ()
    private: tuple[str, ...] = ()
    plain: tuple[str, ...] = ()
    budget_bytes: int = Field(default=2 * 1024**3, gt=0)


class LentFile(FrozenModel):
    """A file of the user's that a program sees: `source` is its path on the host, `place` one below its home inside.

    With `is_writable` the program gets a copy of its own, which is thrown away when it ends.
    """

    source: str
    place: str
    is_writable: bool = False


class ProgramGrant(FrozenModel):
    """What the user grants one program besides what any command has.

    `hosts` are what it reaches at tier 2; None for the registries. `secrets` are variables with their values: they
    stand in no argument list and in no log. `read_only` are directories of the host that it sees at their own paths,
    as the program itself may lie there; they go last on PATH, each with its `bin`.
    """

    hosts: HostGrant | None = None
    secrets: dict[str, str] = Field(default_factory=dict, repr=False)
    files: tuple[LentFile, ...] = ()
    read_only: tuple[str, ...] = ()


class ProcessPipes(Protocol):
    """The standard input and output of a program under way; what it prints as errors is in its log."""

    async def send_bytes(self, content: bytes) -> None:
        """Write to its standard input; wait while it does not read.

        Raises:
            ProgramGone: it reads no more.
        """

    async def receive_bytes(self, limit: int = READ_BYTES) -> bytes:
        """Return at most `limit` bytes of its standard output, as soon as there are some; none at the end."""

    async def close_input(self) -> None:
        """End its standard input, by which most programs end themselves."""
