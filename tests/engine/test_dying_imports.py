"""An import that is killed at any step leaves no half of a run, and is ended by importing again."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from orchestrator.journal.locations.run_directory import StateDirectory
from orchestrator.journal.storage.event_store import read_all_events
from tests.running import dying_at
from tests.running.cli import environment, orchestrate
from tests.running.moving import Place, Source
from tests.running.projects import git, refs

pytestmark = [pytest.mark.slow, pytest.mark.sandbox]

FIRST = (
    "worktrees.object_store.packs:_install_pack:before",
    "worktrees.object_store.packs:copy_durably:after",
    "orchestrator.portable.run_import:_put_blobs:after",
)
LAST = (
    "orchestrator.portable.run_import:move_refs:after",
    "orchestrator.portable.run_import:_put_journal:before",
    "orchestrator.portable.run_import:_put_journal:after",
)
STEPS = (*(pytest.param(step, marks=pytest.mark.extended) for step in FIRST), *LAST)


def die(step: str, place: Place, *words: str) -> int:
    command = [sys.executable, dying_at.__file__, step, *words, *place.words]
    told = environment(place.repository.parent) | {"PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.run(command, cwd=place.repository.parent, env=told, capture_output=True, check=False).returncode


@pytest.mark.parametrize("step", STEPS)
def test_an_import_that_is_killed_is_ended_by_importing_again(step: str, source: Source, place: Place) -> None:
    checkout = git(place.repository, "status", "--porcelain")
    assert die(step, place, "run", "import", str(source.late)) == -9
    runs = StateDirectory.locate_for(place.repository, place.options.flags["state"]["dir"]).list_runs()
    assert [run.run for run in runs] == ([source.run] if step.endswith("_put_journal:after") else [])
    git(place.repository, "fsck")
    _end(source, place, source.late)
    assert git(place.repository, "status", "--porcelain") == checkout


@pytest.mark.parametrize("step", LAST[-2:])
def test_a_run_that_is_here_is_whole_whenever_an_import_of_more_of_it_is_killed(
    step: str, source: Source, place: Place
) -> None:
    words = ("run", "import", source.early, *place.words)
    assert orchestrate(*words, cwd=place.repository.parent).code == 0
    early = list(read_all_events(place.directory(source.run).journal))
    assert die(step, place, "run", "import", str(source.late)) == -9
    late = list(read_all_events(source.directory.journal))
    found = list(read_all_events(place.directory(source.run).journal))
    assert found == (late if step.endswith("_put_journal:after") else early)
    _end(source, place, source.late)


def _end(source: Source, place: Place, archive: Path) -> None:
    done = orchestrate("run", "import", archive, *place.words, "--json", cwd=place.repository.parent)
    assert done.code == 0, done.err
    assert list(read_all_events(place.directory(source.run).journal)) == list(read_all_events(source.directory.journal))
    here, there = refs(place.repository), refs(source.repository)
    assert {name for name in there if f"/{source.run}/tasks/" in name} <= here.keys()
    assert here[f"refs/heads/{source.branch}"] == there[f"refs/heads/{source.branch}"]
    left = StateDirectory.locate_for(place.repository, place.options.flags["state"]["dir"]).path / "sessions"
    assert [entry.name for entry in left.iterdir() if entry.is_dir()] == []
