"""Measure what traces cost a run: without them, with a collector that takes them, a dead one and one that hangs.

    python -m bench.telemetry
    ROUNDS=9 TASKS=60 python -m bench.telemetry

Each is a whole run of a goal with real git and sandbox, whose models answer at once, so that nothing hides what traces
take. One process runs them all, one after the other: processes that do the same differ by a twentieth, and so does the
machine from minute to minute. All four take turns in each round, and another one begins each time; a round before them
does not count, in which the packages are loaded. CPU is that of the process with all that it starts. `thread` is the
CPU of the thread that sends, as a share of the run's. Leaves with 1 if the median of a dead collector, or of one that
hangs, is above 1.05 of the run without traces, or its thread takes more than 0.05.
"""

import json
import os
import resource
import socket
import subprocess
import sys
import tempfile
import threading
import time
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import anyio

from bench.measuring import Bar, Round, report_rounds, require_quiet_machine, run_rounds
from orchestrator.llm.scripted_model.script import ScriptedReply
from tests.running.collectors import collecting
from tests.running.goals import Bench, task
from tests.running.projects import calculator
from tests.running.scripts import judges, planner_ends, plans

MOST, MOST_SHARE = 1.05, 0.05
WAYS = ("plain", "live", "dead", "hanging")
Runner = subprocess.Popen[str]
"""A process that reads an endpoint a line, and prints the figures of a run that sends to it."""
_THREAD, _THREAD_END_S, _SAMPLE_S = "telemetry", 10.0, 0.05
BARS = [Bar(f"{way}_{figure}", MOST) for way in ("dead", "hanging") for figure in ("cpu", "wall")]
BARS += [Bar(f"{way}_thread", MOST_SHARE) for way in ("dead", "hanging")]


def main() -> None:
    """Measure, print, judge."""
    if len(sys.argv) > 1:
        run_for_endpoints(int(sys.argv[1]))
        return
    require_quiet_machine()
    words = [sys.executable, "-m", "bench.telemetry", os.environ.get("TASKS", "15")]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as runner:
        measure_round(runner, 0)
        measured = map(partial(measure_round, runner), count())
        rounds = run_rounds(int(os.environ.get("ROUNDS", "18")), partial(next, measured))
        runner.communicate()
    sys.exit(report_rounds("telemetry: a run with traces by one without", rounds, BARS))


def measure_round(runner: Runner, number: int) -> Round:
    """Run in each way; figures as shares of the run without traces."""
    turns = [WAYS[(number + place) % len(WAYS)] for place in range(len(WAYS))]
    found = {way: run_in_way(runner, way) for way in turns}
    plain = found["plain"]
    figures = {"plain_cpu_s": plain["cpu_s"], "plain_wall_s": plain["wall_s"]}
    for way in WAYS[1:]:
        figures[f"{way}_cpu"] = found[way]["cpu_s"] / plain["cpu_s"]
        figures[f"{way}_wall"] = found[way]["wall_s"] / plain["wall_s"]
        figures[f"{way}_thread"] = found[way]["thread_s"] / found[way]["cpu_s"]
    return figures


def run_in_way(runner: Runner, way: str) -> dict[str, float]:
    """Return the figures of a run without traces, or whose collector takes what it is sent, is dead, or hangs."""
    if way == "plain":
        return run_to_collector(runner, "-")
    if way == "dead":
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        return run_to_collector(runner, f"http://127.0.0.1:{port}")
    with collecting(delay_s=600.0 if way == "hanging" else 0.0) as collector:
        found = run_to_collector(runner, collector.endpoint)
        assert way == "hanging" or collector.named("invoke_workflow"), "the collector was sent no run"
        return found


def run_to_collector(runner: Runner, endpoint: str) -> dict[str, float]:
    """Return the figures of a run in the runner's process; `-` stands for no traces."""
    assert runner.stdin is not None
    assert runner.stdout is not None
    runner.stdin.write(f"{endpoint}\n")
    runner.stdin.flush()
    line = runner.stdout.readline()
    if not line:
        sys.exit("the process that runs has ended; what it said is above")
    figures: dict[str, float] = json.loads(line)
    return figures


def run_for_endpoints(tasks: int) -> None:
    """Run so many tasks for each endpoint that is read, and print the figures as a line of JSON."""
    for line in sys.stdin:
        wait_for_thread()
        print(json.dumps(anyio.run(measure_run, tasks, line.strip())), flush=True)


def wait_for_thread() -> None:
    """Wait until the thread of the run before has ended: one that hangs does so when its collector is closed."""
    until = time.monotonic() + _THREAD_END_S
    while any(thread.name == _THREAD for thread in threading.enumerate()):
        assert time.monotonic() < until, "the thread that sends does not end"
        time.sleep(_SAMPLE_S)


async def measure_run(tasks: int, endpoint: str) -> dict[str, float]:
    """CPU and wall seconds of a run of so many tasks; `-` stands for no traces."""
    names = [f"t{number}" for number in range(tasks)]
    replies: list[ScriptedReply] = [plans("root", *({"key": name} for name in names))]
    for name in names:
        replies += task(name)
    telemetry = {"enabled": endpoint != "-", "endpoint": endpoint.removeprefix("-")}
    settings: dict[str, Any] = {"telemetry": telemetry, "plan": {"max_children": tasks}}
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        bench = Bench(place, calculator(place / "repo"))
        cpu, begun, used = read_cpu_s(), time.monotonic(), {"thread_s": 0.0}
        async with anyio.create_task_group() as group:
            group.start_soon(watch_thread, used)
            ended = await bench.run(*replies, planner_ends(), judges(), **settings)
            group.cancel_scope.cancel()
        assert ended.exit_code == 0, ended.error or ended.state.ended
        return {"cpu_s": read_cpu_s() - cpu, "wall_s": time.monotonic() - begun, **used}


async def watch_thread(used: dict[str, float]) -> None:
    """Keep the CPU seconds of the thread that sends, as they grow."""
    while True:
        for thread in threading.enumerate():
            if thread.name == _THREAD:
                used["thread_s"] = read_thread_s(thread) or used["thread_s"]
        await anyio.sleep(_SAMPLE_S)


def read_thread_s(thread: threading.Thread) -> float:
    """CPU seconds of a thread; 0 if it is over."""
    try:
        ran = Path(f"/proc/self/task/{thread.native_id}/schedstat").read_text(encoding="ascii")
    except OSError:
        return 0.0
    return int(ran.split()[0]) / 1e9


def read_cpu_s() -> float:
    """CPU seconds of this process and of all that it has waited for."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


if __name__ == "__main__":
    main()
