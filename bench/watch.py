"""Measure what watching files costs: wall time of a test run that opens 100,000 files, watched and not.

    python -m bench.watch [--rounds 5] [--files 1000]

Leaves with 1 if the watched runs take more than 15 % longer, by the fastest of each kind, which a busy machine disturbs
least.
"""

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import anyio

from orchestrator.domain.ids import CommitId
from orchestrator.domain.purpose import Purpose
from orchestrator.hands.execution.workspace_runner import run_command
from orchestrator.hands.local import open_local_hands
from orchestrator.hands.workspace import LocalWorkspace
from orchestrator.ports.hands import ShellCommand
from worktrees.repositories.repository import GitRepository

BOUND = 1.15
OPENS = 100_000
FILES_PER_FOLDER = 50
TEST = """\
import json
import pathlib
import unittest

CASES = sorted(pathlib.Path("cases").glob("*/*.json"))


class CasesTest(unittest.TestCase):
    def test_cases(self):
        for _ in range({rounds}):
            for case in CASES:
                value = json.loads(case.read_text())
                self.assertEqual(sum(value["numbers"]), value["total"])
"""


def main() -> None:
    """Measure, print, judge."""
    options = argparse.ArgumentParser()
    options.add_argument("--rounds", type=int, default=5)
    options.add_argument("--files", type=int, default=1_000)
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as place:
        samples = anyio.run(measure_runs, Path(place), given.rounds, given.files)
    plain, watched = samples[False], samples[True]
    print(f"{OPENS} opens of {given.files} files, seconds, {given.rounds} rounds in turn")
    for name, times in (("not watched", plain), ("watched", watched)):
        print(f"{name:12} median {statistics.median(times):6.2f}   min {min(times):6.2f}")
    ratio = min(watched) / min(plain)
    print(f"ratio {ratio:.3f}, bound {BOUND}: {'kept' if ratio <= BOUND else 'passed'}")
    sys.exit(0 if ratio <= BOUND else 1)


async def measure_runs(place: Path, rounds: int, files: int) -> dict[bool, list[float]]:
    """Return the seconds of runs, by whether they were watched."""
    root = create_repository(place / "repo", files)
    samples: dict[bool, list[float]] = {False: [], True: []}
    repository = GitRepository.open(root)
    (place / "home").mkdir()
    async with open_local_hands(repository, place / "state", home=place / "home") as hands:
        if hands.refusal_reason:
            sys.exit(hands.refusal_reason)
        workspace = await hands.open_workspace(CommitId(repository.read_head_commit()), Purpose("bench"))
        for turn in range(rounds + 1):
            for is_watched in (False, True):
                seconds = await time_run(workspace, files, is_watched)
                if turn:
                    samples[is_watched].append(seconds)
    return samples


async def time_run(workspace: LocalWorkspace, files: int, is_watched: bool) -> float:
    """Return the seconds of one run; leave if it did not see all files."""
    began = time.perf_counter()
    command = ShellCommand(line="python3 -m unittest -q", is_watched=is_watched, timeout_s=600)
    result = await run_command(workspace, command)
    seconds = time.perf_counter() - began
    if not result.is_success or (is_watched and len(result.opened or ()) < files):
        sys.exit(f"{result.ending} {result.exit_code} {result.detail} {len(result.opened or ())} files seen")
    return seconds


def create_repository(root: Path, files: int) -> Path:
    """Make a repository with a test that reads many files; return its path."""
    for number in range(files):
        folder = root / "cases" / str(number // FILES_PER_FOLDER)
        folder.mkdir(parents=True, exist_ok=True)
        numbers = list(range(number, number + 200))
        (folder / f"{number}.json").write_text(f'{{"numbers": {numbers}, "total": {sum(numbers)}}}')
    (root / "test_cases.py").write_text(TEST.format(rounds=OPENS // files))
    author = ("-c", "user.name=b", "-c", "user.email=b@b.invalid")
    for words in (("init", "-q"), ("add", "."), (*author, "commit", "-qm", "b")):
        subprocess.run(["git", *words], cwd=root, check=True)
    return root


if __name__ == "__main__":
    main()
