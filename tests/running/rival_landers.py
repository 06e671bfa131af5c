"""Rivals that land the same candidates on one branch, each killed and started again until nothing is left to land.

    python -m tests.running.rival_landers PLACE NAME SEED [MUTATION]

`PLACE` was made by `plant`. This process keeps one rival: it forks it when everything is imported, so that a life is
short and yet does something, kills it with `kill -9` after 80 to 500 ms, now and then with its git, and forks it again.
"""

import json
import os
import random
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import NoReturn

import anyio

from orchestrator.domain.event.landing import LandingFinished, LandingStarted
from orchestrator.domain.event.run import EffectAbandoned
from orchestrator.domain.ids import CommitId, RunId, TreeId, UnitId
from orchestrator.domain.judging.check import Difference
from orchestrator.journal.journal import Journal
from orchestrator.queue import pr_branch
from orchestrator.queue.candidate_order import CandidateFacts
from orchestrator.queue.parallel_round import ParallelOptions
from orchestrator.queue.pr_branch import PrBranch
from tests.running.landers import RUN, QuickGate, composer_of, open_parallel_lander
from tests.running.projects import git
from worktrees.git import Git
from worktrees.locks import git_lock_files
from worktrees.object_store.merge import is_ancestor
from worktrees.ref_store.refs import read_ref, remove_dead_ref_locks, set_ref

BRANCH = "orchestrate/rivals"
RIVALS = 2
_LIFE_S = (0.08, 0.5)
_USUAL_BEGINNING_S = 0.25
_MOST_UNITS = 8
_SLOTS = 2
_LONGEST_S = 600.0
_GAP_S = 0.3
"""So wide at most a mutation opens the gap into which a rival can come."""


@dataclass(frozen=True)
class Ground:
    """Where rivals meet: a repository, its candidates, and the file in which their gates record what passed."""

    place: Path

    @property
    def repository(self) -> Path:
        return self.place / "repository"

    @property
    def passes(self) -> Path:
        return self.place / "passes"

    @property
    def base(self) -> str:
        return git(self.repository, "rev-parse", "main")

    def candidates(self) -> dict[UnitId, CommitId]:
        """Every candidate in order, by its unit."""
        found = json.loads((self.place / "candidates.json").read_text())
        return {UnitId(unit): CommitId(commit) for unit, commit in found.items()}


def is_red(number: int) -> bool:
    """Some candidates add a test that fails."""
    return number % 13 == 5


def is_clashing(number: int) -> bool:
    """Some candidates change the same line: one of them can land."""
    return number % 17 == 3


def plant(place: Path, count: int) -> Ground:
    """A repository with `count` candidates on its base."""
    ground = Ground(place)
    ground.repository.mkdir(parents=True)
    git(ground.repository, "init", "-q", "-b", "main")
    git(ground.repository, "config", "core.logAllRefUpdates", "always")
    who = "committer test <test@localhost> 1700000000 +0000\n"
    parts = [f"commit refs/heads/main\nmark :1\n{who}data 4\nbase\nM 100644 inline shared.txt\ndata 5\nbase\n\n"]
    for number in range(count):
        parts.append(f"commit refs/candidates/{number:04d}\n{who}data 4\nwork\nfrom :1\n")
        parts.append(_add_file(f"f/{number % 20}/{number}.txt", number))
        if is_red(number):
            parts.append(_add_file(f"red/{number}.txt", number))
        elif is_clashing(number):
            parts.append(_add_file("shared.txt", number))
        parts.append("\n")
    words = ["git", "fast-import", "--quiet"]
    subprocess.run(words, cwd=ground.repository, input="".join(parts).encode(), check=True)
    tips = git(ground.repository, "for-each-ref", "--format=%(objectname)", "refs/candidates").split()
    named = {f"task-{number}@1": tip for number, tip in enumerate(tips)}
    (place / "candidates.json").write_text(json.dumps(named))
    ground.passes.touch()
    return ground


def _add_file(path: str, number: int) -> str:
    text = f"by {number}\n"
    return f"M 100644 inline {path}\ndata {len(text)}\n{text}"


def keep_rival(ground: Ground, name: str, seed: int, mutation: str = "") -> int:
    """Have a rival live until it has ended by itself; return its exit code."""
    chance, until = random.Random(seed), time.monotonic() + _LONGEST_S
    _await_rivals(ground, name, until)
    while time.monotonic() < until:
        ready, told = os.pipe()
        begun, child = time.monotonic(), os.fork()
        if child == 0:
            os.close(ready)
            _live(ground, name, chance.random(), mutation, partial(os.write, told, b"!"))
        os.close(told)
        os.read(ready, 1)  # ends as well when the rival has ended
        os.close(ready)
        life_s = chance.uniform(*_LIFE_S) * _measure_slowness(time.monotonic() - begun)
        code = _await_or_kill(child, life_s, with_git=chance.random() < 0.7)
        if code is not None:
            return code
        with (ground.place / "kills").open("a") as kills:
            kills.write(f"{name}\n")
    return 4


def _await_rivals(ground: Ground, name: str, until: float) -> None:
    """Wait until all rivals are there, so that none has done everything before another one begins."""
    (ground.place / f"{name}.there").touch()
    while len(list(ground.place.glob("*.there"))) < RIVALS and time.monotonic() < until:
        time.sleep(0.01)


def _measure_slowness(beginning_s: float) -> float:
    """Return by how much a rival is slower than on a machine of its own, by the time that it took to begin."""
    return min(max(beginning_s / _USUAL_BEGINNING_S, 1.0), 10.0)


def _await_or_kill(child: int, life_s: float, *, with_git: bool) -> int | None:
    """Return the exit code of a rival that ended within its life; None if it had to be killed."""
    until = time.monotonic() + life_s
    while time.monotonic() < until:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.005)
    os.kill(child, signal.SIGSTOP)
    started = _list_children(child) if with_git else []
    os.kill(child, signal.SIGKILL)
    for process in started:
        with suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)
    os.waitpid(child, 0)
    return None


def _list_children(process: int) -> list[int]:
    found = []
    with suppress(OSError):
        for thread in Path(f"/proc/{process}/task").iterdir():
            found += map(int, (thread / "children").read_text().split())
    return found


def _live(ground: Ground, name: str, chance: float, mutation: str, say_ready: Callable[[], object]) -> NoReturn:
    """Live to the end of this process; an error is in the rival's log and in the exit code."""
    code = 3
    try:
        git_lock_files._GRACE_S = 0.1  # type: ignore[misc]
        MUTATIONS[mutation]()
        anyio.run(_land_all, ground, name, chance, say_ready)
        code = 0
    finally:
        if code:
            with (ground.place / f"{name}.log").open("a") as log:
                traceback.print_exc(file=log)
        os._exit(code)


async def _land_all(ground: Ground, name: str, chance: float, say_ready: Callable[[], object]) -> None:
    candidates, draw = ground.candidates(), random.Random(chance)
    gate = QuickGate(partial(_judge, ground))
    plain = Git(ground.repository / ".git")
    await remove_dead_ref_locks(plain, [f"refs/heads/{BRANCH}", f"refs/orchestrate/{RUN}/fence-{name}"])
    at = (ground.repository, ground.place / f"journal-{name}", BRANCH, ground.base, gate, name)
    async with open_parallel_lander(*at) as (lander, journal):
        await _settle(journal, plain)
        say_ready()
        composer, options = composer_of(plain, candidates), ParallelOptions(lambda: _SLOTS)
        while left := _list_left(journal, candidates):
            units = left[: draw.randint(1, _MOST_UNITS)]
            facts = [CandidateFacts(unit, age=age) for age, unit in enumerate(units)]
            await lander.land_candidates(f"round {len(journal.state.trials)}", facts, composer, options)


def _list_left(journal: Journal, candidates: Mapping[UnitId, CommitId]) -> list[UnitId]:
    ended = journal.state.landed_units.union(ejected.unit for ejected in journal.state.ejections)
    return [unit for unit in candidates if unit not in ended]


async def _settle(journal: Journal, plain: Git) -> None:
    """Settle a landing of which nobody saw the end, as recovery does."""
    for intent in list(journal.state.open_intents.values()):
        tip = await read_ref(plain, f"refs/heads/{BRANCH}")
        assert isinstance(intent, LandingStarted)
        if tip and await is_ancestor(plain, intent.new, tip):
            told = intent.model_dump(include={"key", "branch", "new", "tree", "units", "parts"})
            await journal.append(LandingFinished(**told))
        else:
            await journal.append(EffectAbandoned(key=intent.key, reason="the rival was killed"))


@cache
def _judge(ground: Ground, _commit: CommitId, tree: TreeId) -> Difference:
    """Red by the files that say so; what is green is recorded before anybody hears of it."""
    red = git(ground.repository, "ls-tree", "-r", "--name-only", tree, "red/").split()
    if red:
        return Difference(new_failures=tuple(red))
    descriptor = os.open(ground.passes, os.O_WRONLY | os.O_APPEND)
    try:
        os.write(descriptor, f"{tree}\n".encode())
    finally:
        os.close(descriptor)
    return Difference()


# --- mutations: each takes out what keeps two rivals from harm, and must be noticed ----------------------------------


async def _wait_for_rival(plain: Git, ref: str) -> None:
    """Wait until a rival moves the branch, or the gap is over."""
    before = await read_ref(plain, ref)
    with anyio.move_on_after(_GAP_S):
        while await read_ref(plain, ref) == before:  # noqa: ASYNC110  a rival is another process
            await anyio.sleep(0.01)


def _read_landed_before_old() -> None:
    read_tip, read_landed = PrBranch.read_tip, PrBranch.read_landed_units
    held: dict[str, frozenset[UnitId]] = {}

    async def read_tip_late(self: PrBranch, landed: CommitId | None) -> CommitId | None:
        early = await read_ref(self.repository.git, self.ref)
        held["units"] = await read_landed(self, RUN, CommitId(early) if early else None)
        await _wait_for_rival(self.repository.git, self.ref)
        return await read_tip(self, landed)

    async def read_held(_self: PrBranch, _run: RunId, _tip: CommitId | None) -> frozenset[UnitId]:
        return held["units"]

    PrBranch.read_tip = read_tip_late  # type: ignore[method-assign]
    PrBranch.read_landed_units = read_held  # type: ignore[method-assign]


def _move_without_old() -> None:
    async def move(plain: Git, ref: str, new: str, *_: object) -> None:
        await _wait_for_rival(plain, ref)
        await set_ref(plain, ref, new)

    pr_branch.move_ref = move  # type: ignore[attr-defined]


def _change_nothing() -> None:
    """The product as it is."""


MUTATIONS: Mapping[str, Callable[[], None]] = {
    "": _change_nothing,
    "landed-before-old": _read_landed_before_old,
    "no-old-value": _move_without_old,
}


if __name__ == "__main__":
    place, name, seed, *mutation = sys.argv[1:]
    sys.exit(keep_rival(Ground(Path(place)), name, int(seed), *mutation))
