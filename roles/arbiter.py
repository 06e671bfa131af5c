"""The arbiter: brings together two pieces of work that their workers could not, and belongs to neither side."""

from orchestrator.config.roles import CommandingSettings
from orchestrator.domain.chat import Role
from orchestrator.domain.run.grant import format_grants
from orchestrator.ports.roles import ClashBrief, WorkBrief
from prompts import fence_text
from roles.brief_text import format_bullets, format_handoff
from roles.clash_texts import describe_clash, format_change, format_landed_tasks, format_places
from roles.worker import ModelWorker


class ModelArbiter(ModelWorker):
    """A `ports.Worker` that asks the model configured under [roles.arbiter], with the tools of a worker."""

    role: Role = "arbiter"

    def get_engine_name(self, variant: str | None) -> str:
        """Return no name: the arbiter is always a model in the house's own loop."""
        return ""

    def _choose_settings(self, _variant: str | None) -> CommandingSettings:
        return self._around.config.roles.get_arbiter_settings()

    def _choose_prompt(self, _brief: WorkBrief) -> str:
        return "arbiter"

    def _write_brief(self, brief: WorkBrief, _goes_on: bool) -> str:
        task, attempt, clash = brief.task, brief.attempt, brief.clash or ClashBrief()
        report = ""
        if attempt.handoff:
            report = f"What the task's last worker reported:\n{fence_text('report', format_handoff(attempt.handoff))}\n"
        return self._around.prompts.load_prompt("arbiter-brief").render_text(
            task=task.id,
            title=task.title,
            outcome=task.outcome,
            acceptance=format_bullets(task.acceptance, "- the outcome holds"),
            paths=", ".join(task.paths) or "whatever the outcome needs",
            grants=format_grants(task.grants) or "none",
            checks="; ".join(f"`{check}`" for check in task.checks) or "none of its own",
            goal=brief.goal,
            how=describe_clash(clash),
            evidence=fence_text("evidence", "\n\n".join(attempt.feedback)),
            places=format_places(clash),
            own=format_change("own", clash.own_change),
            wanted=format_landed_tasks(clash),
            landed=format_change("landed", clash.landed_change),
            report=report,
        )
