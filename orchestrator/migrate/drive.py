"""A migration from inventory to pull request. Like the engine, it knows nothing but the journal's state."""

from orchestrator.domain.event.migration import FileMoved, ShardsPlanned, WaveEnded
from orchestrator.domain.event.run import Noticed
from orchestrator.domain.migration import FileStatus, Wave
from orchestrator.engine.approvals import ask, question
from orchestrator.engine.context import RunContext
from orchestrator.engine.finish import end_run
from orchestrator.engine.stopping import require_going, stoppable
from orchestrator.migrate.breaker import clusters, sample_failed, too_much_fails
from orchestrator.migrate.climbing import Climb
from orchestrator.migrate.ending import all_or_nothing, last_moves, outcome_of
from orchestrator.migrate.judging.coverage import flag_uncovered
from orchestrator.migrate.judging.final import last_look
from orchestrator.migrate.judging.gate import MigrationGate, gate_of
from orchestrator.migrate.judging.invariants import OF_A_TREE
from orchestrator.migrate.judging.weakened import flag_weakened
from orchestrator.migrate.ladder import Pass, passes
from orchestrator.migrate.landing.landings import Landings
from orchestrator.migrate.landing.publishing import publish
from orchestrator.migrate.landing.rollback import roll_back
from orchestrator.migrate.models.leaves import settled_leaves
from orchestrator.migrate.proposing import propose, revise
from orchestrator.migrate.recipe import Recipe
from orchestrator.migrate.recipe.verify import JudgeRules
from orchestrator.migrate.scope.planning import divide
from orchestrator.migrate.wave import (
    current,
    is_asked_for,
    next_wave,
    rest_of_landed,
    sample_before_sweep,
    shards_of,
    wave_files,
)
from worktrees.trees import list_tree

_SHOWN = 10


class MigrationRun:
    """Takes the files in scope up the recipe's ladder, wave by wave, through the queue, into pull requests."""

    def __init__(self, context: RunContext, slots: int) -> None:
        self._context = context
        self._slots = slots
        self._paths: frozenset[str] = frozenset()
        self._gates: dict[str, MigrationGate] = {}

    @property
    def _recipe(self) -> Recipe:
        """The recipe as it stands: people may revise it."""
        return Recipe.model_validate(self._context.state.recipe)

    @property
    def _gate(self) -> MigrationGate:
        """The gate of the recipe as it stands."""
        recipe = self._recipe
        if recipe.revision not in self._gates:
            self._gates[recipe.revision] = gate_of(self._context, recipe, self._paths)
        return self._gates[recipe.revision]

    @property
    def _landings(self) -> Landings:
        return Landings(self._context, self._gate)

    async def execute(self) -> None:
        """Run to the end, or from wherever an earlier process left off.

        Raises:
            OrchestrateError: the run had to stop before its end; it can be resumed.
        """
        context, run = self._context, self._context.state.run
        if context.state.ended is not None:
            return  # another process ended it after this one had found it open
        async with stoppable(context, lambda: None):
            require_going(context)
            self._paths = frozenset(entry.path for entry in await list_tree(context.repository.git, run.base))
            await self._gate.record_baseline()
            await self._divide()
            while context.state.ended is None:
                while (wave := await self._wave()) is not None:
                    await self._carry(wave)
                await self._finish()

    async def _divide(self) -> None:
        """The shards of a run that began without them, before there were any."""
        state, git = self._context.state, self._context.repository.git
        if not state.shards:
            shards = await divide(git, state.run.base, self._recipe, list(state.files.values()))
            await self._context.journal.append(ShardsPlanned(shards=shards))

    async def _wave(self) -> Wave | None:
        """The wave under way, or the next one; None when nothing is left to begin."""
        await revise(self._context, self._recipe)
        if self._context.state.rollbacks:
            await self._roll_back()
        if current(self._context.state) is None:
            await self._regroup()
            await self._look_back()
            begun = next_wave(self._context.state, self._recipe)
            if begun is None:
                return None
            await self._context.journal.append(begun)
        return current(self._context.state)

    async def _roll_back(self) -> None:
        """Take back what people want back. That sites come back with it breaks no rule."""
        rules = tuple(rule for rule in self._recipe.invariant if rule.kind in OF_A_TREE)
        recipe = self._recipe.model_copy(
            update={"invariant": rules, "judge": JudgeRules(diff_review="none", reject_if=())}
        )
        await roll_back(self._context, recipe, gate_of(self._context, recipe, self._paths))

    async def _carry(self, wave: Wave) -> None:
        """Let the files of a wave climb, and land what may land."""
        for number, group in enumerate(passes(self._recipe), start=1):
            await Climb(self._context, self._recipe, self._gate, self._slots).climb(wave, group)
            await self._land(wave, f"wave {wave.number} pass {number}", group)
        require_going(self._context)
        files = wave_files(self._context.state, wave)
        moves = all_or_nothing(files) if self._recipe.migration.atomic else last_moves(files)
        await self._context.journal.append(*moves, WaveEnded(number=wave.number))

    async def _land(self, wave: Wave, name: str, group: Pass) -> None:
        is_atomic = self._recipe.migration.atomic
        files = wave_files(self._context.state, wave)
        if is_atomic and any(file.status.is_failed or group.is_behind(file) for file in files):
            return  # nothing lands while something fails, or belongs to a later pass, which lands it all
        await self._regroup()
        await self._landings.land(name, wave, group, is_atomic=is_atomic)
        await self._context.journal.append(*settled_leaves(self._context.state, self._recipe))
        await self._regroup()

    async def _regroup(self) -> None:
        """What is to come of files whose shard has landed goes on as a shard of its own."""
        rest = rest_of_landed(self._context.state)
        if rest is not None:
            await self._context.journal.append(rest)

    async def _look_back(self) -> None:
        """Between two waves: whether the next may begin, and by which recipe. What a person wants done again may.

        Raises:
            PersonNeeded: too much fails, or fails alike, and nobody has said yet what is to be done.
        """
        state, recipe = self._context.state, self._recipe
        if not state.waves:
            return
        coming = next_wave(state, recipe)
        if coming is not None and is_asked_for(state, coming):
            return
        goes_on = coming is not None
        await propose(self._context, recipe, waits=goes_on)
        if goes_on and (sample := sample_before_sweep(state)):
            await self._judge_sample(sample)
        if goes_on and (why := too_much_fails(state, recipe.stop)):
            await self._ask_whether_to_go_on("breaker", why)

    async def _judge_sample(self, wave: Wave) -> None:
        files = [self._context.state.files[path] for path in self._sampled(wave)]
        why = sample_failed(files, self._recipe.sample)
        if why or self._recipe.sample.gate == "human":
            landed = sum(file.status == FileStatus.MERGED for file in files)
            await self._ask_whether_to_go_on("sample", why or f"{landed} of {len(files)} files of the sample landed")

    def _sampled(self, wave: Wave) -> list[str]:
        return [path for shard in shards_of(self._context.state, wave) for path in shard.files]

    async def _ask_whether_to_go_on(self, subject: str, why: str) -> None:
        """Ask a person; a no leaves out what was not begun."""
        context = self._context
        detail = [one.in_words for one in clusters(context.state.files.values())[:_SHOWN]]
        again = f"-{context.state.judged_again + 1}" if context.state.judged_again else ""
        answer = await ask(context, question(context, "sample", f"{subject}{again}", f"go on although {why}?", detail))
        if answer.decision == "deny":
            reason = f"not begun: {answer.reason or f'denied by {answer.by}'}"
            rest = [file for file in context.state.files.values() if not file.status.is_terminal]
            await context.journal.append(
                *(FileMoved(path=f.path, status=FileStatus.SKIPPED, rung=f.rung, reason=reason) for f in rest)
            )

    async def _finish(self) -> None:
        context = self._context
        state, published = context.state, set(context.state.published)
        held = [shard for shard in state.shards.values() if shard.held]
        kept_back = {path for shard in held for path in shard.files}  # they go on where they stand once released
        await context.journal.append(*last_moves([f for f in state.files.values() if f.path not in kept_back]))
        await context.journal.append(*settled_leaves(context.state, self._recipe))
        outcome, reason = outcome_of(list(context.state.files.values()))
        if held:
            text = f"held back: {', '.join(shard.name for shard in held)}"
            await context.journal.append(Noticed(level="warning", text=text))
        if red := await self._last_look():
            outcome, reason = "partial", f"{reason}; nothing is published: {red}"
        else:
            kept = await publish(context, self._recipe, self._gate, reason)
            if kept:
                outcome, reason = "partial", f"{reason}; not opened, as they are not green alone: {', '.join(kept)}"
        if not (self._is_wanted_more() or set(context.state.published) - published):
            await end_run(context, outcome, reason)

    def _is_wanted_more(self) -> bool:
        """Whether a person has asked for something while the run came to its end."""
        state = self._context.state
        return bool(state.rollbacks) or state.revised is not None or next_wave(state, self._recipe) is not None

    async def _last_look(self) -> str:
        """Why nothing of what landed may be published; empty if it may. Flags what reviewers should look at."""
        context, head = self._context, self._context.state.head
        if head is None:
            return ""
        final = await last_look(context, self._gate, head)
        if not final.reason:
            await flag_weakened(context, head)
            await flag_uncovered(context, self._recipe, head)
        return final.reason
