"""One self-test of the sandbox for all runs of a test process that stand behind the same walls."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from orchestrator.hands.sandbox import backend_trials
from orchestrator.hands.sandbox.backend import Backend
from orchestrator.hands.selftest.escape_test import SelfTestReport, run_self_test

_PASSED: dict[tuple[str, ...], SelfTestReport] = {}


async def run_self_test_once(backend: Backend, scratch: Path) -> SelfTestReport:
    """Return what the self-test found behind the same walls before; what did not pass is tried every time."""
    policy = backend.policy
    walls = (backend.description, str(policy.tier), policy.limits.model_dump_json(), *policy.read_only)
    if walls not in _PASSED:
        report = await run_self_test(backend, scratch)
        if report.trouble:
            return report
        _PASSED[walls] = report
    return _PASSED[walls]


@contextmanager
def shared_self_test() -> Iterator[None]:
    """Runs that are opened within the block share their self-tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(backend_trials, "run_self_test", run_self_test_once)
        yield
