"""The demo, a run through a real model server and killed runs, done over in a process that can reach nothing."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from orchestrator.crash import CRASH_POINT_VARIABLE
from orchestrator.demo.runs import DEMO_GATE, DEMO_GOAL, hash_checkout
from tests.running import offline
from tests.running.cli import Finished, environment
from tests.running.in_process import orchestrate
from tests.running.killing import Start, as_json
from tests.running.projects import refs, shop, tree_at
from tests.running.scripts import judges, reviews, write_script
from tests.running.serving import model_server, model_words

pytestmark = [pytest.mark.slow, pytest.mark.sandbox, pytest.mark.timeout(600)]

DEMO = Path(__file__).parents[2] / "orchestrator" / "demo"
SCRIPTS = (DEMO / "goal.toml", DEMO / "goal-strong.toml")
MOMENTS = (
    "landing.before-done:1",
    *(
        pytest.param(moment, marks=pytest.mark.extended)
        for moment in (
            "check.before-done:1",
            "tool.before-done:3",
            "model.after-intent:4",
            "candidate.before-done:2",
            "check.before-done:4",
        )
    ),
)


def replay_offline(place: Path, *words: str, root: str, state: str) -> Finished:
    """Replay the latest run in a process that can open no connection."""
    done = subprocess.run(
        [sys.executable, offline.__file__, "replay", "--repo", root, "--state", state, "--json", *words],
        cwd=place,
        env=environment(place),
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        check=False,
    )
    return Finished(done.returncode, done.stdout, done.stderr)


@pytest.mark.parametrize("kind", ["goal", "migrate"])
def test_the_demo_comes_out_the_same_offline_and_touches_nothing(kind: str, tmp_path: Path) -> None:
    ran = orchestrate("demo", "--kind", kind, "--offline", "--json", "--dir", "d", cwd=tmp_path)
    assert ran.code == 0, ran.err
    root = tmp_path / "d" / "shop"
    before = hash_checkout(root), refs(root)
    done = replay_offline(tmp_path, root="d/shop", state="d/state")
    report = as_json(done)
    assert (done.code, report["same"], report["whole"], report["first_divergence"]) == (0, True, True, None)
    assert report["landings"]
    assert all(landing["same_commit"] for landing in report["landings"])
    assert report["final_tree"]["replayed"] == tree_at(root, ran.json["pr_branch"])
    assert (hash_checkout(root), refs(root)) == before


def test_a_run_through_a_model_server_is_replayed_without_it_and_its_judge_asked_again_of_another(
    tmp_path: Path,
) -> None:
    shop(tmp_path)
    where = ("--repo", str(tmp_path / "shop"), "--state", str(tmp_path / "state"))
    with model_server(SCRIPTS, tmp_path / "server.json") as url:
        words = ["run", DEMO_GOAL, "--gate", DEMO_GATE, "--set", "gate.report=unittest", *model_words(url)]
        ran, _ = Start(words, where, tmp_path, environment(tmp_path, LOOPBACK_KEY="sk-not-a-secret")).to_the_end()
    result = as_json(ran)
    done = replay_offline(tmp_path, root="shop", state="state")
    report = as_json(done)
    assert (done.code, report["same"]) == (0, True), report["first_divergence"]
    assert report["final_tree"]["replayed"] == tree_at(tmp_path / "shop", result["pr_branch"])
    write_script(tmp_path / "strict.json", [reviews("*", "revise", "shop/cart.py:1 think again")] * 2 + [judges()])
    with model_server([tmp_path / "strict.json"], tmp_path / "strict-server.json") as url:
        given = ("--only", "judge", "--model", "openai/judge-strict", "--set", f"roles.judge.api_base={url}")
        given += ("--set", "roles.judge.api_key_env=LOOPBACK_KEY")
        env = environment(tmp_path, LOOPBACK_KEY="sk-not-a-secret")
        asked = orchestrate("replay", *given, *where, "--json", cwd=tmp_path, env=env)
    again = as_json(asked)["asked_again"]
    assert (asked.code, as_json(asked)["first_divergence"]) == (1, None)
    assert (again["models"], again["spent"]["calls"], again["spent"]["usd"]) == (["openai/judge-strict"], 6, None)
    decided = {call["session"]: (call["recorded"], call["new"]) for call in again["calls"]}
    assert decided["review:discounts@2"] == ("approve", "revise")
    assert decided["verdict:1"] == ("done", "done")


@pytest.mark.parametrize("moment", MOMENTS)
def test_a_run_that_was_killed_and_resumed_is_replayed_as_one(moment: str, tmp_path: Path) -> None:
    shop(tmp_path)
    model, strong = (f"scripted:{script}" for script in SCRIPTS)
    models = (f"planner={model}", f"worker={model}", f"judge={model}", f"worker.strong={strong}")
    words = ["run", DEMO_GOAL, "--gate", DEMO_GATE, "--set", "gate.report=unittest"]
    words += [word for given in models for word in ("--model", given)]
    where = ("--repo", str(tmp_path / "shop"), "--state", str(tmp_path / "state"))
    start = Start(words, where, tmp_path, environment(tmp_path))
    killed, _ = replace(start, env=environment(tmp_path, **{CRASH_POINT_VARIABLE: moment})).to_the_end()
    assert killed.code == 7
    result = as_json(start.resume())
    assert result["outcome"] == "done"
    done = replay_offline(tmp_path, root="shop", state="state")
    report = as_json(done)
    assert (done.code, report["same"], report["whole"]) == (0, True, True), report["first_divergence"]
    assert report["final_tree"]["replayed"] == tree_at(tmp_path / "shop", result["pr_branch"])
