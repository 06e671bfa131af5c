"""The texts of briefs about two sides that clashed, as a worker and the arbiter read them. Changes are data."""

from orchestrator.domain.run.task import Task
from orchestrator.ports.roles import ClashBrief
from prompts import fence_text
from roles.brief_text import format_bullets

_MARKED = (
    "These files clash: {paths}. In them each place stands between markers: after `<<<<<<< what landed meanwhile` what "
    "the branch has now, after `||||||| as it was before both` what both began from, after `=======` what this task "
    "made of it. Write what serves both in the place of each, and remove the markers: none may be left. A file without "
    "markers, such as one that a side deleted or that is no text, is as one side has it: look at both changes. "
    "Everything else is merged."
)
_RED_TOGETHER = "All lines merge, so there are no markers. But together tests are red that are green on either side."


def describe_clash(clash: ClashBrief) -> str:
    """Return how the two sides stand to each other, and what the files hold."""
    if clash.paths:
        return _MARKED.format(paths=", ".join(clash.paths))
    return _RED_TOGETHER


def format_places(clash: ClashBrief) -> str:
    """Return the places that clash, file by file; empty where nothing does."""
    parts = []
    for piece in clash.places:
        parts.append(f"In {piece.title}:\n{fence_text(piece.label, piece.text)}\n")
    return "\n".join(["", *parts]) if parts else ""


def format_landed_tasks(clash: ClashBrief) -> str:
    """Return what each of the tasks that landed was to reach."""
    lines = [fence_text("task", _format_intent(task)) for task in clash.landed]
    return "\n".join(lines) or "(work of a person, or of nobody that is known)"


def _format_intent(task: Task) -> str:
    lines = [f"{task.id}: {task.title}", task.outcome]
    if task.acceptance:
        lines.append(f"It was reached when\n{format_bullets(task.acceptance)}")
    return "\n".join(lines)


def format_change(label: str, patch: str) -> str:
    """Return a patch as data."""
    return fence_text(label, patch or "(nothing that can be shown)")
