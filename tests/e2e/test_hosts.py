"""Runs over two hosts that are processes: a host or the brain is killed, and the run ends as without that."""

import gc
import secrets
import socket
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import pytest
from anyio import to_thread

from orchestrator.app.run_execution import RunExit
from orchestrator.domain.event.hosts import HostJoined, HostLeft
from orchestrator.domain.event.work import ToolCalled, WorkspaceLeased
from orchestrator.domain.ids import TaskId
from orchestrator.domain.run.task import TaskStatus
from orchestrator.errors import EnvironmentProblem
from orchestrator.journal.storage.event_store import read_all_events
from orchestrator.llm.scripted_model.script import ScriptedReply
from tests.running.cli import COMMAND, environment, orchestrate
from tests.running.goals import Bench, Hears
from tests.running.host_processes import HostProcess, create_certificates, run_host
from tests.running.killing import kill_engines, landed_more_than_once, unsettled
from tests.running.projects import GATE, calculator, git
from tests.running.scripts import judges, planner_is_done, plans, reviews, uses, worker_ends, write_script

pytestmark = [pytest.mark.extended, pytest.mark.sandbox, pytest.mark.timeout(300)]

NAMES = ("one", "two")
TASKS = tuple(f"k{number}" for number in range(6))


@dataclass(frozen=True)
class Site:
    """A repository, an address for hosts, and hosts that wait there."""

    bench: Bench
    port: int
    certificates: Path
    hosts: dict[str, HostProcess]

    @property
    def settings(self) -> dict[str, Any]:
        """The table [hosts]: commands run on hosts alone, so that nobody else can have done the work."""
        certs = str(self.certificates / "brain")
        return {
            "listen": f"127.0.0.1:{self.port}",
            "certs": certs,
            "use_this_machine": False,
            "lost_after_s": 5.0,
        }

    async def run(self, script: list[ScriptedReply], hears: Callable[[Any], object] = lambda _: None) -> RunExit:
        """A run over the hosts; `hears` is told of every event."""
        return await self.bench.run(*script, when=Hears(hears), hosts=self.settings, run={"max_workers": len(TASKS)})


def find_free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port


@contextmanager
def open_site(place: Path) -> Iterator[Site]:
    """A repository with two hosts beside it."""
    calculator(place / "repo")
    certificates, port = place / "certs", find_free_port()
    create_certificates(certificates, NAMES)
    with ExitStack() as stack:
        hosts = {}
        for name in NAMES:
            host = run_host(place / "hosts" / name, certificates, f"127.0.0.1:{port}", name, 3)
            hosts[name] = stack.enter_context(host)
        yield Site(Bench(place, place / "repo"), port, certificates, hosts)


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    with open_site(tmp_path) as opened:
        yield opened


def write_tasks(line: str) -> list[ScriptedReply]:
    """A script of one plan, each of whose tasks runs a shell command that leaves a file of its name."""
    script = [plans("root", *({"key": name} for name in TASKS))]
    for name in TASKS:
        script.append(uses("worker", name, "shell", command=f"{line}; echo {name} > {name}.txt"))
        script += [worker_ends(name), reviews(name)]
    return [*script, *planner_is_done(), judges()]


def find_leased_hosts(ended: RunExit) -> set[str]:
    """The hosts of all workspaces but those of planners."""
    events = [recorded.event for recorded in read_all_events(ended.directory.journal)]
    return {one.host for one in events if isinstance(one, WorkspaceLeased) and "/planning " not in one.key}


def require_whole(ended: RunExit, site: Site) -> None:
    """Everything landed, once, at the first attempt, and nothing is left open."""
    assert ended.error is None, ended.error
    assert ended.state.ended is not None
    assert ended.state.ended.outcome == "done", ended.state.ended
    for name in TASKS:
        task = ended.state.tasks[TaskId(name)]
        assert (task.status, len(task.attempts)) == (TaskStatus.MERGED, 1), name
        assert [one.verdict.kind for one in task.verdicts] == ["merge"], name
    assert landed_more_than_once(ended.directory.journal) == []
    assert unsettled(ended.directory.journal) == []
    head = ended.state.ended.head
    assert head is not None
    listed = git(site.bench.repository, "ls-tree", "--name-only", head).split()
    assert {f"{name}.txt" for name in TASKS} <= set(listed)


def find_processes(word: str) -> list[int]:
    """Processes that have the word in their command line."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if word in (entry / "cmdline").read_bytes().decode(errors="replace"):
                found.append(int(entry.name))
        except OSError:
            continue
    return found


async def wait_until(is_so: Callable[[], bool], limit_s: float) -> None:
    """Wait until something is so; fail after so many seconds."""
    with anyio.fail_after(limit_s):
        while not is_so():  # noqa: ASYNC110  nothing tells of the end of a process that is not ours
            await anyio.sleep(0.05)


def start_process(words: list[str], env: dict[str, str]) -> subprocess.Popen[bytes]:
    """Start a program, and do not wait for it."""
    quiet = subprocess.DEVNULL
    return subprocess.Popen(words, env=env, stdin=quiet, stdout=quiet, stderr=quiet)


class AtShell:
    """Does something once so many shell commands of workers are under way."""

    def __init__(self, count: int, act: Callable[[], object]) -> None:
        self._left, self._act = count, act

    def __call__(self, event: Any) -> None:
        """Count a call."""
        if isinstance(event, ToolCalled) and event.name == "shell":
            self._left -= 1
            if self._left == 0:
                self._act()


async def test_a_run_over_hosts_alone_ends_as_on_this_machine(site: Site, tmp_path: Path) -> None:
    ended = await site.run(write_tasks("true"))
    require_whole(ended, site)
    assert find_leased_hosts(ended) == set(NAMES)
    assert {record.status for record in ended.state.hosts.records.values()} == {"closed"}
    calculator(tmp_path / "again" / "repo")
    here = Bench(tmp_path / "again", tmp_path / "again" / "repo")
    local = await here.run(*write_tasks("true"))
    assert local.state.ended is not None
    assert ended.state.ended is not None
    trees = []
    for bench, run in ((site.bench, ended), (here, local)):
        assert run.state.ended is not None
        trees.append(git(bench.repository, "rev-parse", f"{run.state.ended.head}^{{tree}}"))
    assert trees[0] == trees[1]


async def test_a_killed_host_costs_its_attempts_nothing_but_time(site: Site) -> None:
    ended = await site.run(write_tasks("sleep 3"), AtShell(len(TASKS), site.hosts["one"].kill))
    require_whole(ended, site)
    record = ended.state.hosts.records["one"]
    assert (record.status, record.losses) == ("lost", 1)
    assert find_leased_hosts(ended) == set(NAMES)


async def test_a_host_that_hangs_is_lost_and_comes_back_with_empty_hands(site: Site) -> None:
    nap = f"7.{secrets.randbelow(10**9):09}"
    host, joined = site.hosts["two"], list[str]()

    def hear_event(event: Any) -> None:
        at_shell(event)
        if isinstance(event, HostJoined):
            joined.append(event.name)
        elif isinstance(event, HostLeft) and event.cause == "lost":
            host.wake()

    at_shell = AtShell(len(TASKS), host.freeze)
    ended = await site.run(write_tasks(f"sleep {nap}"), hear_event)
    require_whole(ended, site)
    assert ended.state.hosts.records["two"].losses == 1
    assert sorted(joined) in (["one", "two"], ["one", "two", "two"])
    await wait_until(lambda: not find_processes(nap), 10)


async def test_a_killed_brain_leaves_no_process_on_hosts_and_the_run_is_resumed(site: Site, tmp_path: Path) -> None:
    nap = f"15.{secrets.randbelow(10**9):09}"
    model = write_script(tmp_path / "script.json", write_tasks(f"sleep {nap}"))
    state = tmp_path / "state"
    settings = [*("--set", f"gate.command={GATE}"), *("--set", "gate.report=unittest")]
    for role in ("planner", "worker", "judge"):
        settings += ["--model", f"{role}={model}"]
    for key, value in site.settings.items():
        settings += ["--set", f"hosts.{key}={str(value).lower() if isinstance(value, bool) else value}"]
    where = ["--repo", str(site.bench.repository), "--state", str(state)]
    words = [*COMMAND, "run", "make it better", *where, *settings]
    env = environment(tmp_path)
    brain = start_process(words, env)
    try:
        await wait_until(lambda: len(find_processes(nap)) >= len(TASKS), 60)
        assert kill_engines(tmp_path) >= 1
        await wait_until(lambda: not find_processes(nap), 5)
    finally:
        brain.kill()
        await to_thread.run_sync(brain.wait)
    resumed = await to_thread.run_sync(lambda: orchestrate("resume", *where, "--json", cwd=tmp_path, env=env))
    assert resumed.code == 0, resumed.err
    assert resumed.json["outcome"] == "done"
    assert resumed.json["tasks"]["merged"] == len(TASKS)


async def test_a_certificate_of_another_authority_is_refused_at_once(site: Site, tmp_path: Path) -> None:
    other = tmp_path / "other"
    create_certificates(other, ["three"])
    said: list[str] = []

    async def try_to_join() -> None:
        with run_host(tmp_path / "three", other, f"127.0.0.1:{site.port}", "three", 1) as stranger:
            await wait_until(lambda: stranger.process.poll() is not None, 15)
            said.append(await to_thread.run_sync(stranger.log.read_text))
            assert stranger.process.returncode == 2

    async with anyio.create_task_group() as tasks:
        ended = await site.run(write_tasks("sleep 2"), AtShell(1, lambda: tasks.start_soon(try_to_join)))
    require_whole(ended, site)
    assert "do not trust each other" in said[0]
    assert "three" not in ended.state.hosts.records


@pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning")  # Tornado does not close what it cannot bind
async def test_a_second_run_at_the_same_address_is_told_so(site: Site, tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", site.port))
        taken.listen()
        with pytest.raises(EnvironmentProblem, match=f"hosts cannot join at 127.0.0.1:{site.port}"):
            await site.run(write_tasks("true"))
    gc.collect()  # else the socket is found in a later test, which fails for it
