"""Migrations in waves: the sample, the sweep, what stops them, and what people and revisions make of that."""

from pathlib import Path
from typing import Any

import pytest

from orchestrator.domain.commands.definitions import Approve, Reject, RetryFiles, Revise
from orchestrator.domain.event.migration import FileMoved, RecipeRevised, StepStarted, WaveStarted
from orchestrator.domain.event.people import CommandTaken
from orchestrator.domain.run.notice_codes import NoticeCode
from orchestrator.report.migration.burndown import build_burndown
from orchestrator.report.migration.burndown_text import render_files_line
from orchestrator.report.migration.dry_run import render_dry_run_lines
from orchestrator.report.run.summary import render_summary_lines
from orchestrator.scratch_runs.dry_run import DryRunOptions, dry_run_recipe
from tests.running.migrating import GATE, SED, Migrated, recipe, words
from tests.running.projects import git

pytestmark = pytest.mark.sandbox

NAMES = "abcdefgh"
SPOIL = "sed -i s/old/wrong/ {files}"
"""A step whose result breaks the test of its file."""


@pytest.fixture
def eight(tmp_path: Path) -> Migrated:
    """Eight directories of two files with a site each."""
    files = {f"{name}/{number}.txt": "old" for name in NAMES for number in (1, 2)}
    return Migrated(words(tmp_path / "repo", files))


def spoils(*paths: str) -> str:
    """A codemod that is wrong for these files."""
    return f"case {{files}} in {'|'.join(paths)}) {SPOIL};; *) {SED};; esac"


@pytest.mark.extended
async def test_the_sample_goes_first_and_then_more_and_more_shards(eight: Migrated) -> None:
    given = recipe({"run": SED}, sample={"files": 2, "first": 1, "growth": 3})
    assert (await eight.run(given)).exit_code == 0
    waves = [(wave.wave, len(wave.shards)) for wave in eight.events(WaveStarted)]
    assert waves[0] == ("sample", 1)
    assert [size for kind, size in waves[1:] if kind == "sweep"][:2] == [1, 3]


@pytest.mark.extended
async def test_each_shard_lands_as_one_commit_that_names_it(eight: Migrated) -> None:
    await eight.run(recipe({"run": SED}))
    assert eight.subjects() == list(NAMES)
    branch = eight.now.state.run.branch
    assert git(eight.root, "diff", "--name-only", f"{branch}~1", branch).splitlines() == ["h/1.txt", "h/2.txt"]
    assert {shard.commit is not None for shard in eight.now.state.migration.shards.values()} == {True}


@pytest.mark.extended
async def test_what_does_not_land_with_its_shard_forms_the_next_revision_of_it(eight: Migrated) -> None:
    tail = {"run": "sed -i s/wrong/new/ {files}", "when": "failed"}
    await eight.run(recipe({"run": spoils("b/1.txt", "g/2.txt")}, tail))
    assert set(eight.subjects()) == {*NAMES, "b.r1", "g.r1"}
    assert eight.now.state.migration.shards["b.r1"].files == ("b/1.txt",)


async def test_a_sample_that_fails_stops_the_run_before_the_rest_and_says_how_it_failed(eight: Migrated) -> None:
    every = recipe({"run": SPOIL}, sample={"files": 2}, stop={"same_signature": 0})
    ended = await eight.run(every)
    assert ended.exit_code == 6
    (asked,) = ended.state.pending_approvals
    assert "0 of 2 files of the sample landed" in asked.approval.title
    assert any("wrong is not allowed" in line for line in asked.approval.detail)
    assert sum(status == "discovered" for status in eight.statuses().values()) == 14
    ended = await eight.say(Reject(item=asked.approval.item, reason="not like this"))
    assert sum(status == "skipped" for status in eight.statuses().values()) == 14
    assert ended.exit_code == 4


@pytest.mark.extended
async def test_a_person_who_is_to_look_at_the_sample_lets_the_rest_begin(eight: Migrated) -> None:
    ended = await eight.run(recipe({"run": SED}, sample={"files": 2, "gate": "human"}))
    assert (ended.exit_code, set(eight.statuses().values())) == (6, {"merged", "discovered"})
    ended = await eight.say(Approve(item="sample/sample"))
    assert (ended.exit_code, set(eight.statuses().values())) == (0, {"merged"})


@pytest.mark.extended
async def test_a_no_to_a_later_pass_is_no_yes_of_an_earlier_one(tmp_path: Path) -> None:
    """Each answer begins an engine, which goes through the passes of the wave from the first one on."""
    migrated = Migrated(words(tmp_path / "repo", {"tests/a.txt": "old", "tests/b.txt": "old"}))
    tail = {"run": "sed -i s/wrong/new/ {files}", "when": "failed"}
    given = recipe({"run": spoils("tests/b.txt")}, tail)
    assert (await migrated.run(given, approval={"mode": "review"})).exit_code == 6
    ended = await migrated.say(Approve(item="landing/wave 1 pass 1"))
    assert (ended.exit_code, migrated.statuses()["tests/a.txt"]) == (6, "merged")
    ended = await migrated.say(Reject(item="landing/wave 1 pass 2", reason="not this way"))
    assert migrated.statuses() == {"tests/a.txt": "merged", "tests/b.txt": "rejected"}
    assert "not this way" in ended.state.migration.files["tests/b.txt"].reason
    assert len(ended.state.landings) == 1


@pytest.mark.extended
async def test_a_person_is_asked_only_about_what_the_gate_has_seen_green(tmp_path: Path) -> None:
    migrated = Migrated(words(tmp_path / "repo", {"tests/a.txt": "old", "tests/b.txt": "old", "tests/c.txt": "old"}))
    given = recipe({"run": spoils("tests/b.txt")})
    ended = await migrated.run(given, approval={"mode": "review"})
    (asked,) = ended.state.pending_approvals
    assert (asked.approval.title, asked.approval.detail[-1]) == (
        "land wave 1 pass 1: 2 files",
        "the gate is green with it",
    )
    assert (migrated.statuses()["tests/b.txt"], ended.state.landings) == ("ejected", [])
    tested = len(ended.state.receipts)
    ended = await migrated.say(Approve(item=asked.approval.item))
    assert sorted(ended.state.landings[0].units) == ["tests/a.txt", "tests/c.txt"]
    assert len(ended.state.receipts) == tested, "nothing had to be tested again"


@pytest.mark.extended
async def test_what_has_to_land_as_one_does_so_after_an_answer_to_its_last_pass(tmp_path: Path) -> None:
    migrated = Migrated(words(tmp_path / "repo", {"tests/a.txt": "old", "tests/b.txt": "old"}))
    tail = {"run": "sed -i s/wrong/new/ {files}", "when": "failed"}
    given = recipe({"run": spoils("tests/b.txt")}, tail, migration={"id": "words", "atomic": True})
    ended = await migrated.run(given, approval={"mode": "review"})
    assert ([one.approval.item for one in ended.state.pending_approvals], ended.state.landings) == (
        ["landing/wave 1 pass 2"],
        [],
    )
    ended = await migrated.say(Approve(item="landing/wave 1 pass 2"))
    assert (ended.exit_code, set(migrated.statuses().values())) == (0, {"merged"})
    assert len(ended.state.landings) == 1


@pytest.mark.extended
async def test_a_sample_that_is_judged_again_is_asked_about_once(eight: Migrated) -> None:
    given = recipe({"run": SPOIL}, sample={"files": 2}, stop={"same_signature": 0})
    ended = await eight.run(given)
    (path, *_) = [path for path, status in eight.statuses().items() if status == "rejected"]
    ended = await eight.say(RetryFiles(files=(path,)))
    assert [one.approval.item for one in ended.state.approvals.values()] == ["sample/sample", "sample/sample-2"]
    assert [one.approval.item for one in ended.state.pending_approvals] == ["sample/sample-2"]


@pytest.mark.extended
async def test_a_sample_is_judged_anew_when_files_of_it_were_tried_again(eight: Migrated) -> None:
    flag = eight.root.parent / "tool" / "mended"
    flag.parent.mkdir()
    mended = f"if grep -q new {flag}; then {SED}; else {SPOIL}; fi"
    flag.write_text("")
    given = recipe(
        {"run": mended}, sample={"files": 2}, stop={"same_signature": 0}, env={"read_only": [str(flag.parent)]}
    )
    await eight.run(given, migrate={"cache": False})
    (first, second) = [path for path, status in eight.statuses().items() if status == "rejected"]
    ended = await eight.say(RetryFiles(files=(first,)))
    assert (eight.statuses()[first], len(eight.events(WaveStarted))) == ("rejected", 2), (
        "tried, before anybody answered"
    )
    flag.write_text("new")
    ended = await eight.say(RetryFiles(files=(first, second)))
    assert (ended.exit_code, set(eight.statuses().values()), ended.state.pending_approvals) == (0, {"merged"}, [])


@pytest.mark.extended
async def test_what_a_person_wants_tried_again_waits_for_no_answer_to_another_question(eight: Migrated) -> None:
    flag = eight.root.parent / "tool" / "mended"
    flag.parent.mkdir()
    flag.write_text("")
    bad = spoils("a/1.txt", "b/1.txt", "c/1.txt")
    given = recipe({"run": f"if grep -q new {flag}; then {SED}; else {bad}; fi"}, env={"read_only": [str(flag.parent)]})
    ended = await eight.run(given, migrate={"cache": False})
    (asked,) = ended.state.pending_approvals
    assert (ended.exit_code, asked.approval.matter) == (6, "recipe")
    flag.write_text("new")
    ended = await eight.say(RetryFiles(files=("b/1.txt",), note="the tool is mended"))
    assert (eight.statuses()["b/1.txt"], eight.statuses()["a/1.txt"]) == ("merged", "rejected")
    assert [one.approval.item for one in ended.state.pending_approvals] == [asked.approval.item]
    ended = await eight.say(RetryFiles(files=("a/1.txt", "c/1.txt")))
    assert (ended.exit_code, ended.state.pending_approvals) == (0, []), "nothing fails any more that it was asked for"
    await eight.say(Approve(item=asked.approval.item))
    closed = "is closed: no file fails any more in the way that it was about; waiting: nothing"
    assert [taken.refused for taken in eight.events(CommandTaken)][-1].endswith(closed)


@pytest.mark.extended
async def test_the_circuit_breaker_stops_what_fails_too_often(eight: Migrated) -> None:
    stop = {"max_failed_fraction": 0.3, "after_shards": 2, "same_signature": 0}
    given = recipe({"run": spoils(*(f"{name}/1.txt" for name in NAMES))}, sample={"first": 3, "growth": 1}, stop=stop)
    ended = await eight.run(given)
    assert ended.exit_code == 6
    assert "3 of 6 files have failed" in ended.state.pending_approvals[0].approval.title
    ended = await eight.say(Approve(item="sample/breaker"))
    assert (ended.exit_code, len(ended.state.landed_units)) == (3, 8)


@pytest.mark.extended
async def test_an_atomic_migration_lands_all_of_it_or_nothing(eight: Migrated) -> None:
    atomic: dict[str, Any] = {"migration": {"id": "words", "atomic": True}}
    ended = await eight.run(recipe({"run": spoils("c/1.txt")}, **atomic))
    assert (ended.state.landings, ended.exit_code) == ([], 4)
    assert eight.statuses()["c/1.txt"] == "rejected"
    assert "c/1.txt" in ended.state.migration.files["a/1.txt"].reason
    tail = {"run": "sed -i s/wrong/new/ {files}", "when": "failed"}
    ended = await eight.run(recipe({"run": spoils("c/1.txt")}, tail, **atomic))
    assert (len(ended.state.landings), ended.exit_code, set(eight.statuses().values())) == (1, 0, {"merged"})


@pytest.mark.extended
async def test_an_atomic_migration_has_no_sample_that_lands_before_the_rest(eight: Migrated) -> None:
    given = recipe({"run": SED}, migration={"id": "words", "atomic": True}, sample={"files": 2})
    assert (await eight.run(given)).exit_code == 0
    assert (len(eight.now.state.landings), [wave.wave for wave in eight.events(WaveStarted)]) == (1, ["sweep"])


@pytest.mark.extended
async def test_what_a_revised_step_makes_as_before_stands_without_landing_again(eight: Migrated) -> None:
    await eight.run(recipe({"run": SED}))
    ended = await eight.say(Revise(recipe=recipe({"run": f"true && {SED}"}).dump_values()))
    assert (ended.exit_code, set(eight.statuses().values())) == (0, {"merged"})
    assert (len(eight.events(RecipeRevised)[0].redo), len(ended.state.landings)) == (16, 2)


@pytest.mark.extended
async def test_files_that_fail_alike_pause_the_run_with_a_revised_recipe_and_only_they_are_done_again(
    eight: Migrated,
) -> None:
    given = recipe({"run": spoils("a/1.txt", "b/1.txt", "c/1.txt")}, sample={"first": 4, "growth": 1})
    ended = await eight.run(given)
    assert ended.exit_code == 6
    (asked,) = ended.state.pending_approvals
    assert asked.approval.matter == "recipe"
    assert "3 files" in asked.approval.title
    assert '+kind = "human"' in asked.approval.detail
    before = len(eight.events(StepStarted))
    ended = await eight.say(Approve(item=asked.approval.item))
    (revised,) = eight.events(RecipeRevised)
    assert revised.redo == ("a/1.txt", "b/1.txt", "c/1.txt")
    again = [move for move in eight.events(FileMoved) if move.path == "a/2.txt"]
    assert sum(move.status == "merged" for move in again) == 1
    assert len(eight.events(StepStarted)) > before
    assert {eight.statuses()[path] for path in revised.redo} == {"needs-human"}
    assert len(ended.state.landed_units) == 13


async def test_checks_of_a_shard_send_the_guilty_back_before_anything_is_queued(eight: Migrated) -> None:
    checks = [
        {"id": "own", "run": f"{GATE} {{tests}}", "level": "shard", "tests": "changed", "report": "unittest"},
        {"id": "all", "run": "true", "report": "exit-code"},
    ]
    verify = {"coverage": False, "check": checks}
    ended = await eight.run(recipe({"run": spoils("b/1.txt")}, verify=verify))
    assert (ended.exit_code, eight.statuses()["b/1.txt"], eight.statuses()["b/2.txt"]) == (3, "rejected", "merged")
    assert "test_b_1_txt" in ended.state.migration.files["b/1.txt"].reason
    assert sum(status == "merged" for status in eight.statuses().values()) == 15


@pytest.mark.extended
@pytest.mark.parametrize("mended", [{}, {"idempotent": True, "max_passes": 3}])
async def test_a_recipe_that_lets_a_step_settle_has_the_files_done_again_that_it_refused(
    eight: Migrated, mended: dict[str, Any]
) -> None:
    slow = f"case {{files}} in b/1.txt) sed -i 's/old/mid/;t;s/mid/new/' {{files}};; *) {SED};; esac"
    await eight.run(recipe({"run": slow, "idempotent": True}))
    assert eight.statuses()["b/1.txt"] == "rejected"
    ended = await eight.say(Revise(recipe=recipe({"run": slow} | mended).dump_values()))
    assert [event.redo for event in eight.events(RecipeRevised)] == [("b/1.txt",)]
    assert (ended.exit_code, set(eight.statuses().values())) == (0, {"merged"})


@pytest.mark.extended
async def test_a_revised_recipe_does_the_sample_again_before_anybody_is_asked_about_it(eight: Migrated) -> None:
    step = {"run": f"case {{files}} in */1.txt) {SPOIL};; *) sed -i 's/old/mid/;t;s/mid/new/' {{files}};; esac"}
    rules = {"sample": {"files": 6, "min_pass": 0.1}, "stop": {"same_signature": 0, "max_failed_fraction": 1}}
    ended = await eight.run(recipe(step | {"idempotent": True}, **rules))
    assert [one.approval.item for one in ended.state.pending_approvals] == ["sample/sample"], "none of it landed"
    ended = await eight.say(Revise(recipe=recipe(step | {"max_passes": 9}, **rules).dump_values()))
    assert (ended.state.pending_approvals, len(ended.state.approvals)) == ([], 1)
    assert {path[2:]: status for path, status in eight.statuses().items()} == {"1.txt": "rejected", "2.txt": "merged"}


@pytest.mark.extended
@pytest.mark.parametrize(
    ("run", "report", "offer"),
    [
        ("python3 -m unittest", "auto", 'write run = "python3 -m unittest -v", report = "unittest" under'),
        ("python3 -m unittest -v", "exit-code", 'write report = "auto" under [[verify.check]]'),
        ("true", "exit-code", "have the command write JUnit XML to {report}"),
    ],
)
async def test_a_gate_that_tells_only_its_exit_code_is_named_before_any_search_with_what_would_shorten_it(
    eight: Migrated, run: str, report: str, offer: str
) -> None:
    given = recipe({"run": SED}, verify={"report": report, "check": [{"id": "t", "run": run}]})
    ended = await eight.run(given)
    (notice,) = [notice for notice in ended.state.notices if notice.code == NoticeCode.EXIT_CODE_GATE]
    assert "the search among 16 files has nothing to go by and halves them, about 6 runs of" in notice.text
    assert offer in notice.text


@pytest.mark.extended
@pytest.mark.parametrize("when", ["always", "sites"])
async def test_forecast_landing_summary_status_and_report_have_the_same_counts(eight: Migrated, when: str) -> None:
    odd = f"case {{files}} in a/1.txt) exit 3;; b/1.txt) ;; b/2.txt) {SED}; exit 1;; *) {SED};; esac"
    (eight.root / "h" / "3.txt").write_text("none\n")
    git(eight.root, "add", "-A")
    git(eight.root, "commit", "-qm", "a file without a site")
    given = recipe({"run": odd, "when": when}, stop={"same_signature": 0})
    forecast = await dry_run_recipe(eight.options(), given, DryRunOptions())
    ended = await eight.run(given, migrate={"cache": False})
    counts = "3 failed (1 rejected, 2 could not be changed)"
    assert f"13 files would change, +13 -13 lines, 16 sites → 3; {counts}, 1 with nothing to do." in "\n".join(
        render_dry_run_lines(forecast)
    )
    assert ended.state.ended is not None
    assert ended.state.ended.reason == f"13 files landed, {counts}"
    assert f"17 files in scope: 13 landed, {counts}, 1 with nothing to do" in list(render_summary_lines(ended.state))
    burndown = build_burndown(ended.state)
    assert forecast.outcome == burndown.now.files
    assert (burndown.merged_files, burndown.concerned_files) == (13, 16)
    assert render_files_line(burndown).startswith(f"  files 13/16 landed  {counts}  cost")


@pytest.mark.extended
async def test_a_gate_that_tells_of_each_test_is_not_warned_of(eight: Migrated) -> None:
    assert not (await eight.run(recipe({"run": SED}))).state.notices


@pytest.mark.extended
async def test_a_step_that_would_change_its_own_result_breaks_the_invariant_and_nothing_of_it_lands(
    eight: Migrated,
) -> None:
    twice = f"case {{files}} in a/1.txt) sed -i s/old/colder/ {{files}};; *) {SED};; esac"
    ended = await eight.run(recipe({"run": twice}, invariant=[{"kind": "idempotent"}]))
    assert (ended.exit_code, eight.statuses()["a/1.txt"]) == (3, "rejected")
    assert "once more" in ended.state.migration.files["a/1.txt"].reason


@pytest.mark.extended
async def test_the_time_that_a_recipe_allows_stops_the_run_resumably_and_only_lowers_what_the_user_allows(
    eight: Migrated,
) -> None:
    ended = await eight.run(recipe({"run": f"sleep 1 && {SED}"}, stop={"wall_s": 1.0}), run={"time_limit_s": 600})
    assert (ended.exit_code, ended.state.ended) == (5, None)
    calm = await eight.run(recipe({"run": SED}, stop={"wall_s": 900.0}), run={"time_limit_s": 600})
    assert (calm.exit_code, calm.state.run.settings["run"]["time_limit_s"]) == (0, 600)
