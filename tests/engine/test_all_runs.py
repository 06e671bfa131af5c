"""`runs` and `inbox --all`: the runs of all repositories in one list, also those that older versions wrote."""

from pathlib import Path

import pytest

from orchestrator.cli.schemas import SCHEMAS
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
    assert start_run(tmp_path, "shop", "--label", "team=web").code == 0
    review = ("--approval", "review", "--set", 'approval.paths=["a.txt"]')
    assert start_run(tmp_path, "bank", "--label", "team=core", *review).code == 6
    listed = orchestrate("runs", "--json", "--state", tmp_path / "state", cwd=tmp_path).json
    bank, shop = listed["runs"]
    assert [Path(one["summary"]["repository"]).name for one in (bank, shop)] == ["bank", "shop"]
    assert (shop["word"], shop["summary"]["done"], shop["summary"]["total"]) == ("done", 1, 1)
    narrowed = orchestrate("runs", "-q", "--label", "team=web", "--state", tmp_path / "state", cwd=tmp_path)
    assert narrowed.out.split() == [shop["run"]]
    outside = orchestrate("status", shop["run"][-4:], "--json", "--state", tmp_path / "state", cwd=tmp_path)
    assert outside.json["run"] == shop["run"]
    asked = orchestrate("inbox", "--all", "--state", tmp_path / "state", cwd=tmp_path).out
    assert bank["run"] in asked
    assert shop["run"] not in asked
    line = next(line.split() for line in asked.splitlines() if "orchestrate approve" in line)
    assert orchestrate(*line[1:], cwd=tmp_path).code == 0
    assert orchestrate("runs", "--waiting", "-q", "--state", tmp_path / "state", cwd=tmp_path).out.split() == []


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


def test_the_list_has_a_schema() -> None:
    assert "orchestrate.runs/1" in SCHEMAS
