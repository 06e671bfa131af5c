"""`orchestrate memory`: what runs have learnt, which run changed what, and a person's word on single entries."""

import json
from pathlib import Path

import anyio
import pytest

from orchestrator.domain.event.memory import GuideChanged
from orchestrator.domain.ids import RunId
from orchestrator.journal.locations.run_directory import StateDirectory
from orchestrator.memory.guide_file import GuideFile
from tests.running.cli import Finished
from tests.running.in_process import orchestrate
from tests.running.projects import git
from tests.unit.memory.test_guide_file import learn
from tests.unit.memory.test_index import NOW

ENTRY = learn("r", 0, claim="totals are cents", scope="shop/**")


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository whose field guide has two entries."""
    place = tmp_path / "project"
    place.mkdir()
    git(place, "init", "-q")
    guide = GuideFile(StateDirectory.locate_for(place, str(tmp_path / "state")).path)
    anyio.run(guide.write_changes, RunId("r"), GuideChanged(added=(ENTRY, learn("r", 1))), NOW)
    return place


def memory(repository: Path, *words: str) -> Finished:
    return orchestrate("memory", *words, "--state", str(repository.parent / "state"), cwd=repository)


def test_entries_are_listed_and_shown_with_their_evidence(repository: Path) -> None:
    done = memory(repository, "list")
    assert f"{ENTRY.id}  [shop/**] totals are cents (commit aaaaaaaaaaaa)" in done.out
    rows = json.loads(memory(repository, "list", "--json").out)["entries"]
    assert {row["claim"] for row in rows} == {"totals are cents", "r 1"}
    shown = json.loads(memory(repository, "show", ENTRY.id, "--json").out)["entry"]
    assert (shown["run"], shown["task"], shown["attempt"]) == ("r", "t", 1)
    assert "totals are cents" in memory(repository, "show", ENTRY.id).out


def test_a_dropped_entry_is_gone_and_stays_named_and_a_pinned_one_says_so(repository: Path) -> None:
    assert memory(repository, "drop", ENTRY.id).code == 0
    assert f"{ENTRY.id}  ended, dropped" in memory(repository, "list", "--ended").out
    again = memory(repository, "drop", ENTRY.id)
    assert again.code == 2
    assert "it has ended" in again.err
    other = learn("r", 1).id
    assert "pinned" in memory(repository, "pin", other).out
    assert "pinned" not in memory(repository, "pin", other, "--off").out


def test_an_empty_guide_says_where_entries_come_from(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    done = orchestrate("memory", "list", "--state", str(tmp_path / "s"), cwd=tmp_path)
    assert done.out == "The field guide has no entry: runs add what their judges accept.\n"
