"""`runs` and `inbox --all`: the runs of all repositories in one list, also those that older versions wrote."""

import subprocess
import sys
from pathlib import Path

import anyio
import pytest

from orchestrator.cli.schemas import SCHEMAS
from orchestrator.discovery.all_runs import RunListReader
from orchestrator.domain.event.run import RepositoryMoved
from orchestrator.journal.journal import Journal, SystemClock
from orchestrator.journal.locations.run_directory import StateDirectory
from tests.golden import DATA
from tests.running.cli import Finished
from tests.running.goals import one
from tests.running.in_process import orchestrate
from tests.running.projects import GATE, calculator
from tests.running.scripts import write_script
from tests.unit.journal.test_golden_journals import restore

pytestmark = pytest.mark.sandbox


def start_run(home: Path, repository: str, *more: str) -> Finished:
    """Run a goal of one task in a repository of its own to its end."""
    model = write_script(home / f"{repository}.json", one("a"))
    models = [word for role in ("planner", "worker", "judge") for word in ("--model", f"{role}={model}")]
    where = ("--repo", str(calculator(home / repository)), "--state", str(home / "state"))
    return orchestrate(
        "run", "add a", "--gate", GATE, "--set", "gate.report=unittest", *models, *where, *more, cwd=home
    )


def test_runs_of_two_repositories_stand_in_one_list_the_latest_first_and_labels_narrow_it(tmp_path: Path) -> None:
    assert start_run(tmp_path, "shop", "--label", "team=web", "--id", "nightly").code == 0
    review = ("--approval", "review", "--set", 'approval.paths=["a.txt"]')
    assert start_run(tmp_path, "bank", "--label", "team=core", *review).code == 6
    listed = orchestrate("runs", "--json", "--state", tmp_path / "state", cwd=tmp_path).json
    bank, shop = listed["runs"]
    assert [Path(one["summary"]["repository"]).name for one in (bank, shop)] == ["bank", "shop"]
    assert (shop["word"], shop["summary"]["done"], shop["summary"]["total"]) == ("done", 1, 1)
    assert (shop["summary"]["name"], bank["summary"]["name"]) == ("nightly", "")
    narrowed = orchestrate("runs", "-q", "--label", "team=web", "--state", tmp_path / "state", cwd=tmp_path)
    assert narrowed.out.split() == [shop["run"]]
    outside = orchestrate("status", "nightly", "--json", "--state", tmp_path / "state", cwd=tmp_path)
    assert outside.json["run"] == shop["run"]
    assert (outside.json["name"], outside.json["labels"]) == ("nightly", {"team": "web"})
    asked = orchestrate("inbox", "--all", "--state", tmp_path / "state", cwd=tmp_path).out
    assert bank["run"] in asked
    assert shop["run"] not in asked
    line = next(line.split() for line in asked.splitlines() if "orchestrate approve" in line)
    assert label(tmp_path, bank["run"], "team=", "ticket=B-1") == {"ticket": "B-1"}  # it waits, for an engine too
    assert orchestrate(*line[1:], cwd=tmp_path).code == 0
    assert orchestrate("runs", "--waiting", "-q", "--state", tmp_path / "state", cwd=tmp_path).out.split() == []


def label(home: Path, run: str, *labels: str) -> dict[str, str]:
    """Change labels of a run, and return those that the list shows."""
    done = orchestrate("label", run, *labels, "--json", "--state", home / "state", cwd=home)
    assert (done.code, done.json["refused"]) in {(0, ""), (0, None)}, done.err
    listed = orchestrate("runs", "--json", "--state", home / "state", cwd=home).json
    shown: dict[str, str] = next(one["summary"]["labels"] for one in listed["runs"] if one["run"] == run)
    return shown


def test_a_label_that_waits_for_the_next_engine_is_seen_by_a_list_that_is_read_again(tmp_path: Path) -> None:
    review = ("--approval", "review", "--set", 'approval.paths=["a.txt"]')
    assert start_run(tmp_path, "shop", "--label", "team=web", *review).code == 6
    state = StateDirectory.locate_for(tmp_path / "shop", str(tmp_path / "state"))
    reader = RunListReader(lambda: [state])
    (before,) = reader.read_entries()
    label(tmp_path, before.run, "team=core")
    (after,) = reader.read_entries()
    shown = [dict(one.summary.labels) for one in (before, after) if one.summary is not None]
    assert shown == [{"team": "web"}, {"team": "core"}]


@pytest.fixture
def ended(tmp_path: Path) -> str:
    """A run that has ended, in a repository of its own; its id."""
    run = "20261120-131127-e989"
    root = calculator(tmp_path / "shop")
    place = StateDirectory.locate_for(root, str(tmp_path / "state")).path / "runs" / run
    place.mkdir(parents=True)
    place.parent.parent.chmod(0o700)
    restore(DATA / "journals" / "goal.v2.jsonl", place / "journal.db")

    async def move() -> None:
        journal = Journal(place, SystemClock())
        await journal.append(RepositoryMoved(repository=str(root)))
        journal.close()

    anyio.run(move)
    return run


def test_labels_of_an_ended_run_are_changed_at_once_and_nothing_else_is(ended: str, tmp_path: Path) -> None:
    before = orchestrate("status", ended, "--json", "--state", tmp_path / "state", cwd=tmp_path).json
    assert label(tmp_path, ended, "team=web", "ticket=A-1") == {"team": "web", "ticket": "A-1"}
    assert label(tmp_path, ended, "team=", "ticket=A-2") == {"ticket": "A-2"}
    after = orchestrate("status", ended, "--json", "--state", tmp_path / "state", cwd=tmp_path).json
    assert after["labels"] == {"ticket": "A-2"}
    for changed in ("labels", "disk", "seq"):
        del before[changed], after[changed]
    assert abs(after["spent"].pop("wall_s") - before["spent"].pop("wall_s")) < 5  # the months between do not count
    assert after == before
    assert (
        " says configure labels: team= ticket=A-2"
        in orchestrate("logs", ended, "--state", tmp_path / "state", cwd=tmp_path).out
    )


@pytest.mark.parametrize("words", ["team", "Team=web", "=web", "team=" + "x" * 201])
def test_a_change_that_makes_no_label_is_refused(words: str, ended: str, tmp_path: Path) -> None:
    done = orchestrate("label", ended, words, "--state", tmp_path / "state", cwd=tmp_path)
    assert (done.code, "label" in done.err) == (2, True), done.err


@pytest.mark.parametrize(("name", "problem"), [("latest", "means something else"), ("Nightly", "is no name of a run")])
def test_a_run_whose_name_cannot_be_is_not_begun(name: str, problem: str, tmp_path: Path) -> None:
    done = start_run(tmp_path, "shop", "--id", name)
    assert (done.code, problem in done.err) == (2, True), done.err
    assert not (tmp_path / "state").exists()


@pytest.mark.damaged_journal
def test_runs_of_older_versions_without_labels_are_listed_and_a_broken_one_says_why(tmp_path: Path) -> None:
    kept = sorted((DATA / "journals").glob("*.jsonl"))
    for number, lines in enumerate(kept):
        place = tmp_path / f"repo{number % 3}-00000000" / "runs" / f"20260101-0000{number:02}-000{number % 10}"
        place.mkdir(parents=True)
        restore(lines, place / "journal.db")
    broken = tmp_path / "repo0-00000000" / "runs" / "20260102-000000-0000"
    broken.mkdir()
    (broken / "journal.db").write_bytes(b"junk")
    listed = orchestrate("runs", "--json", "--state", tmp_path, cwd=tmp_path).json
    first, *others = listed["runs"]
    assert listed["total"] == len(kept) + 1
    assert (first["run"], first["word"], bool(first["problem"])) == (broken.name, "cannot be read", True)
    assert [one["run"] for one in others if "summary" not in one] == []
    assert {str(one["summary"]["labels"]) for one in others} == {"{}"}
    assert "cannot be read" in orchestrate("runs", "--state", tmp_path, cwd=tmp_path).out


@pytest.mark.parametrize("label", ["team", "Team=web", "team=" + "x" * 201, "=web"])
def test_a_label_that_is_none_is_refused_before_anything_is_made(label: str, tmp_path: Path) -> None:
    done = start_run(tmp_path, "shop", "--label", label)
    assert (done.code, "label" in done.err) == (2, True), done.err
    assert not (tmp_path / "state").exists()


def test_a_list_of_summaries_loads_neither_the_events_nor_the_screen(tmp_path: Path) -> None:
    """What it costs is measured by bench/runs."""
    code = (
        "import sys, orchestrator.cli.inspect.runs, orchestrator.discovery.all_runs, orchestrator.report.runs.rendering"
    )
    code += ", orchestrator.tui.first_frame; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    unwanted = {"textual", "orchestrator.domain.event", "orchestrator.domain.run.state", "orchestrator.config.model"}
    assert unwanted.isdisjoint(done.stdout.split())


def test_the_list_has_a_schema() -> None:
    assert "orchestrate.runs/1" in SCHEMAS
