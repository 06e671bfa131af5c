"""`kill -9` at random moments, then `resume`: the same end, nothing lost or landed twice, nothing left running."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from orchestrator.demo.runs import DEMO_GATE, DEMO_GOAL, hash_checkout
from tests.running.cli import environment
from tests.running.killing import (
    Start,
    as_json,
    kill_after,
    landed_more_than_once,
    moments,
    processes_about,
    terminal,
)
from tests.running.projects import shop, tree_at

pytestmark = [pytest.mark.slow, pytest.mark.sandbox, pytest.mark.timeout(900)]

DEMO = Path(__file__).parents[2] / "orchestrator" / "demo"
KILLS = int(os.environ.get("KILL_MOMENTS", "1"))


def migration(place: Path) -> Start:
    where = ("--repo", str(place / "shop"), "--state", str(place / "state"))
    return Start(("migrate", "run", str(DEMO / "sample.toml")), where, place, environment(place))


def goal(place: Path) -> Start:
    model, strong = f"scripted:{DEMO / 'goal.toml'}", f"scripted:{DEMO / 'goal-strong.toml'}"
    models = (f"planner={model}", f"worker={model}", f"judge={model}", f"worker.strong={strong}")
    words = ["run", DEMO_GOAL, "--gate", DEMO_GATE, "--set", "gate.report=unittest"]
    words += [word for given in models for word in ("--model", given)]
    where = ("--repo", str(place / "shop"), "--state", str(place / "state"))
    return Start(tuple(words), where, place, environment(place))


@pytest.mark.parametrize("kind", [pytest.param(migration, marks=pytest.mark.extended), goal])
def test_a_run_that_is_killed_at_any_moment_ends_as_if_it_had_not_been(
    kind: Callable[[Path], Start], tmp_path: Path
) -> None:
    calm = tmp_path / "calm"
    calm.mkdir()
    shop(calm)
    start = kind(calm)
    done, duration_s = start.to_the_end()
    wanted = as_json(done)
    wanted_tree = tree_at(calm / "shop", wanted["pr_branch"])
    for number, moment in enumerate(moments(KILLS, duration_s, seed=7)):
        place = tmp_path / f"kill-{number}"
        place.mkdir()
        shop(place)
        before = hash_checkout(place / "shop")
        start = kind(place)
        kill_after(start, moment)
        result = as_json(start.resume())
        assert terminal(result) == terminal(wanted), f"killed after {moment:.2f} s of {duration_s:.2f}"
        assert tree_at(place / "shop", result["pr_branch"]) == wanted_tree
        assert landed_more_than_once(Path(result["journal"])) == []
        assert processes_about(place) == []
        assert hash_checkout(place / "shop") == before
