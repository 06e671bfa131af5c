"""The worker: one task, one workspace, a handful of tools, one report."""

from collections.abc import Callable
from functools import partial

from orchestrator.agent.spec import SessionSpec, anchor_ref, tool_box
from orchestrator.agent.tools.base import AnyTool
from orchestrator.agent.tools.files import edit_tool, list_tool, read_tool, search_tool, write_tool
from orchestrator.agent.tools.recall import recall_tool
from orchestrator.agent.tools.shell import shell_tool
from orchestrator.agent.tools.submit import submit_tool
from orchestrator.agent.tools.tier import tier_tool
from orchestrator.config.roles import ModelSettings
from orchestrator.domain.attempt import Attempt
from orchestrator.domain.handoff import Handoff
from orchestrator.domain.ids import SessionId, TaskId
from orchestrator.domain.tier import Tier
from orchestrator.ports.hands import Workspace
from orchestrator.ports.roles import SessionResult, WorkBrief
from prompts import PromptSource, fence
from roles.base import Surroundings, bullets, handoff_text
from roles.file import file_text


class ModelWorker:
    """A `ports.Worker` that asks the models configured under [roles.worker]."""

    def __init__(self, around: Surroundings) -> None:
        self._around = around

    def model(self, variant: str | None) -> str:
        """The model that a variant of this worker runs on."""
        return self._settings(variant).model

    async def work(self, brief: WorkBrief, workspace: Workspace) -> Handoff | SessionResult:
        """The worker's own report; the workspace holds the work."""
        prompt = self._around.prompts.load("worker" if brief.file is None else "migrate-tail")
        task, attempt = brief.task, brief.attempt
        tier = partial(self._around.ladder.tier, "worker", task.id)
        tools = tool_box(*self._tools(workspace, task.id, tier))
        goes_on = attempt.mode in {"revise", "fork"}
        spec = SessionSpec(
            id=attempt.session,
            role="worker",
            task=task.id,
            settings=self._settings(task.variant),
            prompt=prompt.sha,
            system=prompt.render(tools=", ".join(f"`{name}`" for name in tools), gate=brief.gate),
            brief=_told(self._around.prompts, brief, goes_on),
            tools=tools,
            workspace=workspace,
            anchor=anchor_ref(self._around.ledger.state.run.run, task.id, str(attempt.number)),
            continues=_before(attempt) if goes_on else None,
            until=attempt.fork.turn if attempt.fork else None,
            tier=tier,
        )
        return await self._around.hold(spec, Handoff)

    def _settings(self, variant: str | None) -> ModelSettings:
        return self._around.config.roles.worker.variant(variant)

    def _tools(self, workspace: Workspace, task: TaskId, tier: Callable[[], Tier]) -> list[AnyTool]:
        hands, ladder = self._around.config.hands, self._around.ladder
        looking: list[AnyTool] = [list_tool(workspace), search_tool(workspace)]
        if tier() > Tier.FILES:
            looking = [shell_tool(workspace, hands.command_timeout_s, hands.output_mb * 1024 * 1024, tier)]
            looking += [tier_tool(ladder, task)] if tier() < ladder.ceiling() else []
        return [
            *looking,
            read_tool(workspace),
            edit_tool(workspace),
            write_tool(workspace),
            recall_tool(self._around.ledger),
            submit_tool("finish", "The task is done, or cannot be done: report and end.", Handoff),
        ]


def _before(attempt: Attempt) -> SessionId:
    """The conversation that this attempt goes on with."""
    if attempt.fork:
        return attempt.fork.session
    return attempt.model_copy(update={"number": attempt.number - 1}).session


def _told(prompts: PromptSource, brief: WorkBrief, goes_on: bool) -> str:
    if brief.file is not None:
        return file_text(prompts, brief.task.id, brief.file)
    return (_again if goes_on else _first)(prompts, brief)


def _first(prompts: PromptSource, brief: WorkBrief) -> str:
    task = brief.task
    return prompts.load("worker-brief").render(
        task=task.id,
        title=task.title,
        outcome=task.outcome,
        acceptance=bullets(task.acceptance, "- the outcome holds"),
        paths=", ".join(task.paths) or "whatever the outcome needs",
        grants=", ".join(task.grants) or "none",
        non_goals="; ".join(task.non_goals) or "everything the outcome does not need",
        decisions="; ".join(task.decisions) or "only what the outcome leaves open",
        checks="; ".join(f"`{check}`" for check in task.checks) or "none of its own",
        goal=brief.goal,
        earlier=_earlier(brief.attempt),
    )


_GO_ON = (
    "An earlier attempt ran out before it could finish. Your copy holds its files: look at `git status` and `git diff` "
    "first, keep what is good and do the rest."
)


def _earlier(attempt: Attempt) -> str:
    """What a person says, and what became of the attempt before."""
    note = f"A person who follows the run says: {attempt.note}\n\n" if attempt.note else ""
    return note + _before_this(attempt)


def _before_this(attempt: Attempt) -> str:
    if not attempt.feedback:
        return "This is the first attempt." if attempt.number == 1 else "You begin afresh."
    how = _GO_ON if attempt.start else "An earlier attempt did not land, and you begin afresh."
    parts = [f"{how} What was found:\n{_evidence(attempt)}"]
    if attempt.handoff:
        parts.append(f"What it reported:\n{fence('report', handoff_text(attempt.handoff))}")
    return "\n\n".join(parts)


def _again(prompts: PromptSource, brief: WorkBrief) -> str:
    attempt = brief.attempt
    if attempt.fork:
        said = attempt.note or "Go on from here, on another way than before."
        return f"A person who follows the run had you begin again from this point: {said}"
    return prompts.load("worker-again").render(reasons=_evidence(brief.attempt))


def _evidence(attempt: Attempt) -> str:
    """Why the attempt before did not land; it quotes test output and reviewers, so it is fenced as data."""
    return fence("evidence", "\n\n".join(attempt.feedback))
