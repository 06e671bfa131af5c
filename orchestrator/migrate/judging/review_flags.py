"""Flags for reviewers, which block nothing: tests that ask for less, and changes that no test reaches."""

import ast
from collections.abc import Collection, Iterator, Mapping, Sequence

from anyio import to_thread

from orchestrator.domain.event.migration import FilesFlagged
from orchestrator.domain.event.run import Noticed
from orchestrator.domain.ids import CommitId
from orchestrator.domain.judging.verdict import RuleId
from orchestrator.domain.recipe.model import Recipe
from orchestrator.domain.run.notice_codes import NoticeCode
from orchestrator.engine.context import RunContext
from orchestrator.engine.control.stop_signals import require_not_stopping
from orchestrator.errors import EnvironmentProblem, UsageProblem
from orchestrator.judge.coverage.measurement import find_coverage_package, measure_lines_run
from orchestrator.judge.files.changed_file import ChangedFile, is_test_path
from orchestrator.judge.rules.change_facts import ChangeFacts
from orchestrator.judge.rules.registry import list_findings
from orchestrator.judge.source.python_syntax import parse_python
from orchestrator.migrate.judging.file_rules import find_changed_regions
from orchestrator.migrate.judging.invariants import ChangedRegion, list_changed_files
from orchestrator.ports.hands import Hands
from orchestrator.ports.ledger import record_notice_once
from worktrees.object_store.trees import read_blobs

UNCOVERED = "uncovered"
"""The flag of a file of which no changed line runs while the gate's checks do."""
WEAKENED = RuleId.WEAKENED.value
"""The flag of a test file in which assertions, cases or whole tests are gone or weaker."""


async def flag_uncovered_files(context: RunContext, recipe: Recipe, commit: CommitId) -> None:
    """Run the gate's checks once more on what landed, with coverage, and flag the changed files that no test reaches.

    Only Python files can be told. Where it cannot be found out people are told why; it is never red.
    """
    changed = await list_changed_python(context, commit)
    lending = context.lend_hands
    if not recipe.verify.coverage or not changed or lending is None:
        return
    require_not_stopping(context)
    try:
        async with lending([find_coverage_package()]) as hands:
            ran = hands.refusal_reason or await _measure_lines(context, hands, recipe, commit, sorted(changed))
    except (EnvironmentProblem, UsageProblem, LookupError) as problem:
        ran = str(problem)
    if isinstance(ran, str):
        text = f"whether tests reach what changed is not known: {ran}"
        notice = Noticed(level="info", text=text, code=NoticeCode.COVERAGE_UNKNOWN)
        await record_notice_once(context.journal, notice)
        return
    if unreached := await _find_unreached(context, changed, ran):
        await context.journal.append(FilesFlagged(flag=UNCOVERED, paths=tuple(sorted(unreached))))


async def _find_unreached(
    context: RunContext, changed: Mapping[str, str], ran: Mapping[str, Collection[int]]
) -> Collection[str]:
    """Return the changed files of which no changed statement is among the lines that ran."""
    git = context.repository.git
    contents = await read_blobs(git, list(changed.values()))
    pairs = {path: (context.state.migration.files[path].base, blob) for path, blob in changed.items()}
    regions = await find_changed_regions(git, pairs)
    unreached = []
    for path, blob in changed.items():
        if not await to_thread.run_sync(is_reached, contents[blob], regions[path], ran.get(path, frozenset())):
            unreached.append(path)
    return unreached


async def list_changed_python(context: RunContext, commit: CommitId) -> Mapping[str, str]:
    """Return the run's Python files that differ from the base in a commit, with their blobs."""
    changed = await list_changed_files(context, commit)
    return {path: blob for path, (_, blob) in changed.items() if path.endswith(".py")}


async def _measure_lines(
    context: RunContext, hands: Hands, recipe: Recipe, commit: CommitId, paths: Sequence[str]
) -> Mapping[str, Collection[int]] | str:
    """Return the lines that run in any of the checks; why nothing can be told, if that is so of all of them."""
    total: dict[str, frozenset[int]] = {}
    reasons: list[str] = []
    checks = recipe.build_checks()
    for spec in checks:
        ran = await measure_lines_run(hands, spec, commit, paths, context.config.hands.output_mb * 1024 * 1024)
        if isinstance(ran, str):
            reasons.append(ran)
        else:
            for path, lines in ran.items():
                total[path] = total.get(path, frozenset()) | lines
    return reasons[0] if len(reasons) == len(checks) else total


def is_reached(content: bytes, regions: Sequence[ChangedRegion], ran: Collection[int]) -> bool:
    """Return True if a statement that holds a changed line ran; where none does, if anything of the file ran. Blocks.

    Args:
        content: of the changed file.
        regions: what changed in it.
        ran: its lines that ran; of a statement over several lines perhaps only some.
    """
    tree = parse_python(content) if ran else None
    if tree is None:
        return bool(ran)
    lines: set[int] = set()
    for region in regions:
        lines.update(range(region.new_line, region.new_line + region.added))
    changed = [span for span in _list_statements(tree) if not lines.isdisjoint(span)]
    if not changed:
        return bool(ran)
    return any(not frozenset(ran).isdisjoint(span) for span in changed)


def _list_statements(tree: ast.AST) -> Iterator[range]:
    """Yield the lines of each statement that does something; of one that holds others only its head."""
    for node in ast.walk(tree):
        if isinstance(node, ast.stmt) and not _is_text(node):
            end = (node.end_lineno or node.lineno) + 1
            for child in ast.iter_child_nodes(node):
                if isinstance(child, ast.stmt | ast.match_case):
                    end = min(end, _find_first_line(child))
            yield range(_find_first_line(node), max(end, node.lineno + 1))


def _find_first_line(node: ast.stmt | ast.match_case) -> int:
    """Return the line on which a statement begins, decorators included."""
    if isinstance(node, ast.match_case):
        return node.pattern.lineno
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return min([node.lineno, *(one.lineno for one in node.decorator_list)])
    return node.lineno


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


async def flag_weakened_tests(context: RunContext, commit: CommitId) -> None:
    """Flag the changed test files in which assertions, cases or whole tests are gone or weaker; it is never red.

    Only Python files can be told. What a model makes of a test is held to the same before it lands.
    """
    changed = {}
    for path, blob in (await list_changed_python(context, commit)).items():
        if is_test_path(path):
            changed[path] = (context.state.migration.files[path], blob)
    oids = [oid for file, blob in changed.values() for oid in (file.base, blob)]
    blobs = await read_blobs(context.repository.git, oids)
    tests = []
    for path, (file, blob) in changed.items():
        tests.append(ChangedFile(path, blobs[file.base], blobs[blob], file.mode, file.mode))
    if weakened := await to_thread.run_sync(_find_weakened, tests):
        await context.journal.append(FilesFlagged(flag=WEAKENED, paths=tuple(sorted(weakened))))


def _find_weakened(files: Sequence[ChangedFile]) -> set[str]:
    facts = ChangeFacts(files, grants=("**",))
    return {finding.path for finding in list_findings(RuleId.WEAKENED, facts)}
