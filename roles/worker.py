"""The worker: one task, one workspace, a handful of tools, one report."""

from collections.abc import Callable, Iterator
from functools import partial

from orchestrator.agent.guests.session import GuestSpec, run_guest_session
from orchestrator.agent.session_spec import SessionSpec, index_tools
from orchestrator.agent.tools import files
from orchestrator.agent.tools.base import AnyTool
from orchestrator.agent.tools.contest import build_contest_tool
from orchestrator.agent.tools.harness import (
    build_recall_tool,
    build_request_grant_tool,
    build_request_tier_tool,
    build_submit_tool,
)
from orchestrator.config.engines import LOOP
from orchestrator.config.roles import CommandingSettings, VariantSettings
from orchestrator.domain.chat import Role
from orchestrator.domain.ids import SessionId, TaskId
from orchestrator.domain.policy.decision import find_highest_tier
from orchestrator.domain.policy.rules import PolicyActor
from orchestrator.domain.refs import RunRefs
from orchestrator.domain.run.grant import Grant, find_grant_problems, format_grants
from orchestrator.domain.run.task import Attempt, Handoff, Task
from orchestrator.domain.sandbox.tier import Tier
from orchestrator.domain.text.truncation import truncate_text
from orchestrator.errors import ToolRefused
from orchestrator.ports.hands import Workspace
from orchestrator.ports.journal_search import SearchHit
from orchestrator.ports.roles import ClashBrief, FileBrief, GrantBrief, SessionFailure, WorkBrief
from prompts import PromptSource, fence_text
from roles.brief_text import format_bullets, format_decisions, format_handoff, format_review
from roles.clash_texts import describe_clash, format_change, format_landed_tasks, format_places
from roles.codebase_brief import build_looking_tools
from roles.command_tools import build_command_tools
from roles.grant_decisions import decide_grant
from roles.role_context import RoleContext

_GUEST_PROMPT = "worker-guest"


def format_file_brief(prompts: PromptSource, task: TaskId, brief: FileBrief) -> str:
    """Return the first words of a conversation about a file."""
    return prompts.load_prompt("migrate-tail-brief").render_text(
        task=task,
        path=brief.path,
        recipe=brief.recipe,
        description=brief.description or "(the title says it all)",
        instructions=brief.instructions or "(none beyond the above)",
        attempt=str(brief.attempt),
        attempts=str(brief.attempts),
        note=f"A person who follows the run says: {brief.note}" if brief.note else "",
        shown="\n\n".join(f"{piece.title}\n{fence_text(piece.label, piece.text)}" for piece in brief.pieces),
        left_out=f"There was no room to show: {', '.join(brief.left_out)}." if brief.left_out else "",
    )


async def work_as_guest(
    around: RoleContext, role: Role, settings: VariantSettings, brief: WorkBrief, text: str, workspace: Workspace
) -> Handoff | SessionFailure:
    """Let the engine of these settings carry out a task; `text` is its brief, with the story of earlier attempts.

    A round of feedback is a new conversation with that story, in the agent's own session where it still has that.
    """
    engine, attempt = around.config.engines[settings.engine], brief.attempt
    actor = PolicyActor(role=role, variant=attempt.variant or "")
    prompt = around.prompts.load_prompt(_GUEST_PROMPT)
    spec = SessionSpec(
        id=attempt.session,
        role=role,
        task=brief.task.id,
        settings=settings.model_copy(update={"model": engine.get_label(settings.engine)}),
        prompt=prompt.sha,
        system=prompt.render_text(gate=brief.gate),
        brief=text,
        tools={},
        workspace=workspace,
        anchor=RunRefs(around.ledger.state.run.run).build_anchor_ref(brief.task.id, str(attempt.number)),
        continues=_find_previous_session(attempt) if attempt.goes_on else None,
        tier=partial(_find_guest_tier, around, actor, engine.tier, brief.task.id),
        prompts=around.prompts,
        variant=actor.variant,
    )
    guest = GuestSpec(settings.engine, engine, await around.open_with_words(spec), around.policy)
    return await run_guest_session(guest, around.ledger, around.asker.budget)


def _find_guest_tier(around: RoleContext, actor: PolicyActor, usual: Tier, task: TaskId) -> Tier:
    """Return the tier that a guest runs at: that of its engine, as far as the policy gives it."""
    granted = around.config.hands.tiers.get(task, Tier.FILES)
    return find_highest_tier(around.policy.rule_sets, actor, usual, granted)


class ModelWorker:
    """A `ports.Worker` that asks the models configured under [roles.worker]."""

    role: Role = "worker"

    def __init__(self, around: RoleContext) -> None:
        self._around = around

    def get_model_name(self, variant: str | None) -> str:
        """Return the model that a variant of this worker runs on, or the name of the guest that works in its place."""
        settings = self._choose_settings(variant)
        name = self.get_engine_name(variant)
        return self._around.config.engines[name].get_label(name) if name else settings.model

    def get_engine_name(self, variant: str | None) -> str:
        """Return the engine of a variant; empty for the house's own loop."""
        name = self._around.config.roles.worker.get_variant(variant).engine
        return "" if name == LOOP else name

    async def work_on_task(self, brief: WorkBrief, workspace: Workspace) -> Handoff | SessionFailure:
        """Return the worker's own report; the workspace holds the work."""
        variant = brief.attempt.variant or brief.task.variant
        if self.get_engine_name(variant):
            guest = self._around.config.roles.worker.get_variant(variant)
            return await work_as_guest(
                self._around, self.role, guest, brief, self._write_brief(brief, False), workspace
            )
        prompt = self._around.prompts.load_prompt(self._choose_prompt(brief))
        task, attempt = brief.task, brief.attempt
        tier = partial(self._around.tier_grants.get_tier, self.role, task.id)
        asking = [build_request_grant_tool(partial(self._request_grant, task.id))] if self._may_request(brief) else []
        looking = self._build_looking_tools(brief)
        settings = self._choose_settings(attempt.variant or task.variant)
        actor = PolicyActor(role=self.role, variant=attempt.variant or "")
        working = self._build_working_tools(settings, workspace, task.id, tier, actor)
        tools = index_tools(*asking, *looking, *working, *self._contest_tools(brief))
        goes_on = attempt.goes_on or attempt.fork is not None
        spec = SessionSpec(
            id=attempt.session,
            role=self.role,
            task=task.id,
            settings=settings,
            prompt=prompt.sha,
            system=prompt.render_text(tools=", ".join(f"`{name}`" for name in tools), gate=brief.gate),
            brief=self._write_brief(brief, goes_on),
            tools=tools,
            workspace=workspace,
            anchor=RunRefs(self._around.ledger.state.run.run).build_anchor_ref(task.id, str(attempt.number)),
            continues=_find_previous_session(attempt) if goes_on else None,
            until=attempt.fork.turn if attempt.fork else None,
            tier=tier,
            variant=actor.variant,
        )
        return await self._around.hold_session(spec, Handoff, heard=self._find_heard_instructions(task, spec))

    def _find_heard_instructions(self, task: Task, spec: SessionSpec) -> str | None:
        """Return the user's instructions in the conversation that a session goes on from; None if nobody knows."""
        for attempt in self._around.ledger.state.tasks[task.id].attempts:
            if attempt.session == spec.continues:
                return self._choose_settings(attempt.variant or task.variant).instructions
        return None

    def _build_looking_tools(self, brief: WorkBrief) -> list[AnyTool]:
        """Return the tools that look around in the attempt's base; none for one file of a migration."""
        return [] if brief.file else build_looking_tools(self._around, brief.attempt.base)

    def _contest_tools(self, brief: WorkBrief) -> list[AnyTool]:
        """Return the tool by which a worker contests a verifier's test, if one refused its last attempt."""
        if not brief.contestable:
            return []
        return [build_contest_tool(self._around.ledger, brief.task.id, brief.attempt.number, brief.contestable)]

    def _may_request(self, brief: WorkBrief) -> bool:
        return brief.file is None and self._around.config.plan.grant_requests > 0

    async def _request_grant(self, task: TaskId, wanted: Grant, why: str) -> str:
        """Ask the planner of a task for a grant; return the answer in words for the worker."""
        state = self._around.ledger.state.tasks[task]
        if problems := list(find_grant_problems(wanted)):
            raise ToolRefused(f"Not asked: {problems[0]}")
        if len(state.grant_decisions) >= self._around.config.plan.grant_requests:
            return "Refused: this task has asked as often as it may. Do without, or report what cannot be done."
        brief = GrantBrief(task=state.spec, number=len(state.grant_decisions) + 1, wanted=(wanted,), why=why)
        decided = await decide_grant(self._around, brief)
        return f"{'Granted' if decided.is_allowed else 'Refused'}: {decided.reason}"

    def _can_recall(self, task: TaskId, hit: SearchHit) -> bool:
        """Return True for what was said on the worker's own line of tasks, and about what has landed."""
        run = self._around.ledger.state
        if hit.task is None:
            return True
        said_on = TaskId(hit.task)
        if said_on in run.iterate_lineage(task):
            return True
        other = run.tasks.get(said_on)
        return other is not None and other.status.is_reached

    def _choose_settings(self, variant: str | None) -> CommandingSettings:
        return self._around.config.roles.worker.get_variant(variant)

    def _choose_prompt(self, brief: WorkBrief) -> str:
        return "worker" if brief.file is None else "migrate-tail"

    def _write_brief(self, brief: WorkBrief, goes_on: bool) -> str:
        return _build_brief(self._around.prompts, brief, goes_on)

    def _build_working_tools(
        self,
        settings: CommandingSettings,
        workspace: Workspace,
        task: TaskId,
        tier: Callable[[], Tier],
        actor: PolicyActor,
    ) -> list[AnyTool]:
        ladder = self._around.tier_grants
        looking: list[AnyTool] = [files.build_list_tool(workspace), files.build_search_tool(workspace)]
        if tier() > Tier.FILES:
            looking = build_command_tools(self._around, settings, workspace, tier, actor=actor)
            looking += [build_request_tier_tool(ladder, task)] if tier() < ladder.get_ceiling() else []
        return [
            *looking,
            files.build_read_tool(workspace),
            files.build_edit_tool(workspace),
            files.build_write_tool(workspace),
            build_recall_tool(
                self._around.ledger, partial(self._can_recall, task), "in your own line of tasks and by what has landed"
            ),
            *self._around.build_memory_tools(task),
            build_submit_tool("finish", "The task is done, or cannot be done: report and end.", Handoff),
        ]


def _find_previous_session(attempt: Attempt) -> SessionId:
    """Return the conversation that this attempt goes on with."""
    if attempt.fork:
        return attempt.fork.session
    return attempt.model_copy(update={"number": attempt.number - 1}).session


def _build_brief(prompts: PromptSource, brief: WorkBrief, goes_on: bool) -> str:
    task = brief.task
    if brief.file is not None:
        return format_file_brief(prompts, task.id, brief.file)
    if goes_on:
        return _render_follow_up(prompts, brief)
    return prompts.load_prompt("worker-brief").render_text(
        task=task.id,
        title=task.title,
        outcome=task.outcome,
        acceptance=format_bullets(task.acceptance, "- the outcome holds"),
        paths=", ".join(task.paths) or "whatever the outcome needs",
        grants=format_grants(task.grants) or "none",
        non_goals="; ".join(task.non_goals) or "everything the outcome does not need",
        decisions="; ".join(task.decisions) or "only what the outcome leaves open",
        checks="; ".join(f"`{check}`" for check in task.checks) or "none of its own",
        goal=brief.goal,
        surroundings=_render_surroundings(brief),
        earlier=_render_history(prompts, brief),
    )


def _render_surroundings(brief: WorkBrief) -> str:
    """Return what others decided, and the reports of the tasks that this one builds on."""
    parts = []
    if brief.decisions:
        parts.append(f"Decisions that you have to go by:\n{fence_text('decisions', format_decisions(brief.decisions))}")
    for report in brief.needed:
        if report.handoff:
            words = fence_text("report", truncate_text(format_handoff(report.handoff), _HANDOFF_CHARS).text)
            parts.append(f"What you build on, {report.task.id} ({report.task.title}), has landed. Its report:\n{words}")
    return "\n\n".join(parts) or "Nothing that others decided or made is known to touch this task."


_HANDOFF_CHARS = 4_000
_GO_ON = (
    "An earlier attempt ran out before it could finish. Your copy holds its files: look at `git status` and `git diff` "
    "first, keep what is good and do the rest."
)


def _render_history(prompts: PromptSource, brief: WorkBrief) -> str:
    """Return what a person says, and what became of the attempt before."""
    parts, attempt = [], brief.attempt
    if attempt.note:
        parts.append(f"A person who follows the run says: {attempt.note}")
    if attempt.review and format_review(attempt.review):
        parts.append(f"{_describe_review(attempt)}\n{fence_text('person', format_review(attempt.review))}")
    if brief.clash is None:
        parts.append(_before_this(attempt))
    else:
        parts += _explain_clash(prompts, attempt, brief.clash)
    return "\n\n".join(parts)


def _explain_clash(prompts: PromptSource, attempt: Attempt, clash: ClashBrief) -> Iterator[str]:
    """Yield what does not go together with what landed, and the report of the worker before."""
    if attempt.mode != "rebase":
        yield _GO_ON
    yield prompts.load_prompt("worker-clash").render_text(
        how=describe_clash(clash),
        evidence=_evidence(attempt),
        places=format_places(clash),
        wanted=format_landed_tasks(clash),
        landed=format_change("landed", clash.landed_change),
    )
    if attempt.handoff:
        yield f"What the worker before you reported:\n{fence_text('report', format_handoff(attempt.handoff))}"


def _describe_review(attempt: Attempt) -> str:
    if attempt.number == 1:
        return "A person rejected the plan that this task is of. What they said, which holds for you:"
    if attempt.review and attempt.review.is_rejection:
        return "A person rejected what an earlier attempt made. What they said, which holds for you:"
    return "A person sent back what an earlier attempt made. What they said, which holds for you:"


def _before_this(attempt: Attempt) -> str:
    if not attempt.feedback:
        if attempt.number == 1:
            return "This is the first attempt."
        return "You begin afresh."
    how = _GO_ON
    if not attempt.start:
        how = "An earlier attempt did not land, and you begin afresh."
    parts = [f"{how} What was found:\n{_evidence(attempt)}"]
    if attempt.handoff:
        parts.append(f"What it reported:\n{fence_text('report', format_handoff(attempt.handoff))}")
    return "\n\n".join(parts)


def _render_follow_up(prompts: PromptSource, brief: WorkBrief) -> str:
    attempt = brief.attempt
    if attempt.fork:
        said = attempt.note or "Go on from here, on another way than before."
        return f"A person who follows the run had you begin again from this point: {said}"
    if attempt.mode == "sent-back" and attempt.review:
        words = fence_text("person", format_review(attempt.review))
        return prompts.load_prompt("worker-sent-back").render_text(words=words)
    return prompts.load_prompt("worker-again").render_text(reasons=_evidence(attempt))


def _evidence(attempt: Attempt) -> str:
    """Return why the attempt before did not land; it quotes test output and reviewers, so it is fenced as data."""
    return fence_text("evidence", "\n\n".join(attempt.feedback))
