"""The brief on one file of a migration for its worker. Everything that is shown to it is fenced as data."""

from orchestrator.domain.ids import TaskId
from orchestrator.ports.roles import FileBrief
from prompts import PromptSource, fence_text


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
