"""What every test shares: the asyncio backend of anyio, a git identity of its own, and no network beyond loopback."""

import os
import sys

import pytest
from hypothesis import settings

settings.register_profile("house", deadline=None)
settings.load_profile("house")


def _stay_on_loopback(event: str, arguments: tuple[object, ...]) -> None:
    """An audit hook: whoever connects to anything but this machine fails, litellm and its price list included."""
    address = arguments[1] if event == "socket.connect" else None
    if isinstance(address, tuple) and address[0] not in {"127.0.0.1", "::1", "localhost"}:
        raise RuntimeError(f"a test may reach the loopback interface only, not {address[0]}")


sys.addaudithook(_stay_on_loopback)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(autouse=True, scope="session")
def _git_identity() -> None:
    """Tests must not depend on the user's git configuration."""
    os.environ.update(
        GIT_CONFIG_GLOBAL=os.devnull,
        GIT_CONFIG_NOSYSTEM="1",
        GIT_AUTHOR_NAME="Tester",
        GIT_AUTHOR_EMAIL="tester@example.invalid",
        GIT_COMMITTER_NAME="Tester",
        GIT_COMMITTER_EMAIL="tester@example.invalid",
        LITELLM_LOCAL_MODEL_COST_MAP="True",
    )
