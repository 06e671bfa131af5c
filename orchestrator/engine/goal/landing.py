"""One round of the queue of a goal: its candidates, how they are composed, and the gate that unions have to pass."""

from collections.abc import Sequence

from orchestrator.domain.ids import CommitId, TaskId, UnitId
from orchestrator.engine.context import RunContext
from orchestrator.engine.judging.union_gate import UnionGate
from orchestrator.engine.merging.file_regeneration import FileRegenerator
from orchestrator.engine.merging.landing_composer import build_landing_composer
from orchestrator.queue.branch_landing import LandingResult
from orchestrator.queue.candidate_order import CandidateFacts
from orchestrator.queue.changed_paths import read_changed_paths
from orchestrator.queue.failure_rate import list_failures
from orchestrator.queue.parallel_round import ParallelLander, ParallelOptions
from orchestrator.queue.trial_pool import TrialPool

_LOOKED_AT = 400
"""So many of the last trials tell how often work is red: more than the verdicts that count."""


async def land_tasks(context: RunContext, tasks: Sequence[TaskId], pool: TrialPool) -> LandingResult:
    """Return one round of the queue over these tasks; what it has tested and not landed stays in the pool."""
    composer = build_landing_composer(context, tasks, FileRegenerator(context), pool.remade)
    facts = list[CandidateFacts]()
    for age, name in enumerate(tasks):
        task = context.state.tasks[name]
        if task.candidate is not None:
            size, pass_rate = task.candidate.added + task.candidate.removed, 1 / max(1, len(task.attempts))
            facts.append(CandidateFacts(task.unit, pass_rate=pass_rate, size=size, age=age))

    async def read_paths(head: CommitId, unit: UnitId) -> frozenset[str]:
        return await read_changed_paths(context.repository.git, head, composer.candidates[unit])

    options = ParallelOptions(
        lambda: context.gate.slots,
        reruns=context.config.gate.reruns,
        failures=list_failures(context.state.trials[-_LOOKED_AT:], context.state.ejections[-_LOOKED_AT:]),
        read_paths=read_paths,
        is_serial=not context.action_order.gathers_news,
    )
    head = await context.read_branch_tip() or context.state.run.base
    lander = ParallelLander(context.journal, UnionGate(context, head), context.branch, pool, context.hooks)
    return await lander.land_candidates(f"round {len(context.state.trials) + 1}", facts, composer, options)
