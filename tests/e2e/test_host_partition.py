"""A host is cut off from its brain for a minute: nothing is lost, nothing stale lands, and it comes back.

Brain and hosts run in network namespaces of their own, so only root can do this.
"""

import logging
import os
import secrets
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from orchestrator.domain.event.base import RecordedEvent
from orchestrator.domain.event.hosts import HostJoined, HostLeft
from orchestrator.domain.event.landing import LandingFinished
from orchestrator.domain.event.run import CheckFinished
from orchestrator.domain.event.work import CandidateTaken, ToolReturned, WorkspaceLeased, WorkspaceLeasing
from orchestrator.domain.fold.projection import fold_events
from orchestrator.domain.ids import TaskId
from orchestrator.domain.run.state import RunState
from orchestrator.domain.run.task import TaskStatus
from orchestrator.journal.storage.event_store import read_all_events
from tests.running.cli import COMMAND, environment
from tests.running.holds import Hold
from tests.running.host_processes import HostProcess, create_certificates, run_host
from tests.running.killing import kill_engines, landed_more_than_once, unsettled
from tests.running.network_namespaces import Machines, open_machines
from tests.running.projects import GATE, calculator, git
from tests.running.scripts import judges, planner_is_done, plans, reviews, uses, worker_ends, write_script

pytestmark = [
    *(pytest.mark.extended, pytest.mark.sandbox, pytest.mark.timeout(500)),
    pytest.mark.skipif(os.geteuid() != 0, reason="network namespaces are made by root alone"),
    pytest.mark.skipif(shutil.which("ip") is None, reason="there is no ip: install the package iproute2"),
]

LOG = logging.getLogger(__name__)
NEAR, FAR = "near", "far"
TASKS = tuple(f"k{number}" for number in range(6))
LOST_AFTER_S = 5
CUT_S = 60.0
ENDS_AFTER_S = LOST_AFTER_S + 2 + 5
"""The patience of a host that hears nothing, and what a busy machine takes to end its commands."""


@dataclass(frozen=True)
class CutRun:
    """A run that goes on, its hosts, and the network between them. `nap` is found in the commands of workers."""

    place: Path
    machines: Machines
    hosts: dict[str, HostProcess]
    brain: subprocess.Popen[bytes]
    nap: str
    hold: Hold

    def find_naps(self, name: str) -> list[int]:
        """The commands of workers that run on a host."""
        return [
            process for process in find_descendants(self.hosts[name].process.pid) if self.nap in read_words(process)
        ]

    def count_said(self, name: str, words: str) -> int:
        """The number of times that a host has said something."""
        return self.hosts[name].log.read_text().count(words)

    def read_events(self) -> list[RecordedEvent]:
        """All that the journal holds."""
        (journal,) = (self.place / "state").rglob("journal.db")
        return list(read_all_events(journal))


@contextmanager
def begin_run(place: Path) -> Iterator[CutRun]:
    """Have a run over two hosts; each of brain and hosts is a machine of its own."""
    calculator(place / "repo")
    create_certificates(place / "certs", [NEAR, FAR])
    (place / "hold").mkdir()
    hold, nap, address = Hold(place / "hold"), f"8.{secrets.randbelow(10**9):09}", "10.77.0.1:8786"
    hold.close()
    with ExitStack() as stack:
        machines = stack.enter_context(open_machines("brain", NEAR, FAR))
        hosts = {}
        for name in (NEAR, FAR):
            host = run_host(place / name, place / "certs", address, name, 3, machines.list_words(name))
            hosts[name] = stack.enter_context(host)
        model = write_script(place / "script.json", write_tasks(nap, hold))
        words = [*machines.list_words("brain"), *COMMAND, "run", "make it better", *list_options(place, model, address)]
        said = stack.enter_context((place / "brain.log").open("wb"))
        brain = subprocess.Popen(
            words, env=environment(place), stdin=subprocess.DEVNULL, stdout=said, stderr=said, cwd=place
        )
        try:
            yield CutRun(place, machines, hosts, brain, nap, hold)
        finally:
            kill_engines(place)
            brain.kill()
            brain.wait()


def list_options(place: Path, model: str, address: str) -> list[str]:
    """The options of the run: its commands run on hosts alone."""
    settings = {
        "gate.command": f"sleep 2; {GATE}",
        "gate.report": "unittest",
        "run.max_workers": len(TASKS),
        "hands.read_only": f'["{place / "hold"}"]',
        "hosts.listen": address,
        "hosts.certs": str(place / "certs" / "brain"),
        "hosts.use_this_machine": "false",
        "hosts.lost_after_s": LOST_AFTER_S,
    }
    words = ["--repo", str(place / "repo"), "--state", str(place / "state")]
    for role in ("planner", "worker", "judge"):
        words += ["--model", f"{role}={model}"]
    for key, value in settings.items():
        words += ["--set", f"{key}={value}"]
    return words


def write_tasks(nap: str, hold: Hold) -> list[Any]:
    """A script of one plan. Each task's command takes seconds; the last one's goes on until it is let."""
    script = [plans("root", *({"key": name} for name in TASKS))]
    for name in TASKS:
        waits = hold.command if name == TASKS[-1] else "true"
        line = f"sleep {nap}; {waits}; echo {name} > {name}.txt"
        script.append(uses("worker", name, "shell", command=line, timeout_s=300.0))
        script += [worker_ends(name), reviews(name)]
    return [*script, *planner_is_done(), judges()]


def find_descendants(root: int) -> set[int]:
    """All processes that a process has started, and those that they have."""
    parents: dict[int, int] = {}
    for entry in Path("/proc").glob("[0-9]*/stat"):
        try:
            parents[int(entry.parent.name)] = int(entry.read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
    found, count = {root}, 0
    while count < len(found):
        count = len(found)
        found |= {process for process, parent in parents.items() if parent in found}
    return found - {root}


def read_words(process: int) -> str:
    """The command line of a process; nothing if it has ended."""
    try:
        return Path(f"/proc/{process}/cmdline").read_bytes().decode(errors="replace")
    except OSError:
        return ""


def wait_until(is_so: Callable[[], object], limit_s: float, run: CutRun) -> float:
    """Wait until something is so; return how long that took, and show what was said if it took too long."""
    began = time.monotonic()
    while not is_so():
        logs = [host.log.read_text() for host in run.hosts.values()]
        assert time.monotonic() - began < limit_s, (logs, (run.place / "brain.log").read_text()[-3000:])
        time.sleep(0.05)
    return time.monotonic() - began


def require_whole(state: RunState, repository: Path) -> None:
    """Everything landed at the first attempt, and nobody was blamed."""
    assert state.ended is not None
    assert state.ended.outcome == "done", state.ended
    for name in TASKS:
        task = state.tasks[TaskId(name)]
        assert (task.status, len(task.attempts)) == (TaskStatus.MERGED, 1), name
        assert [one.verdict.kind for one in task.verdicts] == ["merge"], name
    listed = git(repository, "ls-tree", "--name-only", str(state.ended.head)).split()
    assert {f"{name}.txt" for name in TASKS} <= set(listed)


def find_stale_results(events: list[RecordedEvent]) -> list[str]:
    """Results of workspaces on a host that had left meanwhile, by what the journal says of who was there when."""
    joined, purposes, stale = dict[str, int](), dict[str, Any](), list[str]()
    opened: dict[str, tuple[str, int]] = {}
    for recorded in events:
        event = recorded.event
        match event:
            case HostJoined():
                joined[event.name] = recorded.seq
            case HostLeft():
                joined.pop(event.name, None)
            case WorkspaceLeasing():
                purposes[event.key] = event.facts
            case WorkspaceLeased() if purposes[event.key].check:
                opened[purposes[event.key].check] = (event.host, recorded.seq)
            case WorkspaceLeased() if purposes[event.key].kind == "attempt":
                opened[f"attempt {purposes[event.key].task}"] = (event.host, recorded.seq)
            case CheckFinished() | CandidateTaken() | ToolReturned():
                work = event.key if isinstance(event, CheckFinished) else f"attempt {event.task}"
                host, since = opened.get(work, ("", 0))
                if host and joined.get(host, since + 1) > since:
                    stale.append(f"{event.kind} of {work} on {host}")
    return stale


def test_a_host_that_is_cut_off_for_a_minute_loses_nothing_and_lands_nothing_stale(tmp_path: Path) -> None:
    with begin_run(tmp_path) as run:
        wait_until(lambda: len(run.find_naps(FAR)) >= 3 and run.find_naps(NEAR), 90, run)
        run.machines.cut_off(FAR)
        cut_at = time.monotonic()
        ended_s = wait_until(lambda: not run.find_naps(FAR), ENDS_AFTER_S, run)
        LOG.info("a host that is cut off has ended its commands after %.1f s", ended_s)
        said_s = wait_until(lambda: run.count_said(FAR, "nothing was heard of the run's engine"), 5, run)
        assert ended_s + said_s >= LOST_AFTER_S, "the control: it is the silence that ended them"
        time.sleep(max(0.0, CUT_S - (time.monotonic() - cut_at)))
        assert run.brain.poll() is None, "the control: the run was not over before"
        assert run.count_said(FAR, "joined") == 1
        run.machines.let_in(FAR)
        back_s = wait_until(lambda: run.count_said(FAR, "joined") == 2, 45, run)
        LOG.info("it has joined again after %.1f s", back_s)
        wait_until(lambda: sum(isinstance(one.event, HostJoined) for one in run.read_events()) == 3, 30, run)
        run.hold.open()
        wait_until(lambda: run.brain.poll() is not None, 120, run)
        assert run.brain.returncode == 0, (run.place / "brain.log").read_text()[-3000:]
        events = run.read_events()
        (journal,) = (tmp_path / "state").rglob("journal.db")
    require_whole(fold_events(events), tmp_path / "repo")
    moves = [
        (one.event.kind, getattr(one.event, "cause", ""))
        for one in events
        if isinstance(one.event, HostJoined | HostLeft) and one.event.name == FAR
    ]
    assert moves == [("host.joined", ""), ("host.left", "lost"), ("host.joined", ""), ("host.left", "closed")]
    assert landed_more_than_once(journal) == []
    assert unsettled(journal) == []
    assert find_stale_results(events) == []
    assert find_stale_results([one for one in events if not isinstance(one.event, HostJoined)]), "the control"
    green = {one.event.receipt.tree for one in events if isinstance(one.event, CheckFinished) and is_green(one.event)}
    assert {one.event.tree for one in events if isinstance(one.event, LandingFinished)} <= green


def is_green(event: CheckFinished) -> bool:
    return event.receipt.exit_code == 0
