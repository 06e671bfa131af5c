"""Pull requests of a run on GitHub: pushed, opened once whatever happens, and told of when something is missing."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from orchestrator.app.replay_models import ReplayOptions
from orchestrator.config.layers import get_user_config_path
from orchestrator.crash import CRASH_POINT_VARIABLE
from orchestrator.doctor.checks import check_requirements
from orchestrator.domain.event.run import PrOpened
from orchestrator.domain.migration.files import Shard
from orchestrator.engine.pull_request.description import format_goal_body
from orchestrator.errors import EnvironmentProblem, UsageProblem
from orchestrator.forge.markers import build_marker
from orchestrator.journal.storage.event_store import read_all_events
from orchestrator.migrate.landing.pull_requests import publish_pull_requests
from orchestrator.project.options import Options
from orchestrator.scratch_runs.replay import replay_run
from tests.running.cli import environment
from tests.running.forge import ALL_RIGHTS, TOKEN, FakeForge, bad_gateway, fake_forge, lost, secondary_limit
from tests.running.goals import Bench, one
from tests.running.killing import Start, as_json, unsettled
from tests.running.projects import GATE, GATE_FLAGS, calculator, git, refs
from tests.running.remotes import bare
from tests.running.scripts import write_script
from tests.running.shards import begun, land, project, shard_recipe

pytestmark = pytest.mark.sandbox


@pytest.fixture
def forge(tmp_path: Path, bench: Bench, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeForge]:
    monkeypatch.setenv("GITHUB_TOKEN", TOKEN)
    with hosting(tmp_path, bench.repository) as forge:
        yield forge


def hosting(place: Path, checkout: Path) -> Any:
    """The forge with what the checkout has on `main`."""
    remote = bare(place / "remote.git", checkout)
    git(checkout, "push", "-q", "origin", "main")
    return fake_forge(remote)


def holds_token(place: Path) -> list[str]:
    """The files that hold the token."""
    return [str(path) for path in place.rglob("*") if path.is_file() and TOKEN.encode() in path.read_bytes()]


async def test_what_landed_is_pushed_and_proposed_in_the_runs_own_words_and_the_token_is_nowhere(
    bench: Bench, forge: FakeForge
) -> None:
    gate = {**GATE_FLAGS, "command": f'test -z "$GITHUB_TOKEN" && {GATE}'}
    ended = await bench.run(*one("a"), pr=forge.settings, gate=gate)
    (pull,) = forge.hosted.pulls.values()
    run, state = ended.state.run, ended.state
    assert (ended.exit_code, state.pr and state.pr.url) == (0, f"{forge.url}/octo/demo/pull/1")
    assert (pull["title"], pull["head"]["ref"], pull["base"]["ref"]) == ("make it better", run.branch, "main")
    assert forge.hosted.tip(run.branch) == state.head
    body = format_goal_body(state, state.ended.reason if state.ended else "")
    assert pull["body"] == f"{build_marker(run.run, 'pr')}\n{body}"
    assert forge.lines == ["GET /pulls", "POST /pulls"]
    assert holds_token(bench.root) == []


async def test_a_replay_of_such_a_run_asks_the_forge_nothing(bench: Bench, forge: FakeForge) -> None:
    await bench.run(*one("a"), pr=forge.settings)
    before, pushed = forge.lines, refs(forge.hosted.path)
    state = {"state": {"dir": str(bench.root / "state")}}
    report = await replay_run(Options(bench.repository, state), None, ReplayOptions())
    assert report.divergences == ()
    assert (forge.lines, refs(forge.hosted.path)) == (before, pushed)


async def test_each_group_of_a_migration_has_a_pull_request_with_its_mark_and_labels(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_TOKEN", TOKEN)
    repo = project(tmp_path / "repo", {"word": "first('a.txt') in ('old', 'new')"}, {"a.txt": "old", "b.txt": "old"})
    recipe = shard_recipe(merge={"group_pr": "owner", "labels": ["migration"], "draft": True})
    shards = [Shard(name=name, files=(f"{name}.txt",), owner=f"@{name}") for name in ("a", "b")]
    with hosting(tmp_path, repo) as forge:
        async with begun(repo, recipe, pr=forge.settings) as (_, context):
            await land(context, shards, {"a.txt": "new", "b.txt": "new"})
            for words in ("it goes", "it went well"):
                await publish_pull_requests(context, recipe, context.gate, words)
            run, opened = context.state.run.run, context.state.migration.prs
        pulls = {pull["head"]["ref"]: pull for pull in forge.hosted.pulls.values()}
    assert {name: pr.ref for name, pr in opened.items()} == {"@a": "octo/demo#1", "@b": "octo/demo#2"}
    assert {pull["body"].splitlines()[0] for pull in pulls.values()} == {
        build_marker(run, "pr", "@a"),
        build_marker(run, "pr", "@b"),
    }
    assert all("it went well" in pull["body"] for pull in pulls.values())
    assert all(pull["draft"] and pull["labels"] == [{"name": "migration"}] for pull in pulls.values())
    assert {ref: forge.hosted.tip(ref) for ref in pulls} == {pr.branch: pr.head for pr in opened.values()}


@pytest.mark.extended
async def test_a_forge_that_stumbles_gets_one_pull_request_all_the_same(bench: Bench, forge: FakeForge) -> None:
    forge.fault(bad_gateway(), "GET", times=2)
    forge.fault(secondary_limit(1), "POST")
    forge.fault(lost(), "POST", "/pulls$")
    ended = await bench.run(*one("a"), pr=forge.settings)
    assert (ended.exit_code, [*forge.hosted.pulls]) == (0, [1])
    assert forge.writes == ["POST /pulls", "POST /pulls"]


async def test_a_token_that_does_not_do_ends_the_run_resumably_and_the_next_one_opens_the_pull_request(
    bench: Bench, forge: FakeForge
) -> None:
    forge.tokens = {TOKEN: {**ALL_RIGHTS, "pull_requests": "read"}}
    ended = await bench.run(*one("a"), pr=forge.settings)
    assert (ended.exit_code, forge.hosted.pulls) == (7, {})
    assert "give the token in GITHUB_TOKEN this permission on octo/demo: pull_requests: write" in str(ended.error)
    forge.tokens = {TOKEN: ALL_RIGHTS}
    resumed = await bench.resume(*one("a"))
    assert (resumed.exit_code, [*forge.hosted.pulls]) == (0, [1])
    assert unsettled(resumed.directory.journal) == []


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"push": ""}, "set push under \\[pr\\]"),
        ({"repository": ""}, "set repository under \\[pr\\] to owner/name"),
        ({"token_env": "NOBODY_SETS_THIS"}, "there is no token for GitHub in NOBODY_SETS_THIS"),
    ],
)
async def test_what_is_missing_is_told_before_any_work(
    bench: Bench, forge: FakeForge, changed: dict[str, str], said: str
) -> None:
    with pytest.raises((UsageProblem, EnvironmentProblem), match=said):
        await bench.run(*one("a"), pr=forge.settings | changed)
    assert not list(bench.root.glob("state/*/runs/*"))


@pytest.mark.parametrize(
    ("rights", "is_ok", "said"),
    [
        (ALL_RIGHTS, True, "octo/demo by the token in GITHUB_TOKEN"),
        ({**ALL_RIGHTS, "contents": "read"}, False, "may not write to octo/demo"),
        (None, False, "does not accept the token in GITHUB_TOKEN"),
    ],
)
async def test_doctor_tells_whether_the_token_opens_the_repository(
    bench: Bench, forge: FakeForge, rights: dict[str, str] | None, is_ok: bool, said: str
) -> None:
    forge.tokens = {} if rights is None else {TOKEN: rights}
    found = {finding.name: finding async for finding in check_requirements(bench.options([], pr=forge.settings))}
    assert (found["forge"].is_ok, said in found["forge"].detail) == (is_ok, True), found["forge"].detail
    assert forge.writes == []


@pytest.mark.slow
@pytest.mark.timeout(480)
def test_killed_around_the_opening_and_resumed_a_run_finds_its_pull_request_again(tmp_path: Path) -> None:
    repository = calculator(tmp_path / "repo")
    with hosting(tmp_path, repository) as forge:
        config = get_user_config_path({"HOME": str(tmp_path)})
        config.parent.mkdir(parents=True)
        config.write_text("[pr]\n" + "".join(f'{name} = "{value}"\n' for name, value in forge.settings.items()))
        model = write_script(tmp_path / "script.json", one("a"))
        models = [word for role in ("planner", "worker", "judge") for word in ("--model", f"{role}={model}")]
        words = ("run", "better", "--gate", GATE, "--set", "gate.report=unittest", *models)
        where = ("--repo", str(repository), "--state", str(tmp_path / "state"))
        start = Start(words, where, tmp_path, environment(tmp_path, GITHUB_TOKEN=TOKEN))
        for verb, moment in ((words, "before-done"), (("resume",), "after-intent")):
            doomed = Start(verb, where, tmp_path, {**start.env, CRASH_POINT_VARIABLE: f"pr.{moment}"})
            assert doomed.begin().wait() == 7, moment
        result = as_json(start.resume())
        assert (result["outcome"], result["pr"]["url"]) == ("done", f"{forge.url}/octo/demo/pull/1")
        assert forge.writes == ["POST /pulls"]
        opened = [one.event for one in read_all_events(Path(result["journal"])) if isinstance(one.event, PrOpened)]
        assert ([event.ref for event in opened], unsettled(Path(result["journal"]))) == (["octo/demo#1"], [])
    assert holds_token(tmp_path) == []
