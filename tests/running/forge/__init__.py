"""A forge that answers as GitHub's REST API does, on the loopback interface, over a real bare repository."""

from tests.running.forge.faults import (
    Answer,
    Fault,
    bad_gateway,
    lost,
    primary_limit,
    secondary_limit,
    slow,
    unreachable,
)
from tests.running.forge.hosted import ALL_RIGHTS, Hosted
from tests.running.forge.server import TOKEN, Asked, FakeForge, fake_forge

__all__ = [
    "ALL_RIGHTS",
    "TOKEN",
    "Answer",
    "Asked",
    "FakeForge",
    "Fault",
    "Hosted",
    "bad_gateway",
    "fake_forge",
    "lost",
    "primary_limit",
    "secondary_limit",
    "slow",
    "unreachable",
]
