"""Killing Orchestrate with SIGKILL and resuming it, as power cuts and impatient people do."""

import os
import random
import re
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from orchestrator.crash import CRASH_POINT_VARIABLE
from orchestrator.domain.effects import CRASH_POINTS
from orchestrator.domain.event.base import Intent
from orchestrator.domain.event.landing import LandingFinished
from orchestrator.domain.event.memory import GuideChanged
from orchestrator.domain.event.people import CommandTaken
from orchestrator.domain.event.run import EngineStarted, Noticed
from orchestrator.domain.fold.projection import fold_events
from orchestrator.journal.storage.event_store import read_all_events
from tests.running.cli import COMMAND, Finished, orchestrate

_KEPT = re.compile(r"setup: .* kept as ")


@dataclass(frozen=True)
class Start:
    """How a run is started: its own words, and those that every verb about it needs."""

    words: Sequence[str]
    where: Sequence[str]
    cwd: Path
    env: Mapping[str, str]

    def begin(self) -> subprocess.Popen[bytes]:
        """Start the run and do not wait for it."""
        return subprocess.Popen(
            [*COMMAND, *self.words, *self.where],
            cwd=self.cwd,
            env=dict(self.env),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def to_the_end(self) -> tuple[Finished, float]:
        """Run without a disturbance; the result and how many seconds it took."""
        began = time.monotonic()
        done = orchestrate(*self.words, *self.where, "--json", cwd=self.cwd, env=self.env)
        return done, time.monotonic() - began

    def resume(self) -> Finished:
        """Go on; a run that died before its first event is started again, as a person would."""
        done = orchestrate("resume", *self.where, "--json", cwd=self.cwd, env=self.env)
        if done.code == 2 and ("no run of this repository" in done.err or "before its first event" in done.err):
            return self.to_the_end()[0]
        return done


def die(start: Start, moment: str, words: Sequence[str]) -> bool:
    """Work on the run until the moment comes; whether it came."""
    done = orchestrate(*words, *start.where, cwd=start.cwd, env={**start.env, CRASH_POINT_VARIABLE: moment})
    return done.code == -signal.SIGKILL or "ended without a word (signal 9)" in done.err


def kill_after(start: Start, seconds: float) -> bool:
    """Start the run and kill it with SIGKILL after so many seconds; whether it was still running then."""
    process = start.begin()
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGKILL)
        process.wait()
        kill_engines(start.cwd)
        return True
    return False


def kill_engines(place: Path) -> int:
    """Kill every engine that works on a run with its state below `place`; how many there were.

    A child that has not become another program yet looks like its engine, and is not counted.
    """
    engines = [int(entry.name) for entry in Path("/proc").glob("[0-9]*") if _is_engine(entry, place)]
    count = sum(_parent(engine) not in engines for engine in engines)
    for engine in engines:
        with suppress(ProcessLookupError):  # it came to its end by itself
            os.kill(engine, signal.SIGKILL)
    while any(_is_engine(Path("/proc", str(engine)), place) for engine in engines):
        time.sleep(0.01)
    return count


def _parent(process: int) -> int:
    with suppress(OSError):
        return int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])
    return 0


def _is_engine(entry: Path, place: Path) -> bool:
    try:
        words = (entry / "cmdline").read_bytes().decode(errors="replace").split("\0")
    except OSError:
        return False
    return "engine" in words and any(word.startswith(f"{place}/") for word in words)


def moments(count: int, duration_s: float, seed: int) -> list[float]:
    """Random moments of a run, one in each of `count` equal parts of it."""
    draw = random.Random(seed)
    return [(part + draw.random()) * duration_s / count for part in range(count)]


def processes_about(place: Path) -> list[str]:
    """Command lines of processes that have this directory as a word or work in it."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            words = (entry / "cmdline").read_bytes().decode(errors="replace").replace("\0", " ")
            cwd = str((entry / "cwd").readlink())
        except OSError:
            continue
        if int(entry.name) != os.getpid() and (str(place) in words or cwd.startswith(str(place))):
            found.append(words)
    return found


def landed_more_than_once(journal: Path) -> list[str]:
    """Units that the journal says landed twice."""
    landed = (one.event.units for one in read_all_events(journal) if isinstance(one.event, LandingFinished))
    return [unit for unit, count in Counter(unit for units in landed for unit in units).items() if count > 1]


def unsettled(journal: Path) -> list[str]:
    """Effects that are still open at the end, and keys that were used for two."""
    events = list(read_all_events(journal))
    begun = Counter(recorded.event.key for recorded in events if isinstance(recorded.event, Intent))
    return [*fold_events(events).open_intents, *(key for key, count in begun.items() if count > 1)]


def passed(journal: Path) -> Counter[str]:
    """The crash points that the latest process of a run came by, each with how often at least."""
    events = [recorded.event for recorded in read_all_events(journal)]
    latest = events[max(place for place, event in enumerate(events) if isinstance(event, EngineStarted)) :]
    times = Counter(event.effect for event in latest if isinstance(event, Intent))
    times["inbox"] = sum(isinstance(event, CommandTaken) for event in latest)
    times["setup"] = sum(isinstance(event, Noticed) and bool(_KEPT.match(event.text)) for event in latest)
    times["guide"] = sum(isinstance(event, GuideChanged) for event in latest)
    times |= dict.fromkeys(("engine", "recovery", "journal"), 1)
    return Counter({name: times[name.partition(".")[0]] for name in CRASH_POINTS})


def terminal(result: Mapping[str, Any]) -> dict[str, Any]:
    """What must be the same however often a run was cut off."""
    files = result["files"]
    return {
        "outcome": result["outcome"],
        "exit": result["exit"],
        "landed": sorted(files["landed"]),
        "rejected": sorted(file["path"] for file in files["rejected"]),
        "tasks": result["tasks"],
    }


def as_json(finished: Finished) -> dict[str, Any]:
    """The result object; shows what was said when there is none."""
    assert finished.out.strip(), finished.err[-3000:]
    result: dict[str, Any] = finished.json
    return result
