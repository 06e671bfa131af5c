"""Tests that ask for less than they did: where a codemod made them so they land, and reviewers are told."""

from collections.abc import Sequence

from anyio import to_thread

from orchestrator.domain.event.migration import FilesFlagged
from orchestrator.domain.ids import CommitId
from orchestrator.domain.judging.rules import RuleId
from orchestrator.engine.context import RunContext
from orchestrator.judge.files.changed_file import ChangedFile
from orchestrator.judge.files.path_protection import is_test_path
from orchestrator.judge.rules.change_facts import ChangeFacts
from orchestrator.judge.rules.registry import list_findings
from orchestrator.migrate.judging.uncovered_changes import list_changed_python
from worktrees.object_store.trees import read_blobs

WEAKENED = RuleId.WEAKENED.value
"""The flag of such a file."""


async def flag_weakened_tests(context: RunContext, commit: CommitId) -> None:
    """Flag the changed test files in which assertions, cases or whole tests are gone or weaker; it is never red.

    Only Python files can be told. What a model makes of a test is held to the same before it lands.
    """
    files = context.state.files
    changed = {}
    for path, oid in (await list_changed_python(context, commit)).items():
        if is_test_path(path):
            changed[path] = oid
    bases = {path: files[path].base for path in changed}
    blobs = await read_blobs(context.repository.git, [*changed.values(), *bases.values()])
    made = []
    for p, oid in changed.items():
        made.append(ChangedFile(p, blobs[bases[p]], blobs[oid], files[p].mode, files[p].mode))
    if weakened := await to_thread.run_sync(_list_weakened, made):
        await context.journal.append(FilesFlagged(flag=WEAKENED, paths=tuple(sorted(weakened))))


def _list_weakened(files: Sequence[ChangedFile]) -> set[str]:
    facts = ChangeFacts(files, grants=("**",))
    return {finding.path for finding in list_findings(RuleId.WEAKENED, facts)}
