"""The demo without an index, and the story that the other verbs tell of it afterwards."""

import json
import shutil
import sqlite3
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.running.cli import Finished
from tests.running.in_process import orchestrate
from tests.running.projects import git

pytestmark = [pytest.mark.sandbox, pytest.mark.timeout(480)]


@pytest.fixture(scope="module")
def migrated(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Finished]:
    place = tmp_path_factory.mktemp("migrated")
    return place, orchestrate("demo", "--offline", "--json", cwd=place)


@pytest.fixture(scope="module")
def carried(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Finished]:
    place = tmp_path_factory.mktemp("carried")
    return place, orchestrate("demo", "--kind", "goal", "--json", cwd=place)


Verb = Callable[..., Finished]


@pytest.fixture
def ask(carried: tuple[Path, Finished]) -> Verb:
    place, _ = carried

    def run(verb: str, *words: str) -> Finished:
        where = ("--repo", "orchestrate-demo/shop", "--state", "orchestrate-demo/state")
        return orchestrate(verb, *words, *where, cwd=place)

    return run


def test_the_offline_demo_lands_all_files_but_the_guilty_one(migrated: tuple[Path, Finished]) -> None:
    place, done = migrated
    result = done.json
    assert done.code == 0, done.err
    assert (len(result["files"]["landed"]), [f["path"] for f in result["files"]["rejected"]]) == (
        8,
        ["shop/templates.py"],
    )
    assert (result["gate"]["new_failures"], result["gate"]["rejected_union"]["new_failures"]) == ([], 2)
    assert "your checkout" in done.err
    assert "byte for byte as it was" in done.err
    landed = git(place / "orchestrate-demo" / "shop", "show", f"{result['pr_branch']}:shop/labels.py")
    assert 'return f"parcel {number} of {total}"' in landed


def test_the_landing_is_one_commit_with_trailers(migrated: tuple[Path, Finished]) -> None:
    place, done = migrated
    root, branch = place / "orchestrate-demo" / "shop", done.json["pr_branch"]
    assert git(root, "rev-list", "--count", f"main..{branch}") == "1"
    message = git(root, "log", "-1", "--format=%B", branch)
    assert "Migration-Id: shop-fstrings" in message
    assert f"Orchestrate-Run: {done.json['run']}" in message
    assert "Rung: percent-to-fstring" in message


def test_the_local_pull_request_is_a_ref_with_text_and_data(migrated: tuple[Path, Finished]) -> None:
    place, done = migrated
    root, pr = place / "orchestrate-demo" / "shop", done.json["pr"]
    data = json.loads(git(root, "show", f"{pr['ref']}:pr.json"))
    assert (data["head"], data["commit"], data["target"]) == (done.json["pr_branch"], done.json["head"], "main")
    body = git(root, "show", f"{pr['ref']}:PR.md")
    assert "`shop/templates.py`: breaks 2 tests" in body
    assert "| `python3 -m unittest -v` | 18 passed, 0 failed, 0 errors, 0 skipped |" in body


@pytest.mark.extended
def test_a_second_demo_gets_a_directory_of_its_own(migrated: tuple[Path, Finished]) -> None:
    place, _ = migrated
    assert orchestrate("demo", "--offline", cwd=place).code == 0
    assert (place / "orchestrate-demo1" / "shop").is_dir()


def test_a_demo_that_cannot_have_its_directory_says_how_to_name_another(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    done = orchestrate("demo", "--offline", "--dir", "file/demo", cwd=tmp_path)
    assert (done.code, done.out) == (7, "")
    assert "can be made in file/demo (Not a directory): name another with --dir" in done.err


def test_the_scripted_goal_reaches_its_end(carried: tuple[Path, Finished]) -> None:
    _, done = carried
    result = done.json
    assert (done.code, result["outcome"], result["tasks"]["merged"]) == (0, "done", 4)
    assert result["gate"]["head"] == {"passed": 24, "failed": 0, "errors": 0, "skipped": 0}


def test_status_tells_plan_attempts_and_models(ask: Verb) -> None:
    status = ask("status", "--json").json
    plan = {task["id"]: task for task in status["plan"]}
    assert {name: task["kind"] for name, task in plan.items()} == {
        "root": "branch",
        "discounts": "leaf",
        "invoice": "leaf",
        "reporting": "branch",
        "reporting/monthly": "leaf",
        "reporting/csv": "leaf",
    }
    assert [attempt["mode"] for attempt in plan["discounts"]["attempts"]] == ["fresh", "revise"]
    assert [attempt["mode"] for attempt in plan["reporting/csv"]["attempts"]] == ["fresh", "restart"]
    assert [verdict["kind"] for verdict in plan["reporting/csv"]["verdicts"]] == ["restart", "merge"]
    assert plan["invoice"]["depends_on"] == ["discounts"]
    models = {attempt["model"].rpartition("/")[2] for task in plan.values() for attempt in task["attempts"]}
    assert models == {"goal.toml", "goal-strong.toml"}
    assert status["is_live"] is False


def test_status_is_the_same_when_it_is_derived_from_the_events(ask: Verb, carried: tuple[Path, Finished]) -> None:
    kept = ask("status", "--json").json | {"disk": None}  # which grows with what is written here
    journal = sqlite3.connect(carried[1].json["journal"])
    journal.execute("DELETE FROM projection")
    journal.commit()
    journal.close()
    assert ask("status", "--json").json | {"disk": None} == kept


def test_logs_tell_the_story_in_order(ask: Verb) -> None:
    lines = ask("logs").out
    story = [
        "planned 3 tasks: discounts, invoice, reporting",
        "verdict on attempt 1: revise tests that fail now and did not on the base (2)",
        "verdict on attempt 2: merge",
        "iteration 1: done",
        "ended done",
    ]
    places = [lines.index(part) for part in story]
    assert places == sorted(places)
    assert lines.index("baseline recorded") < places[1]  # it is tested beside the planner's work
    own = [json.loads(line) for line in ask("logs", "latest", "discounts", "--json").out.splitlines()]
    assert {event["task"] for event in own} == {"discounts"}
    assert {"seq", "at", "kind", "v"} <= own[0].keys()


def test_show_prints_verdicts_and_receipts_and_how_to_run_them_again(
    ask: Verb, carried: tuple[Path, Finished], tmp_path: Path
) -> None:
    shown = ask("show", "latest", "discounts", "--all").out
    assert "attempt 1 (fresh)" in shown
    assert "verdict: revise" in shown
    assert "$ python3 -m unittest -v" in shown
    assert "18 passed, 2 failed" in shown
    again = next(line for line in shown.splitlines() if "again: " in line).partition("again: ")[2]
    place = shutil.copytree(carried[0] / "orchestrate-demo" / "shop", tmp_path / "shop")
    done = subprocess.run(["bash", "-c", again], cwd=place, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr.splitlines()[-1]) == (1, "FAILED (failures=2)")
    data = ask("show", "latest", "discounts", "--json").json
    told = [(receipt["check"].partition(".")[0], receipt["exit_code"]) for receipt in data["receipts"]]
    again_on_base = [("gate", 0), ("new-tests", 1)]  # under the tests of its base, and its new ones without the change
    red = told[: told.index(("gate", 0))]
    assert len(red) > 1  # what is red is looked at again
    assert set(red) == {("gate", 1)}
    assert told[len(red) :] == [("gate", 0), *again_on_base]


def test_diff_shows_the_run_a_task_and_an_earlier_attempt(ask: Verb) -> None:
    whole = ask("diff", "--stat").out
    assert {name for name in ("shop/discounts.py", "shop/export.py") if name in whole} == {
        "shop/discounts.py",
        "shop/export.py",
    }
    first = ask("diff", "latest", "discounts", "--attempt", "1").out
    last = ask("diff", "latest", "discounts").out
    assert "+        total = sum(price for price, count" in first
    assert "+        total = sum(price * count for price, count" in last


def test_a_migrations_file_can_be_shown_and_diffed_also_if_it_was_rejected(
    migrated: tuple[Path, Finished],
) -> None:
    place, _ = migrated
    where = ("--repo", "orchestrate-demo/shop", "--state", "orchestrate-demo/state")
    shown = orchestrate("show", "latest", "shop/templates.py", *where, cwd=place).out
    assert "fails: tests.test_templates.TemplatesTest.test_filling" in shown
    diff = orchestrate("diff", "latest", "shop/templates.py", *where, cwd=place).out
    assert '+    return f"{{name}}"' in diff


def test_gc_removes_idle_workspaces_and_a_named_run_but_nothing_that_landed(
    migrated: tuple[Path, Finished],
) -> None:
    place, done = migrated
    root = place / "orchestrate-demo" / "shop"
    where = ("--repo", str(root), "--state", "orchestrate-demo/state")
    dry = orchestrate("gc", "--dry-run", "--json", *where, cwd=place).json
    assert dry["workspaces"]
    assert git(root, "for-each-ref", f"refs/orchestrate/{done.json['run']}/")
    gone = orchestrate("gc", "--run", done.json["run"], "--json", *where, cwd=place).json
    assert (gone["workspaces"], gone["runs"]) == (dry["workspaces"], [done.json["run"]])
    assert git(root, "for-each-ref", f"refs/orchestrate/{done.json['run']}/") == ""
    assert git(root, "rev-parse", done.json["pr_branch"]) == done.json["head"]
    assert git(root, "worktree", "list").count("\n") == 0
