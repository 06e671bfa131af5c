"""Replay a run from its journal: the models' replies are recorded, everything else really happens again."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path

from anyio import to_thread

from orchestrator.agent.tool_servers import ToolServers
from orchestrator.app.replay_models import ReplayOptions, open_reasker
from orchestrator.app.run_creation import create_run_directory
from orchestrator.app.run_execution import execute_run
from orchestrator.app.wiring import RunOverrides, RunWatcher, open_run
from orchestrator.config.layers import merge_settings
from orchestrator.config.live_config import build_effective_config
from orchestrator.config.model import Config
from orchestrator.domain.chat import Request
from orchestrator.domain.event.run import RunStarted
from orchestrator.domain.run.state import RunState
from orchestrator.domain.text.normalization import normalize_text
from orchestrator.errors import Interrupted, OrchestrateError, PersonNeeded, UsageProblem, convert_error
from orchestrator.journal.session_reader import JournalSessionReader
from orchestrator.llm.recorded_model import CallPosition, RecordedModel
from orchestrator.ports.forge import Forge
from orchestrator.project.options import Options, open_places, resolve_script_paths
from orchestrator.project.scratch_directory import ScratchDirectory, create_scratch_directory
from orchestrator.provisioning.dependencies import DEPS_DIRECTORY
from orchestrator.replay.comparison.report import (
    RepeatedReply,
    RepeatedRole,
    ReplayReport,
    build_report,
    find_fact_divergences,
)
from orchestrator.replay.comparison.requests import Divergence, RequestComparison
from orchestrator.replay.reask import RoleReasker
from orchestrator.replay.recorded_forge import RecordedForge
from orchestrator.replay.recording import RecordedRun
from orchestrator.replay.sequence import milestones
from orchestrator.replay.sequence.milestone_order import ReplayStopped
from orchestrator.replay.sequence.ordered_engine import OrderedJournal, RecordedActionOrder, StoppingJournal
from orchestrator.replay.sequence.recorded_answers import find_plan_answers
from orchestrator.replay.sequence.recorded_stops import find_stops
from orchestrator.replay.sequence.recorded_words import find_told_words
from orchestrator.replay.sequence.schedule import build_schedule
from orchestrator.run_control.control import RunLocation as RunPlace
from prompts import PromptSource
from worktrees.errors import GitError
from worktrees.git import Git
from worktrees.object_store.trees import read_tree_id

_ALONE = {
    "run": {"time_limit_s": 0, "max_workers": 1_000_000},
    "approval": {"mode": "auto", "expires_s": 0},
    "pr": {"push": "", "forge": "local", "checks_poll_s": 0.01},
    "commits": {"sign": "never"},
    "hosts": {"listen": ""},
    "budget": {"usd": 0, "tokens": 0, "calls": 0},
}
_LEFT_OUT = ("budget", "hooks", "notify")
"""The recorded order decides what begins when, nothing is spent, and nobody outside is asked or told anything.

Wishes for a tier are answered as they were then, when their turn comes.
"""


async def replay_run(
    options: Options, wanted: str | None, replay_options: ReplayOptions, watcher: RunWatcher | None = None
) -> ReplayReport:
    """Replay a run in a scratch directory, and compare the replay with its journal.

    Settings are the run's as they stood last, but for what `options.flags` say now.

    Raises:
        UsageProblem: there is no such run, its base is gone, or the wishes cannot be met.
        OrchestrateError: the replay had to stop for a reason that is not in the recording.
    """
    repository, state_directory = await to_thread.run_sync(open_places, options)
    recording = await RecordedRun.from_reader(
        await to_thread.run_sync(JournalSessionReader, state_directory.find_run(wanted))
    )
    state = recording.state
    if state.started is None:
        raise UsageProblem("the run stopped before its first event: there is nothing to replay")
    source = await replay_options.load_prompts()
    config = resolve_script_paths(build_effective_config(recording.state_without_granted_tiers, dict(options.flags)))
    await _require_base(repository.git, state)
    with create_scratch_directory(repository, state_directory, replay_options.keep) as scratch:
        async with open_reasker(replay_options, config, options.flags, state) as reasker:
            replay = _Replay(recording, config, source, reasker, state_directory.path / DEPS_DIRECTORY)
            report = await replay.execute_replay(scratch, watcher)
        return report.model_copy(update={"kept": scratch.path if replay_options.keep else None})


class _Replay:
    """One replay of one recording."""

    def __init__(
        self, recording: RecordedRun, config: Config, source: PromptSource, reasker: RoleReasker | None, deps: Path
    ) -> None:
        self._recording = recording
        self._deps = deps
        settings = config.model_dump(mode="json", by_alias=True, exclude=set(_LEFT_OUT))
        self._config = Config.model_validate(merge_settings(settings, _ALONE))
        self._source = source
        self._reasker = reasker
        self._schedule = build_schedule(recording)
        self._order = self._schedule.build_order()
        self._requests = RequestComparison(recording, self._config)

    async def execute_replay(self, scratch: ScratchDirectory, watcher: RunWatcher | None) -> ReplayReport:
        """Execute the run again, and report.

        Raises:
            OrchestrateError: it had to stop for a reason that is not in the recording.
        """
        run = await self._create_run(scratch)
        problem: OrchestrateError | None = None
        async with open_run(run, watcher, self._build_overrides()) as context:
            try:
                await execute_run(context)
            except (OrchestrateError, GitError, OSError) as error:
                problem = convert_error(error)
                if problem is None:
                    raise
                if isinstance(problem, PersonNeeded) and not self._is_recorded(problem):
                    problem = ReplayStopped(self._order.next_milestone, [str(problem)])
            if context.state.is_draining:
                raise Interrupted("the replay was stopped")
            now = context.state
        if problem is not None and not isinstance(problem, ReplayStopped) and not self._is_recorded(problem):
            raise problem
        replayed = await to_thread.run_sync(JournalSessionReader, run.directory)
        return self._build_report(now, replayed, problem)

    async def _create_run(self, scratch: ScratchDirectory) -> RunPlace:
        """Create the run in the scratch directory, with its first events and the settings of the replay."""
        settings = self._config.model_dump(mode="json", by_alias=True)
        first = []
        for event in self._recording.opening_events:
            first.append(event.model_copy(update={"settings": settings}) if isinstance(event, RunStarted) else event)
        if self._recording.state.run.recipe is not None:
            first += self._recording.policies[:1]  # the journal of a migration repeats nothing that came later
        directory = scratch.state.get_run(self._recording.state.run.run)
        await create_run_directory(directory, first)
        return RunPlace(scratch.repository, scratch.state, directory)

    def _build_overrides(self) -> RunOverrides:
        events = self._recording.events
        stops, words, servers = find_stops(events), find_told_words(events), self._open_servers()
        if self._recording.state.run.recipe is not None:  # its steps follow one another in an order of their own
            client = RecordedModel(self._recording.answers, self._require_recorded_call, self._compare_request)
            journal = partial(StoppingJournal, stops=stops, words=words)
            return RunOverrides(
                client=client,
                open_journal=journal,
                prompts=self._source,
                wrap_forge=self._wrap_forge,
                deps=self._deps,
                is_replay=True,
                servers=servers,
                asks_before_landing=False,
            )
        repeated = (*self._recording.policies, *self._recording.tier_answers)
        return RunOverrides(
            client=RecordedModel(self._recording.answers, self._wait_for_turn, self._compare_request),
            pace=RecordedActionOrder(self._order, self._schedule.rounds, self._schedule.compositions),
            open_journal=partial(
                OrderedJournal,
                stops=stops,
                order=self._order,
                repeated=repeated,
                words=words,
                plan_answers=find_plan_answers(events),
            ),
            prompts=self._source,
            wrap_forge=self._wrap_forge,
            deps=self._deps,
            is_replay=True,
            servers=servers,
            asks_before_landing=False,
        )

    def _open_servers(self) -> ToolServers | None:
        """Return what stands for the servers of tools that the run used; None where it used none."""
        if not self._config.mcp:
            return None
        from orchestrator.replay.recorded_servers import RecordedServers  # few runs have any

        return RecordedServers(self._recording, self._config.mcp)

    def _wrap_forge(self, forge: Forge) -> Forge:
        return RecordedForge(forge, self._recording.events)

    async def _require_recorded_call(self, position: CallPosition) -> None:
        """Stop the replay if a migration makes a call that is not in the recording."""
        if position not in self._recording.answers:
            raise ReplayStopped(None, [milestones.name_reply(*position)])

    async def _wait_for_turn(self, position: CallPosition) -> None:
        await self._order.wait_for_turn(milestones.name_reply(*position))

    async def _compare_request(self, request: Request) -> None:
        await self._requests.compare_request(request)
        call = self._recording.calls.get((request.session, request.turn))
        if self._reasker and call:
            await self._reasker.repeat_call(request, await self._requests.find_recorded_messages(request), call)

    def _is_recorded(self, problem: OrchestrateError) -> bool:
        paused = self._recording.state.paused
        return paused is not None and normalize_text(paused.reason) == normalize_text(str(problem))

    def _build_report(
        self, now: RunState, replayed: JournalSessionReader, problem: OrchestrateError | None
    ) -> ReplayReport:
        recorded = self._recording.state
        divergences = [
            *self._requests.divergences,
            *self._find_stop_divergence(problem),
            *find_fact_divergences(recorded, self._recording.events, now, replayed.events),
        ]
        counts = (self._requests.same_bytes, self._requests.same_steadied)
        prompts, asking = tuple(sorted(self._source.replaced)), self._build_repeated_role()
        return build_report(recorded, now, divergences, counts, prompts=prompts, asking=asking)

    def _find_stop_divergence(self, problem: OrchestrateError | None) -> Iterator[Divergence]:
        """Yield a divergence if the recorded order could not be kept, unless the recording was cut off."""
        if not isinstance(problem, ReplayStopped):
            return
        names = ", ".join(problem.out_of_order) or "nothing"
        if problem.missing is not None:
            seq = self._schedule.seq_by_name[problem.missing]
            yield Divergence(seq=seq, what=f"the recording goes on with {problem.missing}, the replay with {names}")
        elif self._recording.state.ended:
            seq = self._recording.events[-1].seq
            yield Divergence(seq=seq, what=f"the recorded run ends here, the replay goes on with {names}")

    def _build_repeated_role(self) -> RepeatedRole | None:
        if self._reasker is None:
            return None
        calls = tuple(sorted(self._reasker.results, key=lambda call: call.seq))
        models = tuple(dict.fromkeys(call.model for call in calls))
        replies = []
        for (session, turn), reply in self._reasker.replies.items():
            replies.append(RepeatedReply(session=session, turn=turn, reply=reply))
        spent = self._reasker.spent
        return RepeatedRole(role=self._reasker.role, models=models, calls=calls, spent=spent, replies=tuple(replies))


async def _require_base(git: Git, state: RunState) -> None:
    try:
        await read_tree_id(git, state.run.base)
    except GitError as error:
        commit = f"the commit {state.run.base[:12]}, from which the run started,"
        raise UsageProblem(f"{commit} is no longer in the repository: fetch it") from error
