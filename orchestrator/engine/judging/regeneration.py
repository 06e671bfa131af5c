"""Running a task's generator again: what it makes as the candidate has it, nobody has to read.

It runs on the base, and if that does not explain enough on the candidate with its largest files as on the base.
"""

from collections.abc import Iterator, Sequence

from orchestrator.domain.ids import CommitId
from orchestrator.domain.purpose import Purpose
from orchestrator.domain.run.task import Task
from orchestrator.engine.context import RunContext
from orchestrator.engine.judging.candidate_changes import CandidateChanges, create_restored_commit
from orchestrator.hands.execution.workspace_runner import run_command
from orchestrator.judge.files.changed_file import ChangedFile
from orchestrator.judge.rules.whole_change import MAX_CHANGED_LINES, count_read_lines
from orchestrator.ports.hands import ShellCommand
from worktrees.diffs.tree_changes import compare_trees

_TIMEOUT_S = 600.0
_MESSAGE = "The candidate without what its generator makes"


async def find_regenerated_files(
    context: RunContext, task: Task, base: CommitId, candidate: CommitId, changes: CandidateChanges
) -> frozenset[str]:
    """Return the changed files that the task's generator makes just so; none where the change is small enough."""
    if not task.regenerate or count_read_lines(changes.files, changes.sizes) <= MAX_CHANGED_LINES:
        return frozenset()
    found = await _run_generator(context, task, base, candidate, changes.files)
    if count_read_lines(changes.files, changes.sizes, found) <= MAX_CHANGED_LINES:
        return found
    git, when = context.repository.git, context.commit_date
    paths = list(_iterate_largest(changes, found))
    restored = await create_restored_commit(git, candidate, base, paths, when, _MESSAGE)
    if restored is None:
        return found
    return found | await _run_generator(context, task, restored.commit, candidate, changes.files)


def _iterate_largest(changes: CandidateChanges, found: frozenset[str]) -> Iterator[str]:
    """Yield the largest files that are not explained yet, until the rest is small enough to be read."""
    rest = count_read_lines(changes.files, changes.sizes, found)
    for file in sorted(changes.files, key=lambda file: -changes.sizes.get(file.path, 0)):
        if file.path in found:
            continue
        if rest <= MAX_CHANGED_LINES:
            return
        rest -= changes.sizes.get(file.path, 0)
        yield file.path


async def _run_generator(
    context: RunContext, task: Task, start: CommitId, candidate: CommitId, files: Sequence[ChangedFile]
) -> frozenset[str]:
    """Return the changed files that are as the candidate has them after the command has run at `start`."""
    purpose = Purpose.for_attempt(task.id, len(context.state.tasks[task.id].attempts)).with_detail("generated anew")
    output_bytes = context.config.hands.output_mb * 1024 * 1024
    async with context.lend_workspace(start, purpose) as workspace:
        command = ShellCommand(line=task.regenerate, timeout_s=_TIMEOUT_S, output_bytes=output_bytes)
        await run_command(workspace, command)
        ref = context.refs.build_anchor_ref(task.id, "regenerated")
        made = await workspace.take_snapshot(f"{task.id}: generated anew", ref)
    git = context.repository.git
    others = {change.path for change in await compare_trees(git, made.commit, candidate)}
    untouched = {change.path for change in await compare_trees(git, start, candidate)}
    return frozenset(file.path for file in files if file.path in untouched and file.path not in others)
