"""The verbs about hosts, on runs at which no engine is at work."""

import json
from pathlib import Path

import pytest

from orchestrator.domain.event.run import RunEnded
from orchestrator.journal.locations.run_directory import StateDirectory
from tests.running.cli import Finished
from tests.running.goal_events import begun
from tests.running.hosts import two_hosts
from tests.running.in_process import orchestrate
from tests.running.journals import write
from tests.running.projects import repository
from tests.running.schemas import problems

LOST, ENDED = "20260101-000000-aaaa", "20260102-000000-bbbb"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with a run whose engine died while hosts were joined, and one of no host that has ended."""
    root = tmp_path_factory.mktemp("hosts")
    repo = repository(root / "repo", {"a.txt": "a\n"})
    runs = StateDirectory.locate_for(repo, str(root / "state")).path / "runs"
    write(runs / LOST, [*begun(), *two_hosts()])
    write(runs / ENDED, [*begun(), RunEnded(outcome="done", reason="", exit=0, head=None)])
    return root


def say(place: Path, *words: str) -> Finished:
    return orchestrate(*words, "--state", place / "state", cwd=place / "repo")


def test_status_has_a_row_for_each_machine_and_none_is_joined_to_an_engine_that_died(place: Path) -> None:
    lines = say(place, "hosts", "status", LOST).out.splitlines()
    assert [line.split()[:3] for line in lines[:3]] == [
        ["HOST", "STATE", "SLOTS"],
        ["build-1", "left", "8"],
        ["build-2", "lost", "4"],
    ]
    assert lines[-1].startswith("0 hosts with 0 slots; build-1 left; build-2 lost")


def test_status_as_an_object_is_as_its_schema_says(place: Path) -> None:
    told = json.loads(say(place, "hosts", "status", LOST, "--json").out)
    assert (told["schema"], told["is_live"], problems(told)) == ("orchestrate.hosts/1", False, [])
    assert [(host["name"], host["losses"]) for host in told["hosts"]] == [("build-1", 0), ("build-2", 1)]
    assert told["this_machine"]["attempts"] == 1


def test_a_run_that_no_host_joined_says_so(place: Path) -> None:
    done = say(place, "hosts", "status", ENDED)
    assert (done.code, done.out.strip()) == (0, "no host has joined run r1: all of it runs on this machine")


@pytest.mark.parametrize("verb", ["drain", "cordon", "uncordon"])
@pytest.mark.parametrize(
    ("run", "refusal"), [(LOST, "no engine is at work on run"), (ENDED, "the run has ended: done")]
)
def test_nothing_is_said_to_a_host_where_no_engine_would_hear_it(
    place: Path, verb: str, run: str, refusal: str
) -> None:
    done = say(place, "hosts", verb, run, "build-1")
    assert (done.code, refusal in done.err) == (2, True), done.err


def test_the_host_is_missing_from_a_command_line(place: Path) -> None:
    done = say(place, "hosts", "drain", LOST)
    assert (done.code, "Missing argument 'HOST'" in done.err) == (2, True)
