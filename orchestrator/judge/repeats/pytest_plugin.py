"""The inside of a run that repeats tests: a plugin of pytest that runs those which reach changed code in many rounds.

It is never imported here: its text goes into the sandbox, together with that of `reaching_tests`, where the project's
own pytest loads it.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from orchestrator.judge.repeats.reaching_tests import choose_items

CHANGED: tuple[str, ...] = ()
ROUNDS = 0
SECONDS = 0.0
"""Lines that are put after this text give their values: the changed files, and the limits of the repetition."""


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool | None:
    """Run the chosen tests round by round, until the rounds or the seconds are used up."""
    if session.config.option.collectonly or hasattr(session.config, "workerinput"):
        return None
    if getattr(session.config.option, "numprocesses", None):
        return True  # xdist hands out each test once
    items = choose_items(session.items, CHANGED)
    deadline = time.monotonic() + SECONDS
    for _ in range(ROUNDS):
        for number, item in enumerate(items):
            if time.monotonic() > deadline:
                session._setupstate.teardown_exact(None)
                return True
            following = items[number + 1] if number + 1 < len(items) else None
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
    return True
