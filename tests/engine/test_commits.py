"""The commits of a pull request: whose they are, what they say, how they are signed, and how many there are."""

import subprocess
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from orchestrator.app.replay_models import ReplayOptions
from orchestrator.domain.event.landing import LandingStarted
from orchestrator.domain.event.run import RunStarted
from orchestrator.engine import run_start
from orchestrator.errors import EnvironmentProblem, convert_error
from orchestrator.project.options import Options
from orchestrator.report.run.result import build_run_result
from orchestrator.report.run.summary import render_summary_lines
from orchestrator.scratch_runs.replay import replay_run
from tests.running.goals import TWO, Bench, When, one, task
from tests.running.migrating import SED, Migrated, recipe, words
from tests.running.projects import git
from tests.running.scripts import judges, planner_ends, plans, reviews, worker_ends, writes
from worktrees.errors import CommitNotSigned

pytestmark = pytest.mark.sandbox

ADA = {"name": "Ada Lovelace", "email": "ada@example.invalid"}


def log(bench: Bench, branch: str, form: str) -> list[str]:
    """What git says of the branch's commits after the base, oldest first."""
    return git(bench.repository, "log", "--reverse", f"--format={form}", f"main..{branch}").splitlines()


@pytest.fixture
def key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A key for signing without a passphrase, whose signatures git accepts here."""
    place = tmp_path / "keys" / "id"
    place.parent.mkdir()
    _make_key(place, "")
    public = place.with_suffix(".pub").read_text()
    (place.parent / "allowed").write_text(f"ada@example.invalid {public}")
    settings = place.parent / "gitconfig"
    settings.write_text(f'[gpg "ssh"]\n\tallowedSignersFile = {place.parent}/allowed\n[gpg]\n\tformat = ssh\n')
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(settings))
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
    return place


def build_old_start(kind: type[RunStarted], **fields: Any) -> RunStarted:
    """The first event of a run as earlier versions wrote it."""
    return kind(**{name: value for name, value in fields.items() if name != "names_agents"})


def _make_key(place: Path, passphrase: str) -> None:
    options = ("-q", "-t", "ed25519", "-N", passphrase, "-C", "", "-f", str(place))
    subprocess.run(["ssh-keygen", *options], check=True, stdin=subprocess.DEVNULL)


async def test_a_task_is_one_commit_with_its_title_its_outcome_and_where_it_comes_from(bench: Bench) -> None:
    long = "Add the conversion of lengths and weights to the calculator, for all units that the catalogue names."
    told = {"key": "a", "title": long, "outcome": "`calc.py` converts lengths.\n\nIt closes #12 for @someone."}
    ended = await bench.run(plans("root", told), *task("a"), planner_ends(), judges())
    branch = ended.state.run.branch
    assert log(bench, branch, "%an <%ae> %cn %G?") == ["Orchestrate <orchestrate@localhost> Orchestrate N"]
    message = git(bench.repository, "log", "-1", "--format=%B", branch)
    subject, body = message.split("\n\n", 1)
    assert len(subject) <= 72
    assert subject.startswith("Add the conversion of lengths")
    assert "`calc.py` converts lengths." in body
    assert "#12" not in body
    assert "@someone" not in body
    assert git(bench.repository, "log", "-1", "--format=%(trailers:only)", branch).split() == [
        "Orchestrate-Run:",
        ended.state.run.run,
        "Orchestrate-Task:",
        "a@1",
        "Orchestrate-Agent:",
        "role=worker;",
        "model=scripted;",
        "engine=loop",
        "Orchestrate-Gate:",
        *ended.state.get_baseline_receipts(),
    ]


async def test_a_commit_quotes_its_workers_report_and_no_line_of_it_can_be_a_trailer(bench: Bench) -> None:
    told = {"key": "a", "title": "Add it", "outcome": "Signed-off-by: Planner <p@example.invalid>\n\nIt adds."}
    said = "Added `add`.\n\nSigned-off-by: Eve <eve@example.invalid>\x1b[31m\nFixes #12. " + "Words. " * 200
    work = [writes("a", "a.txt", "a\n"), worker_ends("a", said), reviews("a")]
    ended = await bench.run(plans("root", told), *work, planner_ends(), judges())
    message = git(bench.repository, "log", "-1", "--format=%B", ended.state.run.branch)
    lines = message.splitlines()
    quoted = [line for line in lines if line.startswith("> ")]
    assert quoted[0].startswith("> Added `add`. Signed-off-by: Eve <eve@example.invalid>")
    assert quoted[-1].endswith("…")
    assert sum(map(len, quoted)) < 700
    assert max(map(len, lines)) <= 72
    assert not [line for line in lines if line.startswith("Signed-off-by")]
    assert "\x1b" not in message
    assert "#12" not in message
    trailers = git(bench.repository, "log", "-1", "--format=%(trailers:only,keyonly)", ended.state.run.branch)
    assert trailers.split() == ["Orchestrate-Run", "Orchestrate-Task", "Orchestrate-Agent", "Orchestrate-Gate"]


async def test_neither_planner_nor_worker_can_say_who_made_a_commit(bench: Bench) -> None:
    forged = "Orchestrate-Agent: role=judge; model=forged; engine=forged"
    words = f"done\n\n{forged}\nOrchestrate-Task: b@7"
    told = {"key": "a", "title": forged, "outcome": f"{forged}\n\nIt is done.\n\n{words}"}
    work = [writes("a", "a.txt", "a\n"), worker_ends("a", words), reviews("a")]
    script = [plans("root", told, {"key": "b", "depends_on": ["a"]}), *work, *task("b"), planner_ends(), judges()]
    ended = await bench.run(*script, commits={"squash": True})
    form = "%(trailers:key=Orchestrate-Agent,valueonly,separator=%x7c)"
    before = git(bench.repository, "log", "-2", f"--format={form}", ended.state.landings[-2].new).splitlines()
    agent = "role=worker; model=scripted; engine=loop"
    assert before == [agent, agent]
    assert log(bench, ended.state.run.branch, form) == [agent]


@pytest.mark.extended
@pytest.mark.parametrize("is_squashed", [False, True])
async def test_a_run_from_before_agents_were_named_goes_on_with_the_same_commits(
    bench: Bench, is_squashed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_start, "RunStarted", partial(build_old_start, RunStarted))
    ended = await bench.run(*TWO, commits={"squash": is_squashed})
    monkeypatch.undo()
    keys = git(bench.repository, "log", "-1", "--format=%(trailers:only,keyonly)", ended.state.run.branch).split()
    assert keys == ["Orchestrate-Run", *(() if is_squashed else ("Orchestrate-Task",)), "Orchestrate-Gate"]
    state = {"state": {"dir": str(bench.root / "state")}}
    report = await replay_run(Options(bench.repository, state), None, ReplayOptions())
    assert report.is_same


@pytest.mark.parametrize("is_squashed", [False, True])
async def test_a_configured_co_author_is_named_once_in_every_commit(bench: Bench, is_squashed: bool) -> None:
    ada = "Ada Lovelace <ada@example.invalid>"
    ended = await bench.run(*TWO, commits={"co_author": ada, "squash": is_squashed})
    form = "%(trailers:key=Co-authored-by,valueonly,separator=%x7c)"
    assert log(bench, ended.state.run.branch, form) == [ada] * (1 if is_squashed else 2)
    message = git(bench.repository, "log", "-1", "--format=%(trailers:only,keyonly)", ended.state.run.branch)
    assert message.split()[0] == "Orchestrate-Run"
    assert git(bench.repository, "rev-parse", ended.state.run.branch) == ended.state.head


async def test_the_configured_author_is_that_of_every_commit(bench: Bench) -> None:
    ended = await bench.run(*TWO, commits=ADA)
    assert (
        log(bench, ended.state.run.branch, "%an <%ae> %cn <%ce>")
        == ["Ada Lovelace <ada@example.invalid> Ada Lovelace <ada@example.invalid>"] * 2
    )
    assert git(bench.repository, "rev-parse", ended.state.run.branch) == ended.state.head


async def test_every_commit_that_lands_is_signed_by_the_users_key(bench: Bench, key: Path) -> None:
    ended = await bench.run(*TWO, commits={**ADA, "sign": "ssh", "key": str(key)})
    assert ended.exit_code == 0
    assert log(bench, ended.state.run.branch, "%G? %GS") == ["G ada@example.invalid"] * 2


async def test_a_key_that_needs_a_passphrase_is_refused_before_anything_is_made(bench: Bench, key: Path) -> None:
    locked = key.parent / "locked"
    _make_key(locked, "secret words")
    with pytest.raises(CommitNotSigned, match=r"cannot be signed with .*locked \(ssh\).*ssh-add -l.*never") as refused:
        await bench.run(*one("a"), commits={"sign": "ssh", "key": str(locked)})
    assert isinstance(convert_error(refused.value), EnvironmentProblem)
    assert not list((bench.root / "state").glob("**/journal*"))


async def test_a_key_that_goes_away_during_a_run_pauses_it_and_loses_nothing(bench: Bench, key: Path) -> None:
    away = key.with_name("away")
    signing = {"sign": "ssh", "key": str(key)}
    ended = await bench.run(*TWO, when=When("landing.finished", lambda _: key.rename(away)), commits=signing)
    assert ended.exit_code == 7
    assert "cannot be signed" in str(ended.error)
    away.rename(key)
    again = await bench.resume(*TWO)
    assert again.exit_code == 0
    assert (
        log(bench, again.state.run.branch, "%G?") == ["G"] * 2 or log(bench, again.state.run.branch, "%G?") == ["U"] * 2
    )


async def test_squashed_is_one_commit_with_the_tree_that_passed_and_the_others_are_kept(bench: Bench) -> None:
    ended = await bench.run(*TWO, commits={**ADA, "squash": True})
    state = ended.state
    assert ended.exit_code == 0
    assert log(bench, state.run.branch, "%an") == ["Ada Lovelace"]
    *_, before, after = state.landings
    assert (after.tree, after.is_squash) == (before.tree, True)
    assert git(bench.repository, "rev-parse", f"{state.run.branch}^{{tree}}") == before.tree
    green = {receipt.tree for receipt in state.receipts.values() if receipt.exit_code == 0}
    assert before.tree in green
    kept = git(
        bench.repository, "for-each-ref", "--format=%(objectname)", f"refs/orchestrate/{state.run.run}/unsquashed/"
    ).split()
    assert kept == [before.new]
    message = git(bench.repository, "log", "-1", "--format=%B", state.run.branch)
    assert message.startswith("make it better\n\n- ")
    assert [line for line in message.splitlines() if "Task" in line] == [
        "Orchestrate-Task: a@1",
        "Orchestrate-Task: b@1",
    ]
    assert message.count("\nOrchestrate-Agent: role=worker; ") == 1
    assert state.pr is not None
    assert state.pr.head == state.head


async def test_commits_of_a_person_on_the_branch_are_not_squashed_away(bench: Bench) -> None:
    def commit_by_hand(event: LandingStarted) -> None:
        mine = git(bench.repository, "commit-tree", f"{event.new}^{{tree}}", "-p", event.new, "-m", "by hand")
        git(bench.repository, "update-ref", f"refs/heads/{event.branch}", mine)

    ended = await bench.run(*TWO, when=When("landing.finished", commit_by_hand), commits={"squash": True})
    assert "by hand" in log(bench, ended.state.run.branch, "%s")
    assert any("not squashed" in notice.text for notice in ended.state.notices)


async def test_the_end_of_a_run_and_its_pull_request_say_how_to_merge(bench: Bench) -> None:
    ended = await bench.run(*one("a"))
    state = ended.state
    command = f"git switch main && git merge {state.run.branch}"
    assert build_run_result(state, ended.directory.path).merge_by == command
    assert f"merge it: {command}" in list(render_summary_lines(state))
    assert state.pr is not None
    page = git(bench.repository, "show", f"{state.pr.ref}:PR.md")
    assert f"Merge it: `{command}`" in page
    for part in command.split(" && "):
        git(bench.repository, *part.split()[1:])
    assert (bench.repository / "a.txt").exists()


@pytest.mark.extended
async def test_a_squashed_run_can_be_replayed(bench: Bench) -> None:
    await bench.run(*TWO, commits={**ADA, "squash": True})
    state = {"state": {"dir": str(bench.root / "state")}}
    report = await replay_run(Options(bench.repository, state), None, ReplayOptions())
    assert report.is_same


TEXTS = {"lib/a.txt": "old", "app/b.txt": "old"}


async def test_shards_of_a_migration_land_by_the_same_author_and_signed(tmp_path: Path, key: Path) -> None:
    repo = words(tmp_path / "repo", TEXTS)
    run = Migrated(repo, settings={"commits": {**ADA, "sign": "ssh", "key": str(key)}})
    ended = await run.run(recipe({"run": SED}))
    assert (
        git(repo, "log", "--format=%an %G?", f"main..{ended.state.run.branch}").splitlines() == ["Ada Lovelace G"] * 2
    )
    landed = git(repo, "rev-list", ended.state.run.branch).split()
    assert all(shard.commit in landed for shard in ended.state.migration.shards.values())


@pytest.mark.parametrize("group", ["all", "directory"])
async def test_a_migrations_pull_requests_are_squashed_to_one_commit_each(tmp_path: Path, group: str) -> None:
    repo = words(tmp_path / "repo", {**TEXTS, "lib/sub/c.txt": "old"})
    run = Migrated(repo, settings={"commits": {**ADA, "squash": True}})
    shards = {"shard": {"by": ["directory"], "depth": 2, "min_files": 1}}
    ended = await run.run(recipe({"run": SED}, merge={"group_pr": group}, **shards))
    state = ended.state
    assert ended.exit_code == 0
    branches = [pr.branch for pr in state.migration.prs.values()] or [state.run.branch]
    for branch in branches:
        assert git(repo, "log", "--format=%an", f"main..{branch}").splitlines() == ["Ada Lovelace"]
