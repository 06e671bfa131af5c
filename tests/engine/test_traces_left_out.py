"""Runs without traces load nothing of OpenTelemetry; traces without the extra are a clear word at the start."""

import sys
from collections.abc import Iterator, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec

import pytest

from orchestrator.app.run_execution import run_migration
from orchestrator.config.layers import load_config
from orchestrator.config.sections.telemetry import TelemetrySettings
from orchestrator.errors import UsageProblem
from orchestrator.project.options import Options
from tests.running.goals import Bench, one
from tests.running.words import SED, recipe

pytestmark = pytest.mark.sandbox

_PACKAGES = ("opentelemetry.sdk", "opentelemetry.exporter", "opentelemetry.proto", "orchestrator.telemetry")


class Missing(MetaPathFinder):
    """Finds nothing of what sends traces, and keeps what was asked for."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def find_spec(self, fullname: str, path: Sequence[str] | None, target: object = None) -> ModuleSpec | None:
        """Refuse what belongs to the extra."""
        if fullname.startswith(_PACKAGES):
            self.asked.append(fullname)
            raise ModuleNotFoundError(fullname)
        return None


@pytest.fixture
def missing(monkeypatch: pytest.MonkeyPatch) -> Iterator[Missing]:
    """A process in which the extra is neither loaded nor installed."""
    for name in [name for name in sys.modules if name.startswith(_PACKAGES)]:
        monkeypatch.delitem(sys.modules, name)
    finder = Missing()
    monkeypatch.setattr(sys, "meta_path", [finder, *sys.meta_path])
    yield finder


async def test_a_run_without_traces_asks_for_nothing_that_sends_them(bench: Bench, missing: Missing) -> None:
    ended = await bench.run(*one("a"))
    assert ended.exit_code == 0
    assert missing.asked == []


async def test_traces_without_the_extra_are_refused_before_a_run_is_made(bench: Bench, missing: Missing) -> None:
    with pytest.raises(UsageProblem, match=r"pip install 'orchestrate-goals\[otel\]'"):
        await bench.run(*one("a"), telemetry={"enabled": True})
    assert missing.asked
    assert not list((bench.root / "state").glob("**/journal*"))


async def test_a_header_without_its_value_is_refused_before_a_run_is_made(bench: Bench) -> None:
    settings = {"enabled": True, "headers": {"Authorization": "NO_SUCH_VARIABLE_HERE"}}
    with pytest.raises(UsageProblem, match=r"Authorization.*NO_SUCH_VARIABLE_HERE"):
        await bench.run(*one("a"), telemetry=settings)


async def test_a_migration_is_refused_alike_before_it_is_made(bench: Bench) -> None:
    values = {"state": {"dir": str(bench.root / "state")}, "telemetry": {"enabled": True, "headers": {"A": "NO_SUCH"}}}
    with pytest.raises(UsageProblem, match=r"the header A .*NO_SUCH"):
        await run_migration(Options(bench.repository, values), recipe({"run": SED}))
    assert not list((bench.root / "state").glob("**/journal*"))


async def test_a_project_cannot_have_traces_sent(bench: Bench) -> None:
    (bench.repository / "orchestrate.toml").write_text("[telemetry]\nenabled = true\n")
    for trust in (False, True):
        with pytest.raises(UsageProblem, match="telemetry"):
            load_config(bench.repository, {}, trust_project=trust)


def test_nothing_is_sent_and_no_content_by_default() -> None:
    assert load_config(None, {}).config.telemetry == TelemetrySettings()
    assert not TelemetrySettings().enabled
    assert not TelemetrySettings().content
