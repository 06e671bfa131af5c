"""Changes that no test reaches: files of which no changed line runs while the gate's checks do."""

import ast
from collections.abc import Collection, Iterator, Mapping, Sequence

from anyio import to_thread

from orchestrator.domain.event.migration import FilesFlagged
from orchestrator.domain.event.notices import NoticeCode
from orchestrator.domain.event.run import Noticed
from orchestrator.domain.ids import CommitId
from orchestrator.engine.context import RunContext
from orchestrator.engine.control.stop_signals import require_not_stopping
from orchestrator.errors import EnvironmentProblem, UsageProblem
from orchestrator.judge.coverage.measurement import find_coverage_package, measure_lines_run
from orchestrator.judge.source.python_syntax import parse_python
from orchestrator.migrate.judging.file_change import ChangedRegion
from orchestrator.migrate.judging.file_rules import find_changed_regions
from orchestrator.migrate.recipe import Recipe
from orchestrator.ports.hands import Hands
from orchestrator.ports.notices import record_notice_once
from worktrees.object_store.trees import list_tree, read_blobs

UNCOVERED = "uncovered"
"""The flag of such a file."""


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
            ran = hands.refusal_reason or await _lines_run(context, hands, recipe, commit, sorted(changed))
    except (EnvironmentProblem, UsageProblem, LookupError) as problem:
        ran = str(problem)
    if isinstance(ran, str):
        text = f"whether tests reach what changed is not known: {ran}"
        notice = Noticed(level="info", code=NoticeCode.COVERAGE_UNKNOWN, text=text)
        await record_notice_once(context.journal, notice)
        return
    if unreached := await _unreached(context, changed, ran):
        await context.journal.append(FilesFlagged(flag=UNCOVERED, paths=tuple(sorted(unreached))))


async def _unreached(
    context: RunContext, changed: Mapping[str, str], ran: Mapping[str, Collection[int]]
) -> Collection[str]:
    """The changed files of which no changed statement is among the lines that ran."""
    git = context.repository.git
    contents = await read_blobs(git, list(changed.values()))
    regions = await find_changed_regions(git, {p: (context.state.files[p].base, blob) for p, blob in changed.items()})

    def find_unreached() -> set[str]:
        told = {}
        for p, blob in changed.items():
            told[p] = is_reached(contents[blob], regions[p], ran.get(p, frozenset()))
        return {path for path, is_one in told.items() if not is_one}

    return await to_thread.run_sync(find_unreached)


async def list_changed_python(context: RunContext, commit: CommitId) -> Mapping[str, str]:
    """The run's Python files that differ from the base in a commit, with their blobs."""
    files = context.state.files
    entries = []
    for entry in await list_tree(context.repository.git, commit):
        if entry.path in files:
            entries.append(entry)
    return {e.path: e.oid for e in entries if e.path.endswith(".py") and e.oid != files[e.path].base}


async def _lines_run(
    context: RunContext, hands: Hands, recipe: Recipe, commit: CommitId, paths: Sequence[str]
) -> Mapping[str, Collection[int]] | str:
    """The lines that run in any of the checks; why nothing can be told, if that is so of all of them."""
    total: dict[str, frozenset[int]] = {}
    reasons: list[str] = []
    checks = recipe.build_checks()
    for spec in checks:
        ran = await measure_lines_run(hands, spec, commit, paths, context.config.hands.output_mb * 1024 * 1024)
        if isinstance(ran, str):
            reasons.append(ran)
        else:
            total |= {path: total.get(path, frozenset()) | lines for path, lines in ran.items()}
    if len(reasons) == len(checks):
        return reasons[0]
    return total


def is_reached(content: bytes, regions: Sequence[ChangedRegion], ran: Collection[int]) -> bool:
    """Whether a statement that holds a changed line ran; where none does, whether anything of the file ran. Blocks.

    Args:
        content: of the changed file.
        regions: what changed in it.
        ran: its lines that ran; of a statement over several lines perhaps only some.
    """
    tree = parse_python(content) if ran else None
    if tree is None:
        return bool(ran)
    lines = set()
    for region in regions:
        for line in range(region.new_line, region.new_line + region.added):
            lines.add(line)
    changed = []
    for span in _statements(tree):
        if not lines.isdisjoint(span):
            changed.append(span)
    if changed:
        return any(line in ran for span in changed for line in span)
    return bool(ran)


def _statements(tree: ast.AST) -> Iterator[range]:
    """The lines of each statement that does something; of one that holds others only its head."""
    for node in ast.walk(tree):
        if isinstance(node, ast.stmt) and not _is_text(node):
            inner = []
            for child in ast.iter_child_nodes(node):
                if isinstance(child, ast.stmt | ast.match_case):
                    inner.append(child)
            end = min((_begin(child) for child in inner), default=(node.end_lineno or node.lineno) + 1)
            yield range(_begin(node), max(end, node.lineno + 1))


def _begin(node: ast.stmt | ast.match_case) -> int:
    """The line on which a statement begins, decorators included."""
    if isinstance(node, ast.match_case):
        return node.pattern.lineno
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return min([node.lineno, *(one.lineno for one in node.decorator_list)])
    return node.lineno


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
