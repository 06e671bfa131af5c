"""Measure what a verdict costs beyond the gate: a change without tests, its guarded gate and each mechanism after it.

    python -m bench.verdicts [--tests 3200] [--rounds 2]

A project of 40 modules is judged whose tests compute for some 15 ms each. The gate alone runs in the same sandbox,
neither watched nor guarded, its workspace opened and closed. What stands beside the runs of checks is the time in which
recorded calls are made again, workspaces are opened and results are read. Leaves with 1 if it takes more than 1.3 times
as long as the gate alone until a reviewer is asked, by the medians.
"""

import argparse
import os
import statistics
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path

import anyio

from orchestrator.app.run_execution import RunExit
from orchestrator.domain.event import RecordedEvent
from orchestrator.domain.event.run import CheckFinished
from orchestrator.domain.event.work import CandidateTaken, SessionStarted
from orchestrator.domain.ids import CommitId, TaskId
from orchestrator.domain.purpose import Purpose
from orchestrator.domain.run.task import TaskStatus
from orchestrator.hands.execution.workspace_runner import run_command
from orchestrator.hands.local import open_local_hands
from orchestrator.hands.policy import GrantedFolder, SandboxGrant
from orchestrator.journal.storage.event_store import read_all_events
from orchestrator.ports.hands import ShellCommand
from tests.running.goals import Bench
from tests.running.projects import repository
from tests.running.scripts import edits, judges, planner_ends, plans, reviews, worker_ends
from worktrees.repositories.repository import GitRepository

BOUND = 1.3
MODULES = 40
NOT_FOR_CANDIDATE = frozenset({"gate alone", "gate on the base"})
TASK = TaskId("faster")
MODULE = """\
def count_primes(limit):
    found = 0
    for number in range(2, limit):
        divisor = 2
        while divisor * divisor <= number and number % divisor:
            divisor += 1
        found += divisor * divisor > number
    return found


def describe_primes(limit):
    return f"{count_primes(limit)} primes below {limit}"
"""
TESTS = """\
import pytest

from product.part{number} import count_primes, describe_primes


@pytest.mark.parametrize("limit", range(18000, 18000 + {tests}))
def test_primes_are_counted(limit):
    assert 2040 < count_primes(limit) < 2100


def test_describe():
    assert describe_primes(10) == "4 primes below 10"
"""


def main() -> None:
    """Measure, print, judge."""
    options = argparse.ArgumentParser()
    options.add_argument("--tests", type=int, default=3_200)
    options.add_argument("--rounds", type=int, default=int(os.environ.get("ROUNDS", "2")))
    given = options.parse_args()
    samples: dict[str, list[float]] = defaultdict(list)
    for _ in range(given.rounds):
        with tempfile.TemporaryDirectory() as place:
            anyio.run(measure_round, Path(place), given.tests, samples)
    alone = statistics.median(samples["gate alone"])
    print(f"{given.tests} tests, {given.rounds} rounds, median seconds, and as parts of the gate alone")
    medians = {name: statistics.median(times) for name, times in samples.items()}
    for name, median in medians.items():
        print(f"{name:30} {median:7.2f} {median / alone:6.3f}")
    total = sum_candidate(medians)
    ratio, name = total / alone, "all for the candidate"
    print(f"{name:30} {total:7.2f} {ratio:6.3f}, bound {BOUND}: {'kept' if ratio <= BOUND else 'passed'}")
    sys.exit(0 if ratio <= BOUND else 1)


async def measure_round(place: Path, tests: int, samples: dict[str, list[float]]) -> None:
    """Add the seconds of one gate alone, and of each kind of run in a run of one task."""
    root = create_project(place / "repo", tests)
    command = f"{sys.executable} -m pytest -q -p no:cacheprovider"
    samples["gate alone"].append(await time_gate(place, root, command))
    ended = await judge_change(place, root, command)
    if ended.state.tasks[TASK].status != TaskStatus.MERGED:
        sys.exit(f"the change did not land: {ended.state.tasks[TASK].reason}")
    seconds: dict[str, float] = defaultdict(float)
    before_review = list_events_before_review(ended)
    for recorded in before_review:
        if isinstance(recorded.event, CheckFinished):
            receipt = recorded.event.receipt
            seconds["gate, guarded" if receipt.kind == "gate" else receipt.kind] += receipt.seconds
    for receipt in ended.state.receipts.values():
        if receipt.tree != ended.state.tasks[TASK].candidates[-1].tree:
            seconds["gate on the base"] += receipt.seconds
    whole_s = (before_review[-1].at - before_review[0].at).total_seconds()
    seconds["calls made again, and the rest"] = whole_s - sum_candidate(seconds)
    for name, value in seconds.items():
        samples[name].append(value)


def sum_candidate(seconds: Mapping[str, float]) -> float:
    """Return the seconds of all that was done for the candidate until its reviewer was asked."""
    return sum(value for name, value in seconds.items() if name not in NOT_FOR_CANDIDATE)


def list_events_before_review(ended: RunExit) -> list[RecordedEvent]:
    """Return the events from the candidate to the question to its reviewer, both included."""
    found: list[RecordedEvent] = []
    for recorded in read_all_events(ended.directory.journal):
        if found or isinstance(recorded.event, CandidateTaken):
            found.append(recorded)
        if found and isinstance(recorded.event, SessionStarted) and recorded.event.role == "judge":
            return found
    sys.exit("no reviewer was asked about the candidate")


async def time_gate(place: Path, root: Path, command: str) -> float:
    """Return the seconds of the gate's command in a workspace, not watched and not guarded."""
    source = GitRepository.open(root)
    (place / "home").mkdir()
    grant = SandboxGrant(read_only=(GrantedFolder(path=sys.prefix),))
    async with open_local_hands(source, place / "plain", grant, home=place / "home") as hands:
        if hands.refusal_reason:
            sys.exit(hands.refusal_reason)
        began = time.perf_counter()
        workspace = await hands.open_workspace(CommitId(source.read_head_commit()), Purpose("bench"))
        result = await run_command(workspace, ShellCommand(line=command, timeout_s=900))
        await workspace.close()
        seconds = time.perf_counter() - began
    if not result.is_success:
        sys.exit(f"the gate alone: {result.ending} {result.exit_code} {result.detail}")
    return seconds


async def judge_change(place: Path, root: Path, command: str) -> RunExit:
    """Return the end of a run with one small change of code."""
    items = [
        plans("root", {"key": TASK, "outcome": "count_primes counts as before, without even divisors."}),
        edits(TASK, "product/part7.py", "divisor += 1\n", "divisor += 1 + (divisor > 2)\n"),
        worker_ends(TASK),
        reviews(TASK),
        planner_ends(),
        judges(),
    ]
    gate = {"command": command, "report": "auto"}
    return await Bench(place, root).run(*items, gate=gate, hands={"read_only": [sys.prefix]})


def create_project(root: Path, tests: int) -> Path:
    """Make a repository whose modules have the same number of tests each; return its path."""
    files = {"product/__init__.py": "", "conftest.py": "", ".gitignore": "__pycache__/\n"}
    for number in range(MODULES):
        files[f"product/part{number}.py"] = MODULE
        files[f"tests/test_part{number}.py"] = TESTS.format(number=number, tests=tests // MODULES - 1)
    return repository(root, dict(files))


if __name__ == "__main__":
    main()
