"""A whole run through the real litellm, against an OpenAI-compatible server on this machine."""

import os
from pathlib import Path

import pytest

from orchestrator.demo.runs import DEMO_GATE, DEMO_GOAL, hash_checkout
from tests.running.cli import environment, orchestrate
from tests.running.killing import Start, as_json, kill_after, landed_more_than_once, moments, terminal
from tests.running.projects import shop, tree_at
from tests.running.serving import model_server, model_words, stats

pytestmark = [pytest.mark.slow, pytest.mark.sandbox, pytest.mark.timeout(900)]

DEMO = Path(__file__).parents[2] / "orchestrator" / "demo"
MOMENTS = int(os.environ.get("KILL_MOMENTS", "1"))
SCRIPTS = (DEMO / "goal.toml", DEMO / "goal-strong.toml")


def start(place: Path, url: str) -> Start:
    words = ["run", DEMO_GOAL, "--gate", DEMO_GATE, "--set", "gate.report=unittest", *model_words(url)]
    where = ("--repo", str(place / "shop"), "--state", str(place / "state"))
    return Start(words, where, place, environment(place, LOOPBACK_KEY="sk-not-a-secret"))


def test_planner_workers_and_judge_on_real_calls_give_the_scripted_tree(tmp_path: Path) -> None:
    shop(tmp_path)
    before = hash_checkout(tmp_path / "shop")
    with model_server(SCRIPTS, tmp_path / "server.json") as url:
        done, _ = start(tmp_path, url).to_the_end()
        told = stats(url)
    result = as_json(done)
    assert (done.code, result["outcome"], result["tasks"]["merged"]) == (0, "done", 4)
    assert (told["remaining"], told["failures"], told["calls"]) == ({}, 0, result["spent"]["calls"])
    assert result["spent"]["usd"] is None, "nobody knows the price of these models, so it is not shown as zero"
    assert result["spent"]["tokens"] > 10_000
    assert hash_checkout(tmp_path / "shop") == before
    where = ("--repo", str(tmp_path / "shop"), "--state", str(tmp_path / "state"))
    status = orchestrate("status", "--json", *where, cwd=tmp_path).json
    models = {attempt["model"] for task in status["plan"] for attempt in task["attempts"]}
    assert models == {"openai/worker", "openai/worker-strong"}
    scripted = tmp_path / "scripted"
    scripted.mkdir()
    assert orchestrate("demo", "--kind", "goal", "--json", "--dir", "d", cwd=scripted).code == 0
    demo = orchestrate("status", "--json", "--repo", "d/shop", "--state", "d/state", cwd=scripted).json
    assert tree_at(tmp_path / "shop", result["pr_branch"]) == tree_at(scripted / "d" / "shop", demo["pr_branch"])


def test_models_that_think_and_want_it_back_finish_a_run(tmp_path: Path) -> None:
    shop(tmp_path)
    with model_server(SCRIPTS, tmp_path / "server.json", "--thinks") as url:
        done, _ = start(tmp_path, url).to_the_end()
        told = stats(url)
    result = as_json(done)
    assert (done.code, result["outcome"], result["tasks"]["merged"]) == (0, "done", 4)
    assert (told["remaining"], told["refused"], told["calls"]) == ({}, 0, result["spent"]["calls"])


def test_a_killed_run_goes_on_with_the_same_server_and_repeats_at_most_the_calls_in_flight(tmp_path: Path) -> None:
    calm = tmp_path / "calm"
    calm.mkdir()
    shop(calm)
    with model_server(SCRIPTS, calm / "server.json") as url:
        done, duration_s = start(calm, url).to_the_end()
    wanted = as_json(done)
    for number, moment in enumerate(moments(MOMENTS, duration_s, seed=11)):
        place = tmp_path / f"kill-{number}"
        place.mkdir()
        shop(place)
        with model_server(SCRIPTS, place / "server.json") as url:
            run = start(place, url)
            kill_after(run, moment)
            result = as_json(run.resume())
            told = stats(url)
        assert terminal(result) == terminal(wanted), f"killed after {moment:.2f} s of {duration_s:.2f}"
        assert tree_at(place / "shop", result["pr_branch"]) == tree_at(calm / "shop", wanted["pr_branch"])
        assert landed_more_than_once(Path(result["journal"])) == []
        assert told["remaining"] == {}
        in_flight = 4  # planner and three workers at most
        assert told["calls"] <= wanted["spent"]["calls"] + in_flight
        assert (
            told["calls"] - told["disconnects"] <= result["spent"]["calls"] + result["spent"]["possibly_billed_calls"]
        )
