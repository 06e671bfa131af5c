"""The words of a person that go to whoever made what was sent back or rejected, with the lines that they are about."""

from orchestrator.domain.ids import CommitId, build_landing_item, build_plan_item
from orchestrator.domain.planning.plan_edits import PlanEdit
from orchestrator.domain.run.approval import ApprovalState
from orchestrator.domain.run.person_review import PersonReview, ReviewComment
from orchestrator.domain.run.state import RunState, TaskState
from orchestrator.engine.context import RunContext
from orchestrator.judge.files.changed_file import SYMLINK_MODE
from worktrees.object_store.trees import list_tree, read_entry_contents

_LINE_CHARS = 300
_FILE_BYTES = 1_000_000
"""Lines of a larger file are named by their number only."""


def find_landing_answer(state: RunState, task: TaskState) -> ApprovalState | None:
    """Return the answer to the question whether a task's latest attempt may land; None if nobody has answered."""
    answer = state.approvals.get(build_landing_item(task.unit))
    return answer if answer is not None and answer.decision is not None else None


def find_review_of_plan(state: RunState, task: TaskState) -> PersonReview | None:
    """Return what a person said of a planner's plan of the round before this one; None if it was not sent back."""
    answer = state.approvals.get(build_plan_item(task.spec.id, task.rounds - 1))
    if answer is None or answer.decision != "send-back":
        return None
    return _build_review(answer)


def list_edits_for_round(state: RunState, task: TaskState) -> tuple[PlanEdit, ...]:
    """Return what people made of a planner's plans, as far as the round that it is in is the first to be told."""
    own = [edit for edit in state.goal.plan_edits if edit.task == task.spec.id]
    return tuple(edit for edit in own if edit.heard_in == task.rounds)


async def build_review_for_attempt(context: RunContext, task: TaskState) -> PersonReview | None:
    """Return what a person said that the next attempt at a task has to know.

    It is what came with the answer that sent back or rejected the latest attempt, or the plan that the task is of. What
    an earlier attempt was told and could not land counts on: the next one may be a new conversation.
    """
    state, latest = context.state, task.attempt
    if latest is None:
        answer = state.approvals.get(task.spec.approval)
        return _build_review(answer) if answer is not None and answer.decision == "reject" else None
    answer = find_landing_answer(state, task)
    if answer is None or answer.decision == "approve" or task.candidate is None:
        return latest.review
    review = _build_review(answer)
    comments = await _read_commented_lines(context, task.candidate.commit, review.comments)
    return review.model_copy(update={"comments": comments})


def _build_review(answer: ApprovalState) -> PersonReview:
    return PersonReview(
        by=answer.by, note=answer.reason, comments=answer.comments, is_rejection=answer.decision == "reject"
    )


async def _read_commented_lines(
    context: RunContext, commit: CommitId, comments: tuple[ReviewComment, ...]
) -> tuple[ReviewComment, ...]:
    """Return the comments with the lines that they are about, as they stand in a commit."""
    wanted = [comment.path for comment in comments]
    if not wanted:
        return comments
    git, found = context.repository.git, []
    for entry in await list_tree(git, commit, wanted):
        is_small = (entry.size or 0) <= _FILE_BYTES
        if entry.path in wanted and entry.kind == "blob" and entry.mode != SYMLINK_MODE and is_small:
            found.append(entry)
    contents = await read_entry_contents(git, found)
    return tuple(_add_line_text(comment, contents.get(comment.path, b"")) for comment in comments)


def _add_line_text(comment: ReviewComment, content: bytes) -> ReviewComment:
    lines = content.decode("utf-8", "replace").splitlines()
    if not 1 <= comment.line <= len(lines):
        return comment
    return comment.model_copy(update={"line_text": lines[comment.line - 1][:_LINE_CHARS]})
