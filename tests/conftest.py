"""What every test shares: the asyncio backend of anyio, a git identity of its own, no network beyond loopback, that
whatever landed was tested, and that every request of a session is legal and extends the one before.
"""

import gc
import os
import sys
from collections.abc import Iterator

import pytest
from hypothesis import settings

from tests.running.conversations import ConversationWatch, watch_conversations
from tests.running.landings import LandingWatch
from tests.running.representatives import mark_representatives

settings.register_profile("house", deadline=None)
settings.load_profile("house")


def _stay_on_loopback(event: str, arguments: tuple[object, ...]) -> None:
    """An audit hook: whoever connects to anything but this machine fails, litellm and its price list included."""
    address = arguments[1] if event == "socket.connect" else None
    if isinstance(address, tuple) and address[0] not in {"127.0.0.1", "::1", "localhost"}:
        raise RuntimeError(f"a test may reach the loopback interface only, not {address[0]}")


sys.addaudithook(_stay_on_loopback)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    mark_representatives(items)


def pytest_collection_finish() -> None:
    """Take ten thousand tests, and all that they import, out of the collector's sight: they stay until the end."""
    gc.collect()
    gc.freeze()


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


_WATCH = pytest.StashKey[LandingWatch]()


@pytest.fixture(autouse=True)
def _what_landed_is_what_was_tested(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[None]:
    """In every journal that a test wrote, each landing has the tree of green receipts, and so has its commit in git.

    Runs of fixtures that live longer are looked at after the first test that uses them, and again if they went on.
    """
    stash = request.session.stash
    watch = stash.setdefault(_WATCH, LandingWatch(tmp_path_factory.getbasetemp()))
    yield
    problems = watch.problems(may_be_damaged=request.node.get_closest_marker("damaged_journal") is not None)
    if _is_last_of_its_module(request):
        watch.forget()
    assert not problems, "\n".join(problems)


@pytest.fixture(autouse=True)
def conversation_watch() -> Iterator[ConversationWatch]:
    """Every request that a session of this process sends is legal, has its task, and extends the one before.

    What is left out only becomes shorter, and nothing is rewritten but by a carryover. (The scripted model refuses
    the same in processes of their own.)
    """
    with pytest.MonkeyPatch.context() as patch:
        watch = watch_conversations(patch)
        yield watch
    problems = watch.list_problems()
    assert not problems, "\n".join(problems)


def _is_last_of_its_module(request: pytest.FixtureRequest) -> bool:
    items, node = request.session.items, request.node
    at = items.index(node)
    return at + 1 == len(items) or items[at + 1].path != node.path
