"""The roles on a scripted model, and what that was told."""

from pathlib import Path
from typing import Any

from orchestrator.agent.model_calls import ModelCaller
from orchestrator.config.layers import load_config
from orchestrator.config.model import BudgetSettings
from orchestrator.domain.event.run import RunStarted
from orchestrator.domain.event.work import TaskCreated
from orchestrator.domain.ids import CommitId, RunId, TreeId
from orchestrator.domain.run.task import Task
from orchestrator.engine.goal.planning import build_root_task
from orchestrator.journal.journal import Journal, SystemClock
from orchestrator.llm.budget import RunBudget
from orchestrator.llm.retry import RetryPolicy
from orchestrator.llm.scripted_model.model import ScriptedModel
from orchestrator.llm.scripted_model.script import ScriptedReply
from orchestrator.ports.codebase import Codebase
from orchestrator.ports.project_rules import NO_PROJECT_RULES, ProjectRules
from roles.model_roles import ModelRoles
from roles.role_context import RoleContext
from tests.doubles.workspace import InMemoryWorkspace


class RoleBench:
    """The roles on a scripted model, and what that was told; `roles` are their settings."""

    def __init__(
        self,
        journal: Journal,
        *items: ScriptedReply,
        rules: ProjectRules = NO_PROJECT_RULES,
        codebase: Codebase | None = None,
        has_memory: bool = False,
        **roles: Any,
    ) -> None:
        self.model = ScriptedModel(items)
        self.journal = journal
        settings = {"worker": {"variants": {"strong": {"model": "x"}}}} | roles
        config = load_config(None, {"roles": settings}, environ={}).config
        asker = ModelCaller(
            self.model, journal, RetryPolicy(tries=1), RunBudget(BudgetSettings(usd=0, tokens=0, calls=0))
        )
        context = RoleContext(config, journal, asker, rules=rules, codebase=codebase, has_memory=has_memory)
        self.roles = ModelRoles(context)
        self.workspace = InMemoryWorkspace({"a.py": b"x = 1\n"})

    def told(self, turn: int = 0) -> str:
        """The last message of a request."""
        return self.model.requests[turn].messages[-1].text


async def open_role_journal(directory: Path, *tasks: Task) -> Journal:
    """A journal of a run that has these tasks below its root."""
    journal, base = Journal(directory, SystemClock()), CommitId("a" * 40)
    started = RunStarted(
        run=RunId("r"),
        mode="goal",
        goal="discounts",
        started_at=SystemClock().now(),
        repository="/repo",
        base=base,
        base_tree=TreeId(base),
        branch="b",
        target="main",
        settings={},
    )
    every = (build_root_task("g"), *tasks)
    await journal.append(started, *(TaskCreated(task=task.id, spec=task) for task in every))
    return journal
