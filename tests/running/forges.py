"""A forge in memory whose checks say what a test wants, and runs that have it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from orchestrator.app.run_creation import create_goal_run
from orchestrator.app.run_execution import RunExit, execute_run
from orchestrator.app.wiring import RunOverrides, RunWatcher, open_run
from orchestrator.domain.event.run import RunPaused
from orchestrator.domain.ids import CommitId
from orchestrator.domain.judging.forge_check import ForgeCheck
from orchestrator.engine.control.command_consumer import CommandConsumer
from orchestrator.engine.recovery.open_intents import settle_open_intents
from orchestrator.errors import OrchestrateError, PersonNeeded
from orchestrator.llm.scripted_model.script import ScriptedReply
from orchestrator.ports.forge import OpenedPullRequest, PullRequest
from orchestrator.run_control.control import RunLocation, find_run
from tests.running.goals import Bench

Says = Callable[[int, int], Sequence[ForgeCheck]]
"""The checks of the so-manieth commit that was looked at, at the so-manieth look at it; both count from 0."""


def check(name: str, state: str = "passed", **more: str) -> ForgeCheck:
    return ForgeCheck.model_validate({"name": name, "state": state, **more})


def always(*checks: ForgeCheck) -> Says:
    """The same at each look."""
    return lambda _commit, _look: checks


def turns(*looks: Sequence[ForgeCheck]) -> Says:
    """Something else at each look, at last the last."""
    return lambda _commit, look: looks[min(look, len(looks) - 1)]


@dataclass
class Pull:
    request: PullRequest
    state: str = "open"
    comments: list[str] = field(default_factory=list)


@dataclass
class MemoryForge:
    """A `ports.Forge` without a server. One pull request of a branch is open at a time, as on real ones."""

    says: Says
    pulls: list[Pull] = field(default_factory=list)
    looks: dict[str, int] = field(default_factory=dict)
    merges: int = 0
    name: str = "memory"
    has_checks: bool = True
    moves_local_targets: bool = False

    async def open_pull_request(self, request: PullRequest) -> OpenedPullRequest:
        found = [pull for pull in self.pulls if pull.state == "open" and pull.request.head == request.head]
        if found:
            found[0].request = request
        else:
            self.pulls.append(Pull(request))
        number = self.pulls.index(found[0]) + 1 if found else len(self.pulls)
        return OpenedPullRequest(forge=self.name, ref=f"#{number}", url=f"https://forge.invalid/{number}")

    async def list_checks(self, ref: str, commit: CommitId) -> Sequence[ForgeCheck]:
        self._require_head(ref, commit)
        look = self.looks.get(commit, 0)
        self.looks[commit] = look + 1
        return self.says(list(self.looks).index(commit), look)

    async def merge_pull_request(self, ref: str, commit: CommitId) -> CommitId:
        self._require_head(ref, commit)
        self.merges += 1
        self._pull(ref).state = "merged"
        return commit

    async def close_pull_request(self, ref: str, comment: str) -> None:
        pull = self._pull(ref)
        pull.state = "closed"
        pull.comments.append(comment)

    def _pull(self, ref: str) -> Pull:
        return self.pulls[int(ref.removeprefix("#")) - 1]

    def _require_head(self, ref: str, commit: CommitId) -> None:
        if self._pull(ref).request.commit != commit:
            raise PersonNeeded(f"{ref} is not at {commit}")


@dataclass
class ForgeBench:
    """A bench whose runs open their pull requests in memory, and wait for checks."""

    bench: Bench
    forge: MemoryForge

    async def run(self, *items: ScriptedReply, watcher: RunWatcher | None = None, **flags: Any) -> RunExit:
        pr = {"checks_wait_s": 30, "checks_poll_s": 0.01, **flags.pop("pr", {})}
        place = await create_goal_run(self.bench.options(items, pr=pr, **flags), "make it better")
        return await self._work(place, watcher)

    async def resume(self, *items: ScriptedReply) -> RunExit:
        """Go on with the latest run, in what might be another process."""
        place, _ = find_run(self.bench.options(items), None)
        return await self._work(place, None)

    async def _work(self, place: RunLocation, watcher: RunWatcher | None) -> RunExit:
        async with open_run(place, watcher, RunOverrides(wrap_forge=lambda _: self.forge)) as context:
            try:
                await CommandConsumer(context.journal, place.directory.inbox).take_pending_commands()
                await settle_open_intents(context)
                await execute_run(context)
            except OrchestrateError as problem:
                await context.journal.append(RunPaused(reason=str(problem), exit=problem.exit_code))
                return RunExit(place.directory, context.state, problem)
            return RunExit(place.directory, context.state)


def latest(bench: Bench) -> Path:
    """The directory of the latest run."""
    return max(bench.root.glob("state/*/runs/*"))
