"""What the sandbox costs: wall time of a command beside plain exec of it, and of file tools beside plain open.

    python -m bench.hands [--rounds 100]

Started by root it measures as root and as a normal user. Leaves with 1 if a bound is passed on an idle machine; on a
busy one the numbers are shown and bounds are not judged.
"""

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

import anyio

from orchestrator.domain.ids import CommitId
from orchestrator.domain.purpose import Purpose
from orchestrator.hands.execution.workspace_runner import run_command
from orchestrator.hands.local import open_local_hands
from orchestrator.hands.policy import CommandLimits, SandboxGrant
from orchestrator.hands.workspace import LocalWorkspace
from orchestrator.ports.hands import ShellCommand
from worktrees.repositories.repository import GitRepository

SOURCE = Path(__file__).parents[1]
BOUNDS_MS = {True: 25.0, False: 15.0}
"""Median overhead of a command, as root and otherwise."""
USER = 65534
LINES = {"true": "true", "git status": "git status --short", "python": "python3 -I -S -c pass"}
FILE_BYTES = 20_000
IDLE = 0.85
"""Share of the processors' time that must be idle before and between the measurements for bounds to count."""

Samples = dict[str, list[float]]


def main() -> None:
    """Measure, print, judge."""
    options = argparse.ArgumentParser()
    options.add_argument("--rounds", type=int, default=100)
    options.add_argument("--place", type=Path, help=argparse.SUPPRESS)
    given = options.parse_args()
    if given.place:
        print(json.dumps(anyio.run(measure, given.place, given.rounds)))
        return
    is_root = os.geteuid() == 0
    print(f"load average {', '.join(f'{one:.2f}' for one in os.getloadavg())} on {os.cpu_count()} cores")
    judged = [report(True, given.rounds)] if is_root else []
    judged.append(report(False, given.rounds))
    sys.exit(0 if all(judged) else 1)


def report(as_root: bool, rounds: int) -> bool:
    """Measure in a process of its own; whether the bound was kept or does not count."""
    idle = [idle_share()]
    samples = measured(as_root, rounds)
    idle.append(idle_share())
    bound = BOUNDS_MS[as_root]
    print(f"\nas {'root' if as_root else 'a normal user'}, {rounds} rounds in random order, milliseconds")
    print(f"{'':24} {'median':>8} {'min':>8} {'plain':>8} {'overhead':>9} {'ratio':>7}")
    for name in LINES:
        row(f"command: {name}", samples[f"hands {name}"], samples[f"plain {name}"])
    row("command: true, limited", samples["hands limited"], samples["plain true"])
    for name in ("read", "write"):
        row(f"file tool: {name}", samples[f"hands {name}"], samples[f"plain {name}"])
    over = statistics.median(samples["hands true"]) - statistics.median(samples["plain true"])
    is_idle = min(idle) >= IDLE
    told = "kept" if over <= bound else "passed"
    print(f"median overhead {over:.1f} ms, bound {bound:.0f} ms: {told}", end="")
    print("" if is_idle else f"; the machine is not idle ({min(idle):.0%}), so this does not count")
    return over <= bound or not is_idle


def row(name: str, ours: list[float], plain: list[float]) -> None:
    """One line of the table."""
    ms, beside = statistics.median(ours), statistics.median(plain)
    print(f"{name:24} {ms:8.2f} {min(ours):8.2f} {beside:8.2f} {ms - beside:9.2f} {ms / beside:7.1f}")


def idle_share(seconds: float = 1.0) -> float:
    """The share of the processors' time that nobody used for a while."""

    def ticks() -> tuple[int, int]:
        numbers = [int(word) for word in Path("/proc/stat").read_text(encoding="ascii").splitlines()[0].split()[1:]]
        return numbers[3] + numbers[4], sum(numbers)

    before = ticks()
    time.sleep(seconds)
    idle, total = (now - then for now, then in zip(ticks(), before, strict=True))
    return idle / total


def measured(as_root: bool, rounds: int) -> Samples:
    """Samples of a process of ours, started as the user that is asked for."""
    prefix = as_a_normal_user() if os.geteuid() == 0 and not as_root else ()
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        place = Path(folder) / "place"
        place.mkdir(mode=0o755)
        if prefix:
            os.chown(place, USER, USER)
        words = [*prefix, sys.executable, "-m", "bench.hands", "--rounds", str(rounds), "--place", str(place)]
        environment = {"PATH": os.environ.get("PATH", "/usr/bin:/bin"), "HOME": str(place)}
        done = subprocess.run(words, stdout=subprocess.PIPE, text=True, check=False, cwd=SOURCE, env=environment)
    if done.returncode:
        sys.exit(f"the measurement exits {done.returncode}")
    found: Samples = json.loads(done.stdout.splitlines()[-1])
    return found


def as_a_normal_user() -> tuple[str, ...]:
    """Starts a command as a user without rights who can read our interpreter and this source, wherever they are."""
    needed = {place: closed_above(place) for place in (Path(sys.base_prefix), Path(sys.prefix), SOURCE)}
    words = ["bwrap", "--dev-bind", "/", "/"]
    for hidden in sorted({closed for closed in needed.values() if closed}):
        words += ["--tmpfs", str(hidden), "--chmod", "0755", str(hidden)]
    for place, closed in needed.items():
        if closed:
            words += [word for folder in between(closed, place) for word in ("--perms", "0755", "--dir", str(folder))]
            words += ["--ro-bind", str(place), str(place)]
    drop = ("setpriv", "--reuid", str(USER), "--regid", str(USER), "--clear-groups")
    return (*words, "--chdir", str(SOURCE), "--", *drop)


def between(closed: Path, place: Path) -> list[Path]:
    """The directories on the way from one to the other, the outermost first."""
    return [folder for folder in reversed(place.parents) if folder != closed and folder.is_relative_to(closed)]


def closed_above(place: Path) -> Path | None:
    """The outermost directory above a place into which other users may not look."""
    return next((parent for parent in reversed(place.parents) if not parent.stat().st_mode & 0o001), None)


def prepared(place: Path) -> Path:
    """A repository with two files, beside an empty home."""
    root = place / "repo"
    for folder in (root, place / "home"):
        folder.mkdir()
    (root / "file").write_text("x\n", encoding="ascii")
    (root / "data").write_bytes(b"x" * FILE_BYTES)
    author = ("-c", "user.name=b", "-c", "user.email=b@b.invalid")
    for words in (("init", "-q"), ("add", "."), (*author, "commit", "-qm", "b")):
        subprocess.run(["git", *words], cwd=root, check=True)
    return root


async def measure(place: Path, rounds: int) -> Samples:
    """Milliseconds of everything, in random order."""
    root, home = prepared(place), place / "home"
    repository = GitRepository.open(root)
    limited = SandboxGrant(limits=CommandLimits(memory_bytes=1024**3, cpu_s=60))
    async with (
        open_local_hands(repository, place / "state", home=home) as hands,
        open_local_hands(repository, place / "limited", limited, home=home) as others,
    ):
        if hands.refusal_reason:
            sys.exit(hands.refusal_reason)
        print(others.policy_summary["program"], file=sys.stderr)
        ours, theirs = [
            await one.open_workspace(CommitId(repository.read_head_commit()), Purpose("bench"))
            for one in (hands, others)
        ]
        return await sample(kinds(ours, theirs, root), rounds)


def kinds(ours: LocalWorkspace, limited: LocalWorkspace, root: Path) -> dict[str, Callable[[], Awaitable[object]]]:
    """What is measured, by name."""

    async def read() -> None:
        (root / "data").read_bytes()

    async def write() -> None:
        (root / "data").write_bytes(b"y" * FILE_BYTES)

    found: dict[str, Callable[[], Awaitable[object]]] = {
        "plain read": read,
        "plain write": write,
        "hands read": lambda: ours.read_file("data"),
        "hands write": lambda: ours.write_file("data", b"y" * FILE_BYTES),
        "hands limited": lambda: sandboxed(limited, "true"),
    }
    for name, line in LINES.items():
        found[f"plain {name}"] = lambda line=line: plain(line, root)  # type: ignore[misc]
        found[f"hands {name}"] = lambda line=line: sandboxed(ours, line)  # type: ignore[misc]
    return found


async def plain(line: str, root: Path) -> None:
    """The same command line without a sandbox."""
    words: Sequence[str] = ("/bin/bash", "-c", line)
    pipe = subprocess.PIPE
    subprocess.run(words, cwd=root, stdin=subprocess.DEVNULL, stdout=pipe, stderr=subprocess.STDOUT, check=True)  # noqa: ASYNC221


async def sandboxed(workspace: LocalWorkspace, line: str) -> None:
    """The command as a worker's."""
    result = await run_command(workspace, ShellCommand(line=line))
    if not result.is_success:
        sys.exit(f"{line}: {result.ending} {result.exit_code} {result.detail}")


async def sample(what: dict[str, Callable[[], Awaitable[object]]], rounds: int) -> Samples:
    """Run everything `rounds` times, after one round that does not count."""
    samples: Samples = {name: [] for name in what}
    for turn in range(rounds + 1):
        for name in random.sample(list(what), len(what)):
            began = time.perf_counter()
            await what[name]()
            if turn:
                samples[name].append((time.perf_counter() - began) * 1000)
    return samples


if __name__ == "__main__":
    main()
