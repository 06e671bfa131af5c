"""Runs under a model that acts at random, from a seed: whatever it does, what lands is green and nothing is lost.

What is checked is asked of git, of the files on disk and of the tests themselves, not of the run's own words.
"""

import json
import random
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from orchestrator.app.run_execution import RunExit
from orchestrator.demo.runs import hash_checkout
from orchestrator.domain.event.base import Done, Intent
from orchestrator.domain.event.landing import LandingFinished
from orchestrator.domain.event.work import CandidateTaken, TaskEnded
from orchestrator.domain.fold.projection import fold_events
from orchestrator.domain.run.task import TaskStatus
from orchestrator.journal.storage.event_store import read_all_events
from orchestrator.llm.scripted_model.script import ScriptedReply
from tests.loopback.builders import call, reply
from tests.running.goals import Bench
from tests.running.killing import processes_about
from tests.running.projects import git
from tests.running.scripts import judges, planner_ends, plans, reviews, uses, worker_ends, writes

pytestmark = [pytest.mark.slow, pytest.mark.sandbox, pytest.mark.timeout(480)]

SEEDS = (5, 11, 27, 42)
TAIL = 10
"""Well-behaved replies at the end of every queue, so that no script runs dry."""

COMMANDS = (
    "kill -9 $PPID",
    "setsid nohup sleep 7000 >/dev/null 2>&1 & echo started",
    "head -c 300000 /dev/urandom; exit 7",
    "rm -rf ./*",
    "rm -rf .git",
    "git add -A; git commit -qm mine; git checkout -qb other; git branch -D main",
    "git reset -q --hard; git config core.hooksPath /tmp; git gc -q --prune=now",
    "git rm -rq .; git init -q inner; echo x > inner/x",
    "rm test_calc.py",
    "sed -i 's/add/plus/g' calc.py test_calc.py",
    "sed -i '/def test_double/i\\    @unittest.skip(\"x\")' test_calc.py",
    "chmod 000 calc.py; ln -s /etc/passwd link; mkfifo pipe; printf x > $'a\\nb'",
    "echo '*.py filter=evil text eol=crlf' > .gitattributes; echo '*' > .gitignore; echo x > hidden",
    "echo 'import os; os.kill(os.getpid(), 9)' > test_zz.py",
)
OUTCOMES = """
import json, os, sys, unittest
passed = []
class Result(unittest.TestResult):
    def addSuccess(self, test): passed.append(test.id())
sys.path.insert(0, os.getcwd())
result = Result()
unittest.defaultTestLoader.discover(".").run(result)
sys.stderr.write(json.dumps([sorted(passed), [test.id() for test, _ in result.failures + result.errors]]))
"""


class Chance:
    """Replies of a random planner, its workers and their judge."""

    def __init__(self, seed: int) -> None:
        self._draw = random.Random(seed)
        self.items: list[ScriptedReply] = []
        self._slice("root", "abcd", 0)
        self.items += [judges("continue", "more")] * self._draw.choice([0, 0, 1]) + [judges()] * TAIL

    def _slice(self, name: str, keys: str, depth: int) -> None:
        """A planner with a plan that may have a circle first, a sub-planner and dependencies."""
        drafts: list[dict[str, Any]] = [{"key": key} for key in keys]
        if self._draw.random() < 0.5:
            drafts[-1]["depends_on"] = [drafts[0]["key"]]
        if depth == 0:
            drafts[1]["kind"] = "branch"
        if self._draw.random() < 0.5:
            self.items.append(plans(name, {"key": "x", "depends_on": ["y"]}, {"key": "y", "depends_on": ["x"]}))
        self.items += [plans(name, *drafts), *[planner_ends(name)] * TAIL]
        for draft in drafts:
            child = draft["key"] if name == "root" else f"{name}/{draft['key']}"
            if "kind" in draft:
                self._slice(child, "mn", depth + 1)
            else:
                self._leaf(child)

    def _leaf(self, name: str) -> None:
        for _ in range(self._draw.choice([1, 1, 2])):
            self.items += [self._turn(name) for _ in range(self._draw.choice([1, 2, 3]))]
            self.items.append(worker_ends(name))
        for number in range(TAIL):
            self.items += [writes(name, f"{name}.txt", f"{number}\n"), worker_ends(name)]
            self.items.append(uses("arbiter", name, "finish", summary="both hold"))
        first = self._draw.choice([[], [], [reviews(name, "revise", "why")], [reviews(name, "restart", "why")]])
        self.items += [*first, *[reviews(name)] * TAIL]

    def _turn(self, name: str) -> ScriptedReply:
        draw = self._draw
        if draw.random() < 0.1:
            return reply(task=name, error=draw.choice(["rate-limited", "unavailable", "request-refused"]))
        if draw.random() < 0.1:
            return draw.choice([reply("hm", task=name), reply(task=name, call=[call("write", raw="{")])])
        body = draw.choice(["a - b", "b + a", "sum((a, b))"])
        acts = [
            call("write", path=f"{name}.txt", text=f"{name}\n"),
            call("write", path="shared.txt", text=f"{name}\n"),
            call("edit", path="calc.py", old="a + b", new=body),
            call("edit", path="calc.py", old="add(a, a)", new=draw.choice(["2 * a", "3 * a"])),
            call("shell", command=draw.choice(COMMANDS), timeout_s=5),
        ]
        return reply(task=name, call=draw.choices(acts, k=draw.choice([1, 1, 2])))


@pytest.mark.parametrize("seed", [*SEEDS[:2], *(pytest.param(seed, marks=pytest.mark.extended) for seed in SEEDS[2:])])
async def test_whatever_a_model_does_only_green_lands_and_nothing_is_lost(bench: Bench, seed: int) -> None:
    before = hash_checkout(bench.repository)
    retry = {"base_s": 0.01, "cap_s": 0.02, "tries": 8}
    ended = await bench.run(*Chance(seed).items, retry=retry, run={"max_attempts": 3})
    recorded = [one.event for one in read_all_events(ended.directory.journal)]
    landings = [event for event in recorded if isinstance(event, LandingFinished)]
    assert ended.state.ended is not None and landings
    assert ended.state == fold_events(read_all_events(ended.directory.journal))
    assert _values(bench.repository, ended) == {landing.new for landing in landings}
    for commit in _values(bench.repository, ended):
        assert _lost(bench, ended.state.run.base, commit) == []
    assert [task for task, count in _landed(landings).items() if count > 1] == []
    kept = git(bench.repository, "rev-list", f"--glob=refs/orchestrate/{ended.state.run.run}/*").split()
    assert {event.commit for event in recorded if isinstance(event, CandidateTaken)} <= set(kept)
    begun = {event.key for event in recorded if isinstance(event, Intent)}
    assert begun == {event.key for event in recorded if isinstance(event, Done)}
    assert [event for event in recorded if isinstance(event, TaskEnded) and event.cause is None] == []
    stopped = [task for task in ended.state.tasks.values() if task.status not in {TaskStatus.MERGED, TaskStatus.DONE}]
    assert [task for task in stopped if task.cause is None] == []
    assert hash_checkout(bench.repository) == before
    assert processes_about(bench.root) == []


def _values(repository: Path, ended: RunExit) -> set[str]:
    """Every commit that the PR branch has ever pointed at."""
    if ended.state.head is None:
        return set()
    return set(git(repository, "reflog", "show", "--format=%H", f"refs/heads/{ended.state.run.branch}").split())


def _landed(landings: list[LandingFinished]) -> Counter[str]:
    return Counter(unit.rpartition("@")[0] for landing in landings for unit in landing.units)


def _lost(bench: Bench, base: str, commit: str) -> list[str]:
    """Tests that pass on the base and not on the commit, and those that fail only there."""
    (passed, failed), (passes, fails) = (_outcomes(bench, tree) for tree in (base, commit))
    return sorted({*passed} - {*passes} | ({*fails} - {*failed}))


def _outcomes(bench: Bench, commit: str) -> tuple[list[str], list[str]]:
    """Names of the tests that pass and that fail in a plain copy of the commit."""
    place = bench.root / "plain" / commit
    place.mkdir(parents=True, exist_ok=True)
    archive = subprocess.run(["git", "archive", commit], cwd=bench.repository, capture_output=True, check=True).stdout
    subprocess.run(["tar", "-x"], cwd=place, input=archive, check=True)
    words = [sys.executable, "-B", "-c", OUTCOMES]
    done = subprocess.run(words, cwd=place, capture_output=True, text=True, check=True)
    passed, failed = json.loads(done.stderr.splitlines()[-1])
    return passed, failed
