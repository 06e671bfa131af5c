"""Plans that people give: edited in their editor or read from a file, checked as a planner's, and run."""

from pathlib import Path

import pytest

from orchestrator.domain.event.people import PlanGiven
from orchestrator.domain.planning.plan_toml import read_plan
from orchestrator.journal.locations.run_directory import StateDirectory
from orchestrator.journal.state.derivation import read_state
from orchestrator.journal.storage.event_store import read_all_events
from tests.running.cli import Finished, environment
from tests.running.in_process import orchestrate
from tests.running.projects import GATE, calculator, git
from tests.running.scripts import judges, planner_ends, plans, reviews, worker_ends, write_script, writes

pytestmark = pytest.mark.sandbox
TWO = [plans("root", {"key": "a"}, {"key": "b"})]
WORK = [writes("a", "a.txt", "a\n"), worker_ends("a"), reviews("a"), planner_ends(), judges()]
WORK_ON_B = [writes("b", "b.txt", "b\n"), worker_ends("b"), reviews("b")]
FILE = """rationale = "mine"

[[tasks]]
key = "a"
title = "a"
outcome = "a is there"
"""


def type_words(home: Path, verb: str, *words: str, editor: str = "") -> Finished:
    """Type a verb for a goal; the editor is a script of the shell whose `$1` is the file."""
    program = home / "editor"
    program.write_text(f"#!/bin/sh\n{editor}\n")
    program.chmod(0o755)
    model = write_script(home / "script.json", [*TWO, *WORK, *WORK_ON_B] if verb == "plan" else WORK)
    repo = home / "repo" if (home / "repo").exists() else calculator(home / "repo")
    models = [word for role in ("planner", "worker", "judge") for word in ("--model", f"{role}={model}")]
    where = ("--repo", str(repo), "--state", str(home / "state"))
    gate = ("--gate", GATE, "--set", "gate.report=unittest")
    env = environment(home, EDITOR=str(program))
    return orchestrate(verb, "write a", *words, *gate, *models, *where, cwd=home, env=env)


def find_journal(home: Path) -> Path:
    """The journal of the one run."""
    return StateDirectory.locate_for(home / "repo", str(home / "state")).find_run(None).journal


def test_a_plan_is_edited_and_the_run_carries_out_what_the_person_left_of_it(tmp_path: Path) -> None:
    drop_second = """sed -i '/key = "b"/,$d' "$1" && sed -i '$d' "$1" """
    done = type_words(tmp_path, "plan", "--edit", editor=drop_second)
    assert done.code == 0, done.err
    given = next(one.event for one in read_all_events(find_journal(tmp_path)) if isinstance(one.event, PlanGiven))
    assert given.proposed is not None
    assert [draft.key for draft in given.proposed.tasks] == ["a", "b"]
    assert [draft.key for draft in given.plan.tasks] == ["a"]
    assert {*read_state(find_journal(tmp_path)).tasks} == {"root", "a"}
    assert git(tmp_path / "repo", "rev-list", "-n1", "--branches", "--", "a.txt")


def test_a_broken_edit_is_refused_at_its_line_and_what_was_written_is_kept(tmp_path: Path) -> None:
    done = type_words(tmp_path, "plan", "--edit", editor=f"printf '%s' '{FILE}kind = leaf' > \"$1\"")
    assert done.code == 2
    kept = Path(done.err.rpartition("--plan ")[2].strip())
    assert f"{kept}:7: " in done.err
    assert kept.read_text() == f"{FILE}kind = leaf"
    assert not list((tmp_path / "state").glob("*/runs/*"))


def test_a_plan_that_breaks_a_rule_is_refused_at_the_line_of_its_task(tmp_path: Path) -> None:
    file = tmp_path / "plan.toml"
    file.write_text(FILE + '\n[[tasks]]\nkey = "b"\ntitle = "b"\noutcome = "b"\ndepends_on = ["ghost"]\n')
    done = type_words(tmp_path, "run", "--plan", str(file))
    assert (done.code, f"{file}:8: task 'b' depends on 'ghost', which is not in the plan" in done.err) == (2, True)


@pytest.mark.parametrize(
    ("editor", "message"), [(":", "type --yes with --edit"), ("exit 1", "name an editor in $VISUAL")]
)
def test_an_unchanged_plan_or_a_failing_editor_begins_nothing_and_the_plan_is_kept(
    tmp_path: Path, editor: str, message: str
) -> None:
    done = type_words(tmp_path, "plan", "--edit", editor=editor)
    assert (done.code, message in done.err) == (2, True), done.err
    kept = Path(done.err.rpartition("--plan ")[2].strip())
    assert [draft.key for draft in read_plan(kept.read_text()).tasks] == ["a", "b"]
    assert not list((tmp_path / "state").glob("*/runs/*"))


def test_an_unchanged_plan_is_run_with_yes(tmp_path: Path) -> None:
    done = type_words(tmp_path, "plan", "--edit", "--yes", editor=":")
    assert done.code == 0, done.err
    assert {*read_state(find_journal(tmp_path)).tasks} == {"root", "a", "b"}


@pytest.mark.extended
def test_nobody_is_asked_about_a_plan_that_a_person_gave(tmp_path: Path) -> None:
    file = tmp_path / "plan.toml"
    file.write_text(FILE)
    reviewed = ("--approval", "review", "--set", "approval.max_tasks=0")
    done = type_words(tmp_path, "run", "--plan", str(file), *reviewed)
    assert done.code == 0, done.err
    assert not read_state(find_journal(tmp_path)).approvals


def test_an_empty_plan_begins_nothing(tmp_path: Path) -> None:
    done = type_words(tmp_path, "plan", "--edit", editor=': > "$1"')
    assert (done.code, "the plan is empty: nothing was begun" in done.err) == (2, True)


def test_a_run_begins_with_the_plan_of_a_file_and_asks_no_planner_for_it(tmp_path: Path) -> None:
    (tmp_path / "plan.toml").write_text(FILE)
    done = type_words(tmp_path, "run", "--plan", str(tmp_path / "plan.toml"))
    assert done.code == 0, done.err
    assert [
        one.event.proposed for one in read_all_events(find_journal(tmp_path)) if isinstance(one.event, PlanGiven)
    ] == [None]
