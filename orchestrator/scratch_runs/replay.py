"""Replay a run from its journal: the models' replies are recorded, everything else really happens again."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path

from anyio import to_thread

from orchestrator.app.replay_models import ReplayOptions, open_reasker
from orchestrator.app.run_creation import create_run_directory
from orchestrator.app.run_execution import execute_run
from orchestrator.app.wiring import RunOverrides, RunWatcher, open_run
from orchestrator.config.layers import load_config, merge_settings
from orchestrator.config.live_config import build_effective_config
from orchestrator.config.model import Config
from orchestrator.domain.chat import Request
from orchestrator.domain.event.run import RunStarted
from orchestrator.domain.run.state import RunState
from orchestrator.errors import Interrupted, OrchestrateError, PersonNeeded, UsageProblem, convert_error
from orchestrator.journal.session_reader import JournalSessionReader
from orchestrator.llm.recorded_model import CallPosition, RecordedModel
from orchestrator.llm.text_normalization import normalize_text
from orchestrator.ports.forge import Forge
from orchestrator.project.options import Options, open_repository, open_state_directory, resolve_script_paths
from orchestrator.project.scratch_directory import ScratchDirectory, create_scratch_directory
from orchestrator.provisioning.dependencies import DEPS_DIRECTORY
from orchestrator.replay.comparison.report import RepeatedRole, ReplayReport, build_report, find_fact_divergences
from orchestrator.replay.comparison.requests import Divergence, RequestComparison
from orchestrator.replay.reask import RoleReasker
from orchestrator.replay.recorded_forge import RecordedForge
from orchestrator.replay.recording import RecordedRun
from orchestrator.replay.sequence import milestones
from orchestrator.replay.sequence.milestone_order import ReplayStopped
from orchestrator.replay.sequence.ordered_engine import OrderedJournal, RecordedActionOrder
from orchestrator.replay.sequence.schedule import build_schedule
from orchestrator.replay.sequence.stopped_calls import StoppingJournal, find_stops
from orchestrator.run_control.location import RunLocation as RunPlace
from prompts import PromptSource
from worktrees.errors import GitError
from worktrees.git import Git
from worktrees.object_store.trees import read_tree_id

_ALONE = {
    "run": {"time_limit_s": 0, "max_workers": 1_000_000},
    "approval": {"mode": "auto", "expires_s": 0},
    "pr": {"push": "", "forge": "local", "checks_poll_s": 0.01},
    "budget": {"usd": 0, "tokens": 0, "calls": 0},
}
_LEFT_OUT = ("budget", "hooks", "notify")
"""The recorded order decides what begins when, nothing is spent, and nobody outside is asked or told anything.

Wishes for a tier are answered as they were then, when their turn comes.
"""


async def replay_run(
    options: Options, wanted: str | None, wishes: ReplayOptions, watcher: RunWatcher | None = None
) -> ReplayReport:
    """Replay a run in a scratch directory, and compare the replay with its journal.

    Settings are the run's as they stood last, but for what `options.flags` say now.

    Raises:
        UsageProblem: there is no such run, its base is gone, or the wishes cannot be met.
        OrchestrateError: the replay had to stop for a reason that is not in the recording.
    """
    repository = await to_thread.run_sync(open_repository, options.repository)
    where = open_state_directory(
        repository, load_config(None, {"state": options.flags.get("state", {})}).config.state.dir
    )
    recording = await RecordedRun.from_reader(await to_thread.run_sync(JournalSessionReader, where.find_run(wanted)))
    state = recording.state
    if state.started is None:
        raise UsageProblem("the run stopped before its first event: there is nothing to replay")
    source = await wishes.load_prompts()
    config = resolve_script_paths(build_effective_config(recording.state_without_granted_tiers, dict(options.flags)))
    await _require_base(repository.git, state)
    with create_scratch_directory(repository, where, wishes.keep) as place:
        async with open_reasker(wishes, config, options.flags, state) as reasker:
            one = _Replay(recording, config, source, reasker, where.path / DEPS_DIRECTORY)
            report = await one.execute_replay(place, watcher)
        return report.model_copy(update={"kept": place.path if wishes.keep else None})


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

    async def execute_replay(self, place: ScratchDirectory, watcher: RunWatcher | None) -> ReplayReport:
        """Execute the run again, and report.

        Raises:
            OrchestrateError: it had to stop for a reason that is not in the recording.
        """
        run = await self._made(place)
        problem: OrchestrateError | None = None
        async with open_run(run, watcher, self._means()) as context:
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
        self._require_expected(problem)
        replayed = await to_thread.run_sync(JournalSessionReader, run.directory)
        return self._report(now, replayed, problem)

    async def _made(self, place: ScratchDirectory) -> RunPlace:
        """Create the run in the scratch directory, with its first events and the settings of the replay."""
        settings = self._config.model_dump(mode="json", by_alias=True)
        first = []
        for event in self._recording.opening_events:
            first.append(event.model_copy(update={"settings": settings}) if isinstance(event, RunStarted) else event)
        directory = place.state.get_run(self._recording.state.run.run)
        await create_run_directory(directory, first)
        return RunPlace(place.repository, place.state, directory)

    def _means(self) -> RunOverrides:
        stops = find_stops(self._recording.events)
        if self._recording.state.run.recipe is not None:  # its steps follow one another in an order of their own
            client = RecordedModel(self._recording.answers, self._require_recorded, self._heard)
            journal = partial(StoppingJournal, stops=stops)
            return RunOverrides(
                client=client,
                open_journal=journal,
                prompts=self._source,
                wrap_forge=self._recorded_forge,
                deps=self._deps,
            )
        return RunOverrides(
            client=RecordedModel(self._recording.answers, self._answer_turn, self._heard),
            pace=RecordedActionOrder(self._order, self._schedule.rounds),
            open_journal=partial(OrderedJournal, stops=stops, order=self._order, answers=self._recording.tier_answers),
            prompts=self._source,
            wrap_forge=self._recorded_forge,
            deps=self._deps,
        )

    def _recorded_forge(self, forge: Forge) -> Forge:
        return RecordedForge(forge, self._recording.events)

    async def _require_recorded(self, place: CallPosition) -> None:
        """Stop the replay if a migration makes a call that is not in the recording."""
        if place not in self._recording.answers:
            raise ReplayStopped(None, [milestones.name_reply(*place)])

    async def _answer_turn(self, place: CallPosition) -> None:
        await self._order.wait_for_turn(milestones.name_reply(*place))

    async def _heard(self, request: Request) -> None:
        await self._requests.compare_request(request)
        call = self._recording.calls.get((request.session, request.turn))
        if self._reasker and call:
            await self._reasker.repeat_call(request, await self._requests.find_recorded_messages(request), call)

    def _require_expected(self, problem: OrchestrateError | None) -> None:
        """Raise a problem, unless the order could not be kept or the recorded run stopped by it as well."""
        if problem is not None and not isinstance(problem, ReplayStopped) and not self._is_recorded(problem):
            raise problem

    def _is_recorded(self, problem: OrchestrateError) -> bool:
        paused = self._recording.state.paused
        return paused is not None and normalize_text(paused.reason) == normalize_text(str(problem))

    def _report(self, now: RunState, replayed: JournalSessionReader, problem: OrchestrateError | None) -> ReplayReport:
        then = self._recording.state
        divergences = [
            *self._requests.divergences,
            *self._stop(problem),
            *find_fact_divergences(then, self._recording.events, now, replayed.events),
        ]
        counts = (self._requests.same_bytes, self._requests.same_steadied)
        return build_report(
            then,
            now,
            divergences,
            counts,
            prompts=tuple(sorted(self._source.replaced)),
            asking=self._asked(),
        )

    def _stop(self, problem: OrchestrateError | None) -> Iterator[Divergence]:
        """Yield a divergence if the recorded order could not be kept, unless the recording was cut off."""
        if not isinstance(problem, ReplayStopped):
            return
        asked = ", ".join(problem.out_of_order) or "nothing"
        if problem.missing is not None:
            seq = self._schedule.seq_by_name[problem.missing]
            yield Divergence(seq=seq, what=f"the recording goes on with {problem.missing}, the replay with {asked}")
        elif self._recording.state.ended:
            seq = self._recording.events[-1].seq
            yield Divergence(seq=seq, what=f"the recorded run ends here, the replay goes on with {asked}")

    def _asked(self) -> RepeatedRole | None:
        if self._reasker is None:
            return None
        calls = tuple(sorted(self._reasker.results, key=lambda one: one.seq))
        models = tuple(dict.fromkeys(call.model for call in calls))
        return RepeatedRole(role=self._reasker.role, models=models, calls=calls, spent=self._reasker.spent)


async def _require_base(git: Git, state: RunState) -> None:
    try:
        await read_tree_id(git, state.run.base)
    except GitError as error:
        raise UsageProblem(
            f"the commit {state.run.base[:12]}, from which the run started, is no longer in the repository: fetch it"
        ) from error
