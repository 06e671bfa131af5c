"""`plan`: call the root planner alone. It reads a workspace and asks its model; nothing of the run is kept."""

import tempfile
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from pathlib import Path

from anyio import to_thread

from orchestrator.app.codebase import open_codebase
from orchestrator.app.configured_prompts import load_configured_prompts
from orchestrator.app.policies import open_policy
from orchestrator.app.role_wiring import build_role_context
from orchestrator.app.run_creation import require_models
from orchestrator.app.tool_servers import open_tool_servers
from orchestrator.config.model import Config
from orchestrator.config.roles import VerifierSettings
from orchestrator.domain.ids import CommitId
from orchestrator.domain.purpose import Purpose
from orchestrator.domain.run.contract import Contract
from orchestrator.domain.run.plan import KeepPlan, Plan, PlanLimits
from orchestrator.domain.run.task import Handoff
from orchestrator.engine.control.approvals import RunTierGrants
from orchestrator.engine.goal.iterations import build_contract
from orchestrator.engine.goal.planning import build_root_task
from orchestrator.errors import EnvironmentProblem
from orchestrator.forge.target_branch import require_target_branch
from orchestrator.hands.local import open_local_hands
from orchestrator.journal.journal import EventListener, Journal, SystemClock
from orchestrator.llm.router import ModelRouter
from orchestrator.ports.roles import PlanningBrief
from orchestrator.project.options import Options, build_grant, build_litellm_client, load_project_context
from orchestrator.project.secrets import build_redactor
from orchestrator.project_rules.repository_rules import RepositoryRules
from roles.model_roles import ModelRoles
from roles.role_context import AgentSources


@dataclass(frozen=True)
class GoalPlan:
    """The beginning of a run: its contract, and the root planner's plan or its report that nothing is to be done.

    `verifier` says which tasks get tests of a verifier.
    """

    contract: Contract
    plan: Plan | Handoff
    verifier: VerifierSettings


async def plan_goal(options: Options, goal: str, listener: EventListener | None = None) -> GoalPlan:
    """Return the root planner's plan for a goal, or its report that nothing needs to be done.

    `listener` gets every event of the planner's work.

    Raises:
        OrchestrateError: it could not plan; says why.
    """
    project = await to_thread.run_sync(load_project_context, options)
    config = project.config
    await require_models(config, "planner")
    prompts = await load_configured_prompts(config)
    await require_target_branch(project.repository, config)
    contract = build_contract(goal, config.gate.command, (settings.build_criterion() for settings in config.contract))
    brief = _build_brief(config, goal, contract)
    with tempfile.TemporaryDirectory(prefix="orchestrate-plan-") as scratch:
        redactor = await to_thread.run_sync(build_redactor, config)
        journal = Journal(Path(scratch), SystemClock(), redactor)
        if listener is not None:
            journal.listeners.append(listener)
        async with (
            open_local_hands(project.repository, project.state.path, build_grant(config), redactor=redactor) as hands,
            ModelRouter(Path(), connect=partial(build_litellm_client, config)) as router,
        ):
            head = CommitId(project.repository.read_head_commit())
            workspace = await hands.open_workspace(head, Purpose("planning"))
            git = project.repository.git
            rules = RepositoryRules(git, head, config.rules.files)
            codebase = open_codebase(git, head, project.state.path, config)
            policy = await open_policy(journal, git, head, lambda: config)
            tier_grants = RunTierGrants(lambda: config, journal, policy)
            sources = AgentSources(prompts, rules, codebase, policy=policy, servers=open_tool_servers(config))
            roles = ModelRoles(build_role_context(config, journal, router, tier_grants=tier_grants, sources=sources))
            result = await roles.planner.plan_slice(brief.model_copy(update={"commit": head}), workspace)
        journal.close()
    if isinstance(result, Plan | Handoff):
        return GoalPlan(contract, result, config.roles.verifier)
    if isinstance(result, KeepPlan):
        raise EnvironmentProblem(f"the planner made no plan: {result.reason}")
    raise EnvironmentProblem(f"the planner ended {result.exit}: {result.detail}")


def build_root_limits(config: Config) -> PlanLimits:
    """Return the bounds of the first plan of a run."""
    return PlanLimits(
        depth=0,
        max_depth=config.plan.max_depth,
        max_children=config.plan.max_children,
        variants=tuple(sorted(config.roles.worker.variants)),
        max_best_of=config.plan.max_best_of,
        left_usd=Decimal(str(config.budget.usd)) if config.budget.usd else None,
    )


def _build_brief(config: Config, goal: str, contract: Contract) -> PlanningBrief:
    limits = build_root_limits(config)
    task, rounds_left = build_root_task(goal), config.plan.max_rounds - 1
    return PlanningBrief(task=task, goal=goal, contract=contract, round=1, limits=limits, rounds_left=rounds_left)
