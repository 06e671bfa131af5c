"""Every row of docs/providers.md: the engine, the real litellm and a real HTTP server that misbehaves."""

import re
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from orchestrator.app.run_execution import RunExit
from orchestrator.domain.event.run import Noticed
from orchestrator.domain.event.work import ModelCalled, ModelFailed, ModelReplied
from orchestrator.domain.run.task import TaskStatus
from orchestrator.journal.storage.event_store import read_all_events
from orchestrator.llm.scripted_model.script import ScriptedReply
from tests.loopback.builders import reply
from tests.loopback.server import LoopbackServer
from tests.running.goals import Bench, reason, status, task
from tests.running.projects import calculator
from tests.running.scripts import judges, planner_ends, plans

pytestmark = [
    pytest.mark.slow,
    pytest.mark.sandbox,
    pytest.mark.filterwarnings("ignore:Accessing the 'model_:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:Items? '.*' on TypedDict class:UserWarning"),
]

DOCS = Path(__file__).parents[2] / "docs" / "providers.md"
ROW = re.compile(r"^\| (?P<fault>[^|]+) \|.*\| (?P<once>\d+) \| (?P<on_and_on>\d+) \|$")
RETRY = {"tries": 3, "base_s": 0.01, "cap_s": 0.02, "breaker_pause_s": 0.01}
DAYS = 3 * 86_400.0


@dataclass(frozen=True)
class Fault:
    """How a worker's calls fail, how often they may be made at most on and on, and what is said then."""

    item: ScriptedReply
    calls: int
    said: str
    is_dated: bool = False
    is_streamed: bool = False
    timeout_s: float = 30.0


def fails(error: str, **fields: Any) -> ScriptedReply:
    return reply(task="a", error=error, **fields)


FAULTS = {
    "says 429": Fault(fails("rate-limited"), 3, "no reply after 3 tries"),
    "says 429, Retry-After in seconds": Fault(fails("rate-limited", retry_after_s=0.05), 3, "no reply after 3 tries"),
    "says 429, Retry-After as a date": Fault(fails("rate-limited", retry_after_s=1), 3, "3 tries", is_dated=True),
    "says 429, Retry-After in days": Fault(fails("rate-limited", retry_after_s=DAYS), 1, "asks to wait 3 d, longer"),
    "says 500": Fault(fails("unavailable"), 3, "no reply after 3 tries"),
    "hangs": Fault(fails("timed-out"), 2, "no reply in time after 2 tries", timeout_s=0.8),
    "hangs in the middle of a reply": Fault(
        fails("timed-out", wire="stalled"), 2, "nothing arrived for 0.8 s", is_streamed=True
    ),
    "disconnects in the middle of a reply": Fault(fails("unavailable", wire="truncated"), 3, "no reply after 3 tries"),
    "sends a body that is no JSON": Fault(fails("unavailable", wire="malformed"), 3, "no reply after 3 tries"),
    "sends a body without a reply": Fault(fails("unavailable", wire="empty"), 3, "no reply after 3 tries"),
    "sends more than `max_reply_mb`": Fault(fails("reply-too-large"), 2, "no reply that can be used after 2 tries"),
    "ends a stream before its end": Fault(
        fails("unavailable", wire="unfinished"), 3, "the reply broke off before its end", is_streamed=True
    ),
    "says that the conversation is too long": Fault(fails("context-overflow"), 4, "longer than the model's window"),
    "answers nothing": Fault(reply(task="a", finish_reason="stop"), 12, "3 replies in a row used no tool"),
    "refuses the request": Fault(fails("request-refused"), 4, "refuses the request"),
    "says that the quota is used up": Fault(fails("quota-exhausted"), 1, "quota or credit is used up"),
    "refuses the key": Fault(fails("credentials-missing"), 1, "the key is missing or refused (set LOOPBACK_KEY)"),
    "does not know the model": Fault(fails("unknown-model"), 1, "no such provider or model"),
}
NOBODY_THERE = "refuses connections"
POSSIBLY_BILLED = {
    "hangs",
    "hangs in the middle of a reply",
    "disconnects in the middle of a reply",
    "sends a body that is no JSON",
    "sends a body without a reply",
    "sends more than `max_reply_mb`",
    "ends a stream before its end",
}


def table() -> dict[str, tuple[int, int]]:
    """The exit codes that the docs promise: once, and on and on."""
    rows = filter(None, map(ROW.match, DOCS.read_text().splitlines()))
    return {row["fault"]: (int(row["once"]), int(row["on_and_on"])) for row in rows}


PASSING = [name for name in FAULTS if table().get(name, (1, 1))[0] == 0]


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    monkeypatch.setenv("LOOPBACK_KEY", "sk-not-a-secret")
    return Bench(tmp_path, calculator(tmp_path / "repo"))


def models(url: str, worker: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Every role on a server; `worker` are more settings of the worker."""
    usual = {"api_base": url, "api_key_env": "LOOPBACK_KEY", "timeout_s": 30.0}
    roles: dict[str, Any] = {role: {"model": f"openai/{role}", **usual} for role in ("planner", "worker", "judge")}
    roles["worker"] |= worker or {}
    return roles


def story(faults: Sequence[ScriptedReply]) -> list[ScriptedReply]:
    """One task whose worker's first calls fail."""
    return [plans("root", {"key": "a"}), *faults, *task("a"), planner_ends(), judges()]


@asynccontextmanager
async def serving(*faults: ScriptedReply, is_dated: bool = False) -> AsyncIterator[tuple[LoopbackServer, str]]:
    server = LoopbackServer(story(faults), is_dated=is_dated)
    async with server.run() as url:
        yield server, url


def settings(fault: Fault) -> dict[str, Any]:
    return {"timeout_s": fault.timeout_s, "stall_timeout_s": 0.8 if fault.is_streamed else 0}


def events(ended: RunExit, kind: type) -> list[Any]:
    return [recorded.event for recorded in read_all_events(ended.directory.journal) if isinstance(recorded.event, kind)]


def work_calls(server: LoopbackServer) -> int:
    return int(server.stats()["by_role_and_task"].get("worker\ta", 0))


def test_every_row_of_the_docs_is_tested_and_the_other_way_round() -> None:
    assert set(table()) == {*FAULTS, NOBODY_THERE}


@pytest.mark.parametrize("name", FAULTS)
async def test_a_provider_that_never_recovers_ends_the_run_as_the_docs_say(bench: Bench, name: str) -> None:
    fault = FAULTS[name]
    async with serving(*[fault.item] * 60, is_dated=fault.is_dated) as (server, url):
        ended = await bench.run(roles=models(url, settings(fault)), retry=RETRY)
    told = str(ended.error) if ended.error else reason(ended, "a")
    assert (ended.exit_code, fault.said in told) == (table()[name][1], True), told
    assert work_calls(server) == fault.calls
    assert len(events(ended, ModelCalled)) == ended.state.spend.total.calls + len(events(ended, ModelFailed))
    assert ended.state.spend.possibly_billed_calls == (fault.calls if name in POSSIBLY_BILLED else 0)
    assert ended.state.spend.at_risk.calls == ended.state.spend.possibly_billed_calls


@pytest.mark.parametrize("is_streamed", [False, True], ids=["at-once", "streamed"])
async def test_a_provider_in_every_kind_of_passing_trouble_costs_nothing_but_time(
    bench: Bench, is_streamed: bool
) -> None:
    faults = [FAULTS[name].item for name in PASSING]
    retry = {**RETRY, "tries": 20, "timeout_tries": 20}
    worker = {"timeout_s": 3.0, "stall_timeout_s": 2.0 if is_streamed else 0}
    async with serving(*faults) as (server, url):
        ended = await bench.run(roles=models(url, worker), retry=retry)
    assert (ended.exit_code, status(ended, "a")) == (0, TaskStatus.MERGED)
    assert work_calls(server) == len(faults) + 2
    codes = [event.error for event in events(ended, ModelFailed)]
    assert codes == [fault.error for fault in faults if fault.error]


async def test_a_server_that_nobody_runs_ends_the_run_resumably(bench: Bench) -> None:
    async with serving() as (_, url):
        pass
    ended = await bench.run(roles=models(url), retry=RETRY)
    assert (ended.exit_code, len(events(ended, ModelCalled))) == (table()[NOBODY_THERE][1], 3)
    assert "the provider is unavailable" in str(ended.error)


async def test_a_pause_of_days_survives_a_resume_without_a_call_and_another_model_goes_on(bench: Bench) -> None:
    async with serving(fails("rate-limited", retry_after_s=DAYS)) as (server, url):
        first = await bench.run(roles=models(url), retry=RETRY)
        again = await bench.resume(roles=models(url), retry=RETRY)
        assert (first.exit_code, again.exit_code, work_calls(server)) == (75, 75, 1)
        opens = events(first, ModelFailed)[0].opens_at.astimezone()
        assert f"resume after {opens:%Y-%m-%d %H:%M}" in str(again.error)
        other = LoopbackServer(story([]))
        async with other.run() as other_url:
            last = await bench.resume(roles=models(other_url), retry=RETRY)
        assert (last.exit_code, work_calls(server), work_calls(other)) == (0, 1, 2)


@pytest.mark.parametrize("error", ["quota-exhausted", "credentials-missing", "unavailable"])
async def test_a_fallback_answers_while_the_usual_model_cannot_and_a_person_is_told(bench: Bench, error: str) -> None:
    async with serving(*[fails(error)] * 60) as (server, url), serving() as (spare, spare_url):
        fallback = {"model": "openai/worker-spare", "api_base": spare_url, "api_key_env": "LOOPBACK_KEY"}
        roles = models(spare_url, {"api_base": url, "fallbacks": [fallback]})
        ended = await bench.run(roles=roles, retry={**RETRY, "breaker_failures": 3, "breaker_pause_s": 3_600})
    calls = 3 if error == "unavailable" else 1
    assert (ended.exit_code, work_calls(server), work_calls(spare)) == (0, calls, 2)
    worked = [event.model for event in events(ended, ModelReplied) if event.role == "worker"]
    assert worked == ["worker-spare"] * 2
    notices = [event for event in events(ended, Noticed) if "in place of" in event.text]
    assert [notice.text.partition(":")[0] for notice in notices] == [
        "openai/worker-spare answers the worker in place of openai/worker"
    ]


async def test_a_fallback_on_the_same_used_up_quota_is_not_asked(bench: Bench) -> None:
    async with serving(fails("quota-exhausted")) as (server, url), serving() as (spare, spare_url):
        fallback = {"model": "openai/worker", "api_base": spare_url, "api_key_env": "LOOPBACK_KEY"}
        pools = {f"openai at {address}": {"pool": "team"} for address in (url, spare_url)}
        ended = await bench.run(roles=models(url, {"fallbacks": [fallback]}), retry=RETRY, providers=pools)
    assert (ended.exit_code, work_calls(server), work_calls(spare)) == (6, 1, 0)
