"""From the pull request on GitHub over its checks to the merge, undisturbed and with the process killed on the way."""

import re
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from orchestrator.config.layers import get_user_config_path
from orchestrator.crash import CRASH_POINT_VARIABLE
from orchestrator.domain.effects import CRASH_MOMENTS
from orchestrator.domain.event.forge import ChecksSeen
from orchestrator.domain.event.run import IterationJudged
from orchestrator.journal.storage.event_store import read_all_events
from tests.running.cli import environment, orchestrate
from tests.running.forge import TOKEN, Asked, FakeForge, bad_gateway, fake_forge, lost, secondary_limit
from tests.running.goals import Bench, task
from tests.running.killing import Start, as_json, kill_engines, processes_about, unsettled
from tests.running.projects import GATE, calculator, git
from tests.running.remotes import bare
from tests.running.scripts import judges, planner_ends, plans, write_script

pytestmark = pytest.mark.sandbox

SETTINGS = {"checks_wait_s": 120, "checks_poll_s": 0.05, "merge": "when-green"}
ANEW = [
    *(plans("root", {"key": "a"}), *task("a"), planner_ends(), judges("restart", "another way is needed")),
    *(plans("root", {"key": "b"}), *task("b"), planner_ends(), judges()),
]
"""Two iterations, the first of which is to be begun anew."""


@dataclass
class Checks:
    """What runs on the forge: a check of each commit that somebody looks at, queued first and then concluded.

    `conclusions` are those of the first commit, the second and so on; the last is that of all others.
    """

    forge: FakeForge
    conclusions: Sequence[str]
    looks: Counter[str] = field(default_factory=Counter)

    def hear(self, asked: Asked) -> None:
        found = re.fullmatch(r"GET /commits/([0-9a-f]+)/check-runs", asked.line)
        if found is None or asked.status is None or asked.status >= 400:
            return
        commit = found[1]
        self.looks[commit] += 1
        place = min(list(self.looks).index(commit), len(self.conclusions) - 1)
        state = "queued" if self.looks[commit] == 1 else self.conclusions[place]
        self.forge.hosted.check(commit, "unit", state, "3 tests failed" if state == "failure" else "")


@contextmanager
def hosting(place: Path, checkout: Path, *conclusions: str) -> Iterator[tuple[FakeForge, Checks]]:
    """The forge with what the checkout has on `main`, and checks on it."""
    remote = bare(place / "remote.git", checkout)
    git(checkout, "push", "-q", "origin", "main")
    with fake_forge(remote) as forge:
        checks = Checks(forge, conclusions)
        forge.heard.append(checks.hear)
        yield forge, checks


def story(place: Path, repository: Path, forge: FakeForge, items: Sequence[Any]) -> Start:
    """A run in a process of its own, and what every verb about it needs."""
    config = get_user_config_path({"HOME": str(place)})
    config.parent.mkdir(parents=True)
    named = "".join(f'{name} = "{value}"\n' for name, value in forge.settings.items())
    config.write_text(f'[pr]\n{named}checks_wait_s = 120\nchecks_poll_s = 0.05\nmerge = "when-green"\n')
    model = write_script(place / "script.json", items)
    models = [word for role in ("planner", "worker", "judge") for word in ("--model", f"{role}={model}")]
    words = ("run", "better", "--gate", GATE, "--set", "gate.report=unittest", *models)
    where = ("--repo", str(repository), "--state", str(place / "state"))
    return Start(words, where, place, environment(place, GITHUB_TOKEN=TOKEN))


def fates(forge: FakeForge) -> list[str]:
    pulls = forge.hosted.pulls.values()
    return ["merged" if pull["merged_at"] else str(pull["state"]) for pull in pulls]


def comments(forge: FakeForge) -> list[int]:
    """The numbers of the pull requests that were commented on."""
    return [number for number, _ in forge.hosted.comments.values()]


@pytest.mark.extended
async def test_what_is_red_and_begun_anew_is_closed_and_the_second_attempt_turns_green_and_is_merged_once(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_TOKEN", TOKEN)
    with hosting(bench.root, bench.repository, "failure", "success") as (forge, _):
        forge.fault(bad_gateway(), "GET", "/check-runs$", times=2)
        forge.fault(secondary_limit(1), "POST", "/comments$")
        forge.fault(lost(), "PUT", "/merge$")
        ended = await bench.run(*ANEW, pr=forge.settings | SETTINGS)
        assert ended.exit_code == 0, ended.error
        assert (fates(forge), comments(forge)) == (["closed", "merged"], [1])
        assert git(forge.hosted.path, "rev-parse", "main^2") == ended.state.head
        assert ended.state.merged is not None
        assert git(forge.hosted.path, "rev-parse", "main") == ended.state.merged.new
        (first, second) = ended.state.goal.iterations
        assert (first.decision, second.decision) == ("restart", "done")
        assert any("3 tests failed" in reason for reason in first.reasons)
        assert any("unit" in comment["body"] for _, comment in forge.hosted.comments.values())


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_killed_around_closing_and_merging_a_run_does_each_once(tmp_path: Path) -> None:
    repository = calculator(tmp_path / "repo")
    with hosting(tmp_path, repository, "success") as (forge, _):
        start = story(tmp_path, repository, forge, ANEW)
        moments = [f"{name}.{moment}" for name in ("close", "merge") for moment in CRASH_MOMENTS]
        for number, moment in enumerate(moments):
            doomed = replace(start, env={**start.env, CRASH_POINT_VARIABLE: moment})
            process = doomed.begin() if number == 0 else replace(doomed, words=("resume",)).begin()
            assert process.wait() == 7, f"the engine did not come to {moment}"
        result = as_json(start.resume())
        journal = Path(result["journal"])
        assert (result["outcome"], result["merged"]["commit"]) == ("done", result["head"])
        assert (fates(forge), comments(forge), unsettled(journal)) == (["closed", "merged"], [1], [])
        assert git(forge.hosted.path, "rev-list", "--count", "--merges", "--first-parent", "main") == "1"
        assert sum(isinstance(one.event, IterationJudged) for one in read_all_events(journal)) == 2
    assert processes_about(tmp_path) == []


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_killed_while_it_waits_a_run_waits_on_for_what_is_left_of_the_time(tmp_path: Path) -> None:
    repository = calculator(tmp_path / "repo")
    with hosting(tmp_path, repository, "queued") as (forge, checks):
        start = story(tmp_path, repository, forge, ANEW[:5] + ANEW[-1:])
        process = start.begin()
        while not checks.looks or min(checks.looks.values()) < 3:
            assert process.poll() is None
            time.sleep(0.05)
        assert kill_engines(tmp_path) == 1
        process.wait()
        checks.conclusions = ["success"]
        result = as_json(start.resume())
        events = list(read_all_events(Path(result["journal"])))
        seen = [one for one in events if isinstance(one.event, ChecksSeen)]
        states = [[check.state for check in one.event.checks] for one in seen if isinstance(one.event, ChecksSeen)]
        assert (result["outcome"], fates(forge)) == ("done", ["merged"])
        assert states == [[], ["pending"], ["passed"]], "nothing begins again"
        assert forge.writes.count("POST /pulls") == 1
    page, short = tmp_path / "page.html", tmp_path / "short.md"
    told = orchestrate("report", "--html", page, "--md", short, *start.where, cwd=tmp_path, env=start.env)
    assert told.code == 0, told.err
    assert all(words in page.read_text() for words in ("Checks of the forge", "<td>passed</td>", "Merged; the target"))
    assert "| unit | passed |" in short.read_text()
