"""Hosts in status, report and `show`: what each carries, which was lost; and nothing of them where none joined."""

import json
from collections.abc import Iterable, Sequence
from datetime import timedelta
from pathlib import Path

import pytest

from orchestrator.domain.event import RecordedEvent
from orchestrator.domain.event.hosts import HostJoined, HostLeft, HostMarked
from orchestrator.domain.run.state import RunState
from orchestrator.report.documents.run_html import render_run_html
from orchestrator.report.documents.run_markdown import render_run_markdown
from orchestrator.report.documents.run_report import collect_run_report
from orchestrator.report.hosts.rendering import describe_hosts, render_hosts_lines
from orchestrator.report.hosts.summary import build_hosts_summary
from orchestrator.report.log.event_descriptions import describe_event
from orchestrator.report.run.model import RunStatus
from orchestrator.report.run.result import build_status
from orchestrator.report.run.status_text import render_status_lines
from orchestrator.report.task.details import build_task_details, render_task_details
from orchestrator.report.task.receipt import CheckLog
from tests.running.goal_events import created, told
from tests.running.hosts import TESTED, two_hosts

JOURNAL = Path("journal.db")


def read_nothing(_kinds: Sequence[str]) -> Iterable[RecordedEvent]:
    return ()


def read_no_blob(sha: str) -> bytes:
    raise AssertionError(f"nothing is stored, and {sha} is read")


@pytest.fixture(scope="module")
def state() -> RunState:
    return told(*two_hosts())


def test_what_each_host_carries_is_counted_and_what_is_open_there_is_named(state: RunState) -> None:
    summary = build_hosts_summary(state, is_at_work=True)
    first, lost = summary.hosts
    assert summary.slots == 8
    assert (first.name, first.status, first.attempts, first.checks, first.losses) == ("build-1", "ready", 1, 1, 0)
    assert [work.describe_work() for work in first.open] == ["index attempt 1", "gate for parser attempt 1"]
    assert (lost.status, lost.attempts, lost.losses, lost.open) == ("lost", 1, 1, ())
    assert (summary.this_machine.attempts, summary.this_machine.checks) == (1, 0)


def test_no_host_is_joined_to_a_run_whose_engine_is_gone(state: RunState) -> None:
    first, lost = build_hosts_summary(state, is_at_work=False).hosts
    assert (first.status, first.reason, first.open) == ("closed", "no engine is at work", ())
    assert lost.status == "lost"


def test_the_table_of_hosts_has_a_row_for_each_machine(state: RunState) -> None:
    assert state.last_at is not None
    lines = list(render_hosts_lines(build_hosts_summary(state), state.last_at + timedelta(minutes=2)))
    assert [" ".join(line.split()) for line in lines[:3]] == [
        "HOST STATE SLOTS SINCE LOST ATTEMPTS CHECKS OPEN THERE",
        "build-1 ready 8 6m 0 1 1 index attempt 1, gate for parser attempt 1",
        "build-2 lost 4 3m 1 1 0 no sign of life for 15 s",
    ]
    assert lines[3].split() == ["this", "machine", "1", "0"]
    assert lines[4] == "1 host with 8 slots; build-2 lost"


def test_a_summary_in_words_names_hosts_that_need_a_look() -> None:
    joined = HostJoined(name="a", slots=1)
    lost = HostLeft(name="a", cause="lost")
    words = describe_hosts(build_hosts_summary(told(joined, HostMarked(name="a", mark="cordoned"))))
    assert words == "1 host with 1 slot; a cordoned"
    again = describe_hosts(build_hosts_summary(told(joined, lost, joined, lost, joined)))
    assert again == "1 host with 1 slot; a lost 2 times"


def test_status_has_the_hosts_in_text_and_as_an_object_that_is_read_again(state: RunState) -> None:
    status = build_status(state, JOURNAL)
    words = "hosts: 1 host with 8 slots; build-2 lost: orchestrate hosts status r1"
    assert any(words in line for line in render_status_lines(status))
    stored = json.loads(json.dumps(status.as_object()))
    assert [host["name"] for host in stored["hosts"]["hosts"]] == ["build-1", "build-2"]
    assert RunStatus.model_validate(stored) == status


def test_a_run_that_no_host_joined_says_nothing_of_hosts() -> None:
    plain = told(created("parser"))
    status = build_status(plain, JOURNAL)
    assert "hosts" not in status.as_object()
    assert not any("host" in line for line in render_status_lines(status))
    report = collect_run_report(plain, JOURNAL, read_nothing, read_no_blob)
    assert "Hosts" not in render_run_markdown(report) + render_run_html(report)
    details = build_task_details(plain, plain.tasks[created("parser").spec.id], CheckLog(), read_no_blob)
    assert "hosts" not in details.as_object()


def test_the_report_says_what_each_machine_carried(state: RunState) -> None:
    report = collect_run_report(state, JOURNAL, read_nothing, read_no_blob)
    markdown, page = render_run_markdown(report), render_run_html(report)
    rows = [line for line in markdown.splitlines() if line.startswith("| ") and ("build" in line or "this m" in line)]
    assert [row.replace("`", "").split(" | ")[0] for row in rows] == ["| build-1", "| build-2", "| this machine"]
    assert "lost" in rows[1]
    assert "<h2>Hosts</h2>" in page
    assert "<td>build-2</td><td>lost</td>" in page


def test_show_names_the_hosts_of_attempts_and_checks(state: RunState) -> None:
    index, parser = state.tasks[created("index").spec.id], state.tasks[created("parser").spec.id]
    shown = "\n".join(render_task_details(state, index, read_no_blob))
    assert f"base {'b' * 12}, on build-2, then build-1" in shown
    tested = "\n".join(render_task_details(state, parser, read_no_blob))
    assert f"base {'b' * 12}, on this machine" in tested
    assert "1.5 s, tree parser, on build-1" in tested
    details = build_task_details(state, parser, CheckLog(), read_no_blob)
    assert [(receipt.key, receipt.host) for receipt in details.receipts] == [(TESTED, "build-1")]
    assert details.hosts is not None
    assert [one.hosts for one in details.hosts] == [("",)]


@pytest.mark.parametrize(
    ("event", "words"),
    [
        (HostJoined(name="a", slots=1), "host a joined with 1 slot"),
        (HostJoined(name="a", slots=8, address="10.0.0.7:41"), "host a joined with 8 slots, from 10.0.0.7:41"),
        (
            HostLeft(name="a", cause="lost", reason="silent", workspaces=1),
            "host a was lost: silent; 1 workspace is made again elsewhere",
        ),
        (HostLeft(name="a", cause="refused", reason="version 1 is not 2"), "host a was refused: version 1 is not 2"),
        (HostMarked(name="a", mark="cordoned", by="anna"), "host a is cordoned: nothing new is opened there (by anna)"),
    ],
    ids=lambda value: getattr(value, "kind", ""),
)
def test_logs_have_words_for_what_happens_to_hosts(event: HostJoined | HostLeft | HostMarked, words: str) -> None:
    assert describe_event(event) == words
