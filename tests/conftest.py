"""What every test shares: the asyncio backend of anyio, a git identity of its own, and no network beyond loopback."""

import os

import pytest
from hypothesis import settings

settings.register_profile("house", deadline=None)
settings.load_profile("house")


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
