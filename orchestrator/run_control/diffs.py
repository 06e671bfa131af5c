"""Make the diffs that `diff` prints."""

from pathlib import Path

from anyio import to_thread

from orchestrator.domain.run.state import RunState
from orchestrator.errors import UsageProblem
from orchestrator.project.options import open_repository
from orchestrator.report.rows.question_targets import find_target_question
from orchestrator.report.rows.questions import find_questioned_change
from orchestrator.report.run.left_lines import find_left_line
from orchestrator.report.task.details import get_file_record, get_task
from worktrees.diffs.file_diffs import read_diff_stat, read_diff_text
from worktrees.git import Git
from worktrees.object_store.tree_overlay import overlay_tree


async def render_change(repository: Path, state: RunState, name: str | None, attempt: int | None, stat: bool) -> str:
    """Return the change of a whole run, of a task's attempt, of one file of a migration, or what a restart left.

    Raises:
        UsageProblem: there is no such task, attempt or file.
    """
    git = (await to_thread.run_sync(open_repository, repository)).git
    old, new = await _find_ends(git, state, name, attempt)
    if stat:
        return await read_diff_stat(git, old, new)
    return await read_diff_text(git, old, new)


async def _find_ends(git: Git, state: RunState, name: str | None, attempt: int | None) -> tuple[str, str]:
    if name is None:
        return state.run.base, state.head or state.run.base
    if name not in state.tasks and (left := find_left_line(state, name)) is not None:
        return left.start, left.tip
    question = find_target_question(state, name)
    if question is not None:
        questioned = find_questioned_change(state, question.approval.item)
        if questioned is None:
            raise UsageProblem(f"question {name} is about no change that can be shown: see orchestrate inbox")
        new = questioned.new
        if questioned.files:
            new = await overlay_tree(git, new, questioned.files)
        return questioned.old, new
    if state.run.mode == "migration" and name not in state.tasks:
        if attempt is not None:
            raise UsageProblem(f"{name} is a file of a migration, which has no attempts: leave out --attempt")
        file = get_file_record(state, name)
        change = {file.path: (file.mode, file.blob or file.tried or file.base)}
        return state.run.base_tree, await overlay_tree(git, state.run.base_tree, change)
    task = get_task(state, name)
    candidates = [c for c in task.candidates if attempt in (None, c.number)]
    if not candidates:
        raise UsageProblem(f"task {name} has no candidate{f' of attempt {attempt}' if attempt else ' yet'}")
    candidate = candidates[-1]
    return next(tried.base for tried in task.attempts if tried.number == candidate.number), candidate.commit
