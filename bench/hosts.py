"""Measure hosts against this machine alone, on the same cores: what a call costs more, and how long whole runs take.

    python -m bench.hosts
    FULL=1 python -m bench.hosts
    ROUNDS=9 FILES=300 TASKS=64 python -m bench.hosts

Two processes of one slot each are the hosts, and this machine is not used beside them; against them stands this machine
with two slots. The runs are a migration of `FILES` files with a codemod and a gate (that of `bench.migrate`), and a
goal of `TASKS` tasks with a worker each, all at the same time: three commands, a file and a gate for each task, and
scripted models that take a second for every reply. Every run is a process of its own, and both ways take turns.

Hosts wait for the run from before it begins, as they do between runs. Until they have joined nothing goes on: that time
counts, and is also shown apart. CPU is that of the engine and its hosts, with all that they started; of hosts from the
moment at which they wait. Leaves with 1 if half of the calls take more than 5 ms more, or if the median of a run on
hosts is above 1.15 of that on this machine.
"""

import json
import os
import resource
import socket
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import anyio

from bench.measuring import Bar, Round, report_rounds, require_quiet_machine, run_printing, run_rounds
from bench.migrate import CODEMOD, RECIPE, create_repository
from orchestrator.app.run_execution import RunExit, run_goal, run_migration
from orchestrator.domain.event.hosts import HostJoined, HostLeft
from orchestrator.journal.storage.event_store import read_all_events
from orchestrator.llm.scripted_model.script import ScriptedReply
from orchestrator.migrate.recipe import load_recipe
from orchestrator.project.options import Options
from tests.running.host_processes import HostProcess, create_certificates, run_host
from tests.running.projects import GATE_FLAGS, calculator
from tests.running.scripts import judges, planner_ends, plans, reviews, uses, worker_ends, write_script, writes

MOST, MOST_MORE_MS = 1.15, 5.0
CALLS = 200
HOSTS = ("one", "two")
RUNS = ("migration", "goal")
REPLY_S, CODEMOD_S = 1.0, 0.2
_WAIT_S = 120.0
_TICKS = os.sysconf("SC_CLK_TCK")


def main() -> None:
    """Measure, print, judge."""
    if len(sys.argv) > 1:
        print(json.dumps(measure_run(sys.argv[1], sys.argv[2] == "hosts", int(sys.argv[3]))))
        return
    require_quiet_machine()
    is_full = bool(os.environ.get("FULL"))
    sizes = {"migration": _read_count("FILES", 300 if is_full else 100), "goal": _read_count("TASKS", 64)}
    rounds = _read_count("ROUNDS", 2)
    calls = run_rounds(rounds, partial(measure_calls, CALLS))
    past = report_rounds("hosts: milliseconds of a call", calls, CALL_BARS)
    for run in RUNS:
        measured = run_rounds(rounds, partial(next, map(partial(measure_round, run, sizes[run]), count())))
        past |= report_rounds(f"hosts: a {run} of {sizes[run]}", measured, [Bar("wall", MOST)])
    sys.exit(past)


CALL_BARS = [Bar("read_more_p50_ms", MOST_MORE_MS), Bar("true_more_p50_ms", MOST_MORE_MS)]


def _read_count(name: str, usual: int) -> int:
    return int(os.environ.get(name, str(usual)))


def measure_calls(calls: int) -> Round:
    """Return what calls take here, and how much more on a host."""
    return run_printing([sys.executable, "-m", "bench.host_calls", str(calls)])


def measure_round(run: str, size: int, number: int) -> Round:
    """Run on this machine and on hosts, the first in every other round; `wall` and `cpu` are hosts by this machine."""
    ways = ["local", "hosts"]
    if number % 2:
        ways.reverse()
    found = {way: run_printing([sys.executable, "-m", "bench.hosts", run, way, str(size)]) for way in ways}
    figures = {f"{way}_{name}_s": found[way][f"{name}_s"] for name in ("wall", "cpu") for way in ("local", "hosts")}
    figures["hosts_join_s"] = found["hosts"]["join_s"]
    for name in ("wall", "cpu"):
        figures[name] = found["hosts"][f"{name}_s"] / found["local"][f"{name}_s"]
    return figures


def measure_run(run: str, on_hosts: bool, size: int) -> dict[str, float]:
    """Return wall and CPU seconds of one run, and those until all hosts have joined."""
    with tempfile.TemporaryDirectory(prefix="orchestrate-bench-") as folder, ExitStack() as stack:
        place = Path(folder)
        settings: dict[str, Any] = {"state": {"dir": str(place / "state")}, "hands": {"slots": len(HOSTS)}}
        prepare = prepare_migration if run == "migration" else prepare_goal
        hosts = list[HostProcess]()
        if on_hosts:
            settings["hosts"] = start_hosts(place, stack, hosts)
        carry_out = prepare(place, settings, size)
        cpu_s, begun, began_at = read_cpu_s(hosts), time.monotonic(), time.time()
        ended: RunExit = anyio.run(carry_out)
        figures = {"wall_s": time.monotonic() - begun, "cpu_s": read_cpu_s(hosts) - cpu_s}
        if ended.exit_code:
            sys.exit(f"the run did not end as done: {ended.error or ended.state.ended}")
        return {**figures, "join_s": read_join_s(ended, began_at) if on_hosts else 0.0}


def start_hosts(place: Path, stack: ExitStack, hosts: list[HostProcess]) -> dict[str, Any]:
    """Start all hosts, and wait until they wait for a run; return the section of its configuration."""
    create_certificates(place / "certs", HOSTS)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    for name in HOSTS:
        hosts.append(stack.enter_context(run_host(place / name, place / "certs", address, name, slots=1)))
    until = time.monotonic() + _WAIT_S
    while not all("waiting for a run" in host.log.read_text() for host in hosts):
        if time.monotonic() > until:
            sys.exit(f"the hosts do not wait for a run: {[host.log.read_text() for host in hosts]}")
        time.sleep(0.05)
    return {"listen": address, "certs": str(place / "certs" / "brain"), "use_this_machine": False, "lost_after_s": 120}


def prepare_migration(place: Path, settings: dict[str, Any], files: int) -> "partial[Any]":
    """Make a repository of so many files; return what migrates it."""
    root, recipe = place / "repository", place / "recipe.toml"
    root.mkdir()
    create_repository(root, files)
    recipe.write_text(RECIPE.format(codemod=CODEMOD.format(seconds=CODEMOD_S)))
    return partial(run_migration, Options(root, settings), load_recipe(recipe))


def prepare_goal(place: Path, settings: dict[str, Any], tasks: int) -> "partial[Any]":
    """Make a repository and the script of so many tasks; return what works on them, all at the same time."""
    names = [f"t{number}" for number in range(tasks)]
    script: list[ScriptedReply] = [plans("root", *({"key": name} for name in names))]
    for name in names:
        script += build_task(name)
    model = {"model": write_script(place / "script.json", [*script, planner_ends(), judges()])}
    settings |= {
        "gate": GATE_FLAGS,
        "roles": {"planner": model, "worker": model, "judge": model},
        "run": {"max_workers": tasks},
        "plan": {"max_children": tasks, "debounce_s": 3600},
    }
    return partial(run_goal, Options(calculator(place / "repository"), settings), "write many files", None)


def build_task(name: str) -> Sequence[ScriptedReply]:
    """Return a worker who looks around, writes a file, runs the tests and ends; and its reviewer."""
    looks = uses("worker", name, "shell", command="ls; cat calc.py")
    counts = uses("worker", name, "shell", command="git status --short; wc -l calc.py test_calc.py")
    tests = uses("worker", name, "shell", command="python3 -m unittest -q")
    said = [looks, counts, writes(name, f"{name}.txt", f"{name}\n"), tests, worker_ends(name), reviews(name)]
    return [one.model_copy(update={"delay_s": REPLY_S}) for one in said]


def read_join_s(ended: RunExit, began_at: float) -> float:
    """Return the seconds until the last host had joined; leave if one did not, or was lost."""
    events = list(read_all_events(ended.directory.journal))
    joined = [one.at.timestamp() for one in events if isinstance(one.event, HostJoined)]
    left = [one.event for one in events if isinstance(one.event, HostLeft) and one.event.cause != "closed"]
    if len(joined) != len(HOSTS) or left:
        sys.exit(f"{len(joined)} hosts joined, and others left: {left}")
    return max(joined) - began_at


def read_cpu_s(hosts: Sequence[HostProcess]) -> float:
    """Return the CPU seconds of this process and of hosts, with all that each of them has waited for."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    ticks = 0
    for host in hosts:
        fields = Path(f"/proc/{host.process.pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
        ticks += sum(map(int, fields[11:15]))
    return sum(one.ru_utime + one.ru_stime for one in used) + ticks / _TICKS


if __name__ == "__main__":
    main()
