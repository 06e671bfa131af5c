"""A migration from inventory to pull request. Like the engine, it knows nothing but the journal's state."""

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from orchestrator.domain.event.landing import LandedPart
from orchestrator.domain.event.migration import ShardsPlanned, WaveEnded
from orchestrator.domain.event.run import Noticed
from orchestrator.domain.ids import CommitId, build_progress_subject
from orchestrator.domain.judging.check import Difference
from orchestrator.domain.migration.files import FileStatus, Wave
from orchestrator.domain.recipe.verify import JudgeRules
from orchestrator.domain.text.listing import join_limited
from orchestrator.engine.context import RunContext
from orchestrator.engine.control.approvals import ask_person, build_run_approval
from orchestrator.engine.control.stop_signals import open_stoppable_group, require_not_stopping
from orchestrator.engine.run_end import end_run
from orchestrator.migrate.judging.gate import MigrationGate
from orchestrator.migrate.judging.invariants import TREE_KINDS
from orchestrator.migrate.judging.review_flags import flag_uncovered_files, flag_weakened_tests
from orchestrator.migrate.ladder import run_outcome, waves
from orchestrator.migrate.ladder.passes import Pass, build_end_moves, list_passes
from orchestrator.migrate.landing.pull_requests import publish_pull_requests
from orchestrator.migrate.landing.rollback import roll_back_shards
from orchestrator.migrate.landing.wave_lander import WaveLander
from orchestrator.migrate.models.file_tasks import build_task_ends
from orchestrator.migrate.run.pass_runner import PassRunner, protect_contents
from orchestrator.migrate.run.recipe_revisions import apply_wished_recipe, propose_recipe
from orchestrator.migrate.scope.planning import divide_files
from worktrees.object_store.trees import list_tree

T = TypeVar("T")
_MOST_PROBLEMS = 3


def _list_problems(difference: Difference) -> tuple[str, ...]:
    """Return everything that is wrong in a difference, by name."""
    return (*difference.lost_tests, *difference.unsettled, *difference.problems)


async def explain_red_end(context: RunContext, gate: MigrationGate, commit: CommitId) -> str:
    """Judge what landed at level final; return why nothing may be published, in words; empty if it may.

    Where it is red, the commits of the shards are searched for the first one that is.

    Raises:
        EnvironmentProblem: a check could not be run.
    """

    async def list_problems_at(commit: CommitId) -> tuple[str, ...]:
        return _list_problems((await gate.judge_final(commit, await context.read_tree_id(commit))).difference)

    if not (problems := await list_problems_at(commit)):
        return ""
    origin, parts = "no single shard brought it", list[LandedPart]()
    if set(problems).isdisjoint(await list_problems_at(context.state.run.base)):
        for landing in context.state.landings:
            parts += landing.parts

    async def is_part_red(part: LandedPart) -> bool:
        return not set(problems).isdisjoint(await list_problems_at(part.commit))

    if first := await find_first_red(parts, is_part_red):
        origin = f"it came with shard {first.name}"
    return f"the final checks are red: {join_limited(problems, _MOST_PROBLEMS)}; {origin}"


async def find_first_red(items: Sequence[T], is_red: Callable[[T], Awaitable[bool]]) -> T | None:
    """Return the first item that is red, where each one after a red one is red as well, in log2 questions.

    None without any.

    The last item is taken to be red.
    """
    low, high = 0, len(items) - 1
    while low < high:
        middle = (low + high) // 2
        if await is_red(items[middle]):
            high = middle
        else:
            low = middle + 1
    return items[low] if items else None


_SHOWN = 10


class MigrationRunner:
    """Takes the files in scope up the recipe's ladder, wave by wave, through the queue, into pull requests."""

    def __init__(self, context: RunContext, slots: int) -> None:
        self._context = context
        self._slots = slots
        self._paths: frozenset[str] = frozenset()
        self._gates: dict[str, MigrationGate] = {}

    @property
    def _gate(self) -> MigrationGate:
        """The gate of the recipe as it stands."""
        recipe = self._context.recipe
        if recipe.revision not in self._gates:
            self._gates[recipe.revision] = MigrationGate(self._context, recipe, self._paths)
        return self._gates[recipe.revision]

    async def run_migration(self) -> None:
        """Run to the end, or from wherever an earlier process left off.

        Raises:
            OrchestrateError: the run had to stop before its end; it can be resumed.
        """
        context, run = self._context, self._context.state.run
        if context.state.ended is not None:
            return  # another process ended it after this one had found it open
        async with open_stoppable_group(context, lambda: None):
            require_not_stopping(context)
            self._paths = frozenset(entry.path for entry in await list_tree(context.repository.git, run.base))
            await self._gate.record_baseline()
            await self._divide_files()
            while context.state.ended is None:
                while (wave := await self._get_wave()) is not None:
                    await self._climb_and_land(wave)
                await self._finish_run()

    async def _divide_files(self) -> None:
        """Divide the files of a run that began without shards, before there were any."""
        state, git = self._context.state, self._context.repository.git
        if not state.migration.shards:
            shards = await divide_files(git, state.run.base, self._context.recipe, list(state.migration.files.values()))
            await self._context.journal.append(ShardsPlanned(shards=shards))

    async def _get_wave(self) -> Wave | None:
        """Return the wave under way, or the next one; None when nothing is left to begin."""
        await apply_wished_recipe(self._context, self._context.recipe)
        if self._context.state.migration.requested_rollbacks:
            await self._roll_back()
        if self._context.state.migration.current_wave is None:
            await self._plan_rest()
            await self._check_progress()
            if (begun := waves.choose_next_wave(self._context.state, self._context.recipe)) is None:
                return None
            await self._context.journal.append(begun)
        return self._context.state.migration.current_wave

    async def _roll_back(self) -> None:
        """Take back what people want back. That sites come back with it breaks no rule."""
        rules = tuple(rule for rule in self._context.recipe.invariant if rule.kind in TREE_KINDS)
        judge = JudgeRules(diff_review="none", reject_if=(), grants=("**",))
        recipe = self._context.recipe.model_copy(update={"invariant": rules, "judge": judge})
        await roll_back_shards(self._context, recipe, MigrationGate(self._context, recipe, self._paths))

    async def _climb_and_land(self, wave: Wave) -> None:
        """Take the files of a wave up the ladder, and land what may land.

        What an earlier process made of them is protected first: it may have died before it had done so.
        """
        await protect_contents(self._context, wave, await self._context.read_start_commit())
        for number, group in enumerate(list_passes(self._context.recipe), start=1):
            runner = PassRunner(self._context, self._context.recipe, self._gate.rules, self._slots)
            await runner.run_pass(wave, group)
            await self._land_files(wave, f"wave {wave.number} pass {number}", group)
        require_not_stopping(self._context)
        files = waves.list_wave_files(self._context.state, wave)
        moves = (
            run_outcome.build_atomic_moves(files)
            if self._context.recipe.migration.atomic
            else run_outcome.build_last_moves(files)
        )
        await self._context.journal.append(*moves, WaveEnded(number=wave.number))

    async def _land_files(self, wave: Wave, name: str, group: Pass) -> None:
        is_atomic = self._context.recipe.migration.atomic
        files = waves.list_wave_files(self._context.state, wave)
        if is_atomic and any(file.status.is_failed or group.is_behind(file) for file in files):
            return  # nothing lands while something fails, or belongs to a later pass, which lands it all
        lander = WaveLander(self._context, self._gate)
        await lander.record_landed_files(wave)  # by an earlier process: they are not the rest of their shards
        await self._plan_rest()
        await lander.land_wave(name, wave, group, is_atomic=is_atomic)
        await self._context.journal.append(*build_task_ends(self._context.state, self._context.recipe))
        await self._plan_rest()

    async def _plan_rest(self) -> None:
        """Plan shards of their own for files that go on although their shard has landed."""
        if (rest := waves.plan_remaining_shards(self._context.state)) is not None:
            await self._context.journal.append(rest)

    async def _check_progress(self) -> None:
        """Check between two waves if the next may begin, and by which recipe. What a person wants done again may.

        Raises:
            PersonNeeded: too much fails, or fails alike, and nobody has said yet what is to be done.
        """
        state, recipe = self._context.state, self._context.recipe
        if not state.migration.waves:
            return
        coming = waves.choose_next_wave(state, recipe)
        if coming is not None and waves.is_requested_again(state, coming):
            return
        goes_on = coming is not None
        await propose_recipe(self._context, recipe, waits=goes_on)
        if coming is not None and waves.is_sample_again(coming):
            return
        if goes_on and (sample := waves.find_sample_wave(state)):
            await self._judge_sample(sample)
        if goes_on and (why := run_outcome.explain_failure_limit(state, recipe.stop)):
            await self._ask_whether_to_go_on("breaker", why)

    async def _judge_sample(self, wave: Wave) -> None:
        files = self._context.state.migration.list_files(waves.list_wave_shards(self._context.state, wave))
        why = run_outcome.explain_sample_failure(files, self._context.recipe.sample)
        if why or self._context.recipe.sample.gate == "human":
            landed = sum(file.status == FileStatus.MERGED for file in files)
            await self._ask_whether_to_go_on("sample", why or f"{landed} of {len(files)} files of the sample landed")

    async def _ask_whether_to_go_on(self, topic: str, why: str) -> None:
        """Ask a person; a no leaves out what was not begun."""
        context = self._context
        detail = []
        for group in run_outcome.group_failures(context.state.migration.files.values())[:_SHOWN]:
            detail.append(group.summary)
        subject = build_progress_subject(topic, context.state.goal.rejudge_count)
        approval = build_run_approval(context, "sample", subject, f"go on although {why}?", detail)
        answer = await ask_person(context, approval)
        if answer.decision != "reject":
            return
        reason = f"not begun: {answer.reason or f'rejected by {answer.by}'}"
        waiting = []
        for file in context.state.migration.files.values():
            if not file.status.is_terminal:
                waiting.append(file)
        await context.journal.append(*build_end_moves(waiting, FileStatus.SKIPPED, reason))

    async def _finish_run(self) -> None:
        context = self._context
        state, published = context.state, set(context.state.migration.requested_publications)
        held = [shard for shard in state.migration.shards.values() if shard.held]
        held_paths = {file.path for file in state.migration.list_files(held)}  # they go on where they stand later
        files = (file for file in state.migration.files.values() if file.path not in held_paths)
        await context.journal.append(*run_outcome.build_last_moves(files))
        await context.journal.append(*build_task_ends(context.state, self._context.recipe))
        outcome, reason = run_outcome.summarize_outcome(list(context.state.migration.files.values()))
        if held:
            text = f"held back: {', '.join(shard.name for shard in held)}"
            await context.journal.append(Noticed(level="warning", text=text))
        if red := await self._check_final():
            outcome, reason = "partial", f"{reason}; nothing is published: {red}"
        elif kept := await publish_pull_requests(context, self._context.recipe, self._gate, reason):
            outcome, reason = "partial", f"{reason}; not opened, as they are not green alone: {', '.join(kept)}"
        if not (self._is_wanted_more() or set(context.state.migration.requested_publications) - published):
            await end_run(context, outcome, reason)

    def _is_wanted_more(self) -> bool:
        """Return True if a person has asked for something while the run came to its end."""
        state = self._context.state
        return (
            bool(state.migration.requested_rollbacks)
            or state.migration.requested_recipe is not None
            or waves.choose_next_wave(state, self._context.recipe) is not None
        )

    async def _check_final(self) -> str:
        """Return why nothing of what landed may be published; flag what reviewers should look at if it may."""
        context, head = self._context, self._context.state.head
        if head is None:
            return ""
        reason = await explain_red_end(context, self._gate, head)
        if not reason:
            await flag_weakened_tests(context, head)
            await flag_uncovered_files(context, self._context.recipe, head)
        return reason
