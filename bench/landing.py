"""Measure landings without a gate's time: the real lander on a large repository, per second of CPU on one core.

    python -m bench.landing
    FILES=75000 CANDIDATES=500 python -m bench.landing

Each candidate changes one file of its own. They are queued all together, and then one at a time, as their judges would
send them. CPU counts git's processes, too. A `git merge` of such candidates in a worktree of the same repository is the
yardstick. A repository of a fiftieth of the files shows that a landing's work does not grow with the tree.
"""

import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import anyio

from orchestrator.domain.ids import CommitId, UnitId
from tests.running.landers import QuickGate, composer_of, open_lander
from worktrees.repositories.repository import GitRepository

WIDTH = 42
"""So many entries has each directory, three levels deep."""
MERGES = 10
LEAST_PER_S = 20.0
MOST_GROWTH = 1.5


@dataclass(frozen=True)
class Figures:
    """The costs of one landing."""

    cpu_ms: float
    wall_ms: float
    processes: float
    written_kb: float


class Meter:
    """Adds up what is used from its beginning on, processes that have ended included."""

    def __init__(self) -> None:
        self._begun = self._read()

    def read(self, count: int) -> Figures:
        """Return what each of `count` landings cost."""
        cpu, wall, processes, written = (
            (now - before) / count for now, before in zip(self._read(), self._begun, strict=True)
        )
        return Figures(cpu * 1000, wall * 1000, processes, written / 1024)

    def _read(self) -> tuple[float, float, int, int]:
        used = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
        io = dict(line.split(": ") for line in Path("/proc/self/io").read_text().splitlines())
        return sum(one.ru_utime + one.ru_stime for one in used), time.monotonic(), len(_started), int(io["wchar"])


_started: list[None] = []
"""As many entries as processes have been started."""


def _count_processes() -> None:
    """Count every git process from now on."""
    popen = subprocess.Popen.__init__

    def start_counted(self: "subprocess.Popen[bytes]", *args: object, **more: object) -> None:
        _started.append(None)
        popen(self, *args, **more)  # type: ignore[call-overload]

    subprocess.Popen.__init__ = start_counted  # type: ignore[method-assign,assignment]


def main() -> int:
    """Print the figures; return 1 if one of them is past its bound."""
    files, candidates = int(os.environ.get("FILES", "75000")), int(os.environ.get("CANDIDATES", "500"))
    _count_processes()
    with tempfile.TemporaryDirectory(prefix="orchestrate-bench-") as name:
        scratch = Path(name)
        large = _measure(scratch / "large", files, candidates, "together")
        single = _measure(scratch / "large", files, max(candidates // 5, 20), "one at a time")
        small = _measure(scratch / "small", files // 50, candidates, "together")
        merge_ms = _measure_merges(scratch / "large")
    per_s, growth = 1000 / large.cpu_ms, large.written_kb / small.written_kb
    print(f"git merge in a worktree of {files} files: {merge_ms:.0f} ms of CPU, {merge_ms / large.cpu_ms:.0f} times as")
    print(f"  much as a landing together with others, {merge_ms / single.cpu_ms:.0f} times as much as one alone")
    print(f"{per_s:.0f} landings a second and core (at least {LEAST_PER_S:.0f}), {1000 / single.cpu_ms:.0f} one by one")
    print(f"of {files // 50} files: {growth:.2f} times the bytes (at most {MOST_GROWTH}), same number of processes")
    grows = large.processes > small.processes + 0.1 or growth > MOST_GROWTH
    return int(per_s < LEAST_PER_S or grows)


def _measure(root: Path, files: int, count: int, how: str) -> Figures:
    """Land candidates on a new branch; `how` says whether together or one at a time."""
    if not root.exists():
        _make_repository(root, files, count)
    figures = anyio.run(_land, root, count, how)
    print(f"{count} landings {how}, {files} files: {figures.cpu_ms:.1f} ms of CPU each, {figures.wall_ms:.1f} ms,")
    print(f"  {figures.processes:.1f} processes, {figures.written_kb:.1f} KB written", flush=True)
    return figures


async def _land(root: Path, count: int, how: str) -> Figures:
    base = _git(root, "rev-parse", "main")
    tips = _git(root, "for-each-ref", "--format=%(objectname)", f"--count={count}", "refs/candidates").split()
    candidates = {UnitId(f"task-{number}@1"): CommitId(tip) for number, tip in enumerate(tips)}
    composer = composer_of(GitRepository.open(root).git, candidates)
    branch = f"orchestrate/{how.replace(' ', '-')}"
    async with open_lander(root, root.parent / f"{root.name}-{how[:3]}", branch, base, QuickGate()) as (lander, _):
        meter = Meter()
        if how == "together":
            landed = list((await lander.land_units("round", tuple(candidates), composer)).landed)
        else:
            landed = []
            for number, unit in enumerate(candidates):
                landed += (await lander.land_units(f"round {number}", [unit], composer)).landed
        figures = meter.read(count)
    if len(landed) != count:
        raise SystemExit(f"{len(landed)} of {count} landed")
    return figures


def _measure_merges(root: Path) -> float:
    """Return the milliseconds of CPU of one `git merge` in a worktree."""
    place = root.parent / "worktree"
    _git(root, "worktree", "add", "-q", "--detach", str(place), "main")
    tips = _git(root, "for-each-ref", "--format=%(objectname)", f"--count={MERGES}", "refs/candidates").split()
    _git(place, "status", "--porcelain")
    meter = Meter()
    for tip in tips:
        _git(place, "merge", "-q", "--no-edit", tip)
    return meter.read(len(tips)).cpu_ms


def _make_repository(root: Path, files: int, candidates: int) -> None:
    root.mkdir()
    _git(root, "init", "-q", "-b", "main")
    stream = "".join(_write_history(files, candidates)).encode()
    subprocess.run(["git", "fast-import", "--quiet"], cwd=root, input=stream, check=True)


def _write_history(files: int, candidates: int) -> Iterator[str]:
    """Yield what git fast-import makes the base and the candidates of."""
    who = "committer bench <bench@localhost> 1700000000 +0000\n"
    yield f"blob\nmark :1\ndata 2\nx\n\ncommit refs/heads/main\nmark :2\n{who}data 4\nbase\n"
    yield "".join(f"M 100644 :1 {_name_file(number)}\n" for number in range(files))
    yield "\n"
    step = max(files // candidates, 1)
    for number in range(candidates):
        text = f"{number}\n"
        yield f"commit refs/candidates/{number:05d}\n{who}data 4\nwork\nfrom :2\n"
        yield f"M 100644 inline {_name_file(number * step % files)}\ndata {len(text)}\n{text}\n\n"


def _name_file(number: int) -> str:
    upper, low = divmod(number, WIDTH)
    high, middle = divmod(upper, WIDTH)
    return f"d{high:02d}/d{middle:02d}/f{low:02d}.txt"


def _git(root: Path, *words: str) -> str:
    who = ("-c", "user.name=bench", "-c", "user.email=bench@localhost")
    return subprocess.run(["git", *who, *words], cwd=root, capture_output=True, text=True, check=True).stdout.strip()


if __name__ == "__main__":
    sys.exit(main())
