"""What a planner is shown of the repository before it looks: a map, hot files, and an inventory of the tests."""

from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import partial

from orchestrator.agent.tools.base import AnyTool
from orchestrator.agent.tools.codebase import build_codebase_tools
from orchestrator.domain.ids import CommitId
from orchestrator.domain.text.listing import format_count, join_limited
from orchestrator.domain.text.sanitization import to_one_line
from orchestrator.errors import BlobLost, ToolRefused
from orchestrator.judge.gate.flakiness import read_outcomes
from orchestrator.judge.selection.selected_tests import find_test_file
from orchestrator.ports.codebase import Codebase, MapRequest, TestFile
from orchestrator.ports.ledger import Ledger
from prompts import fence_text
from roles.brief_text import BriefPart
from roles.report_digest import fit_lines
from roles.role_context import RoleContext

_MAX_TEST_FILES = 2_000
_LISTED_TESTS = 12
_MAX_IMPORTS = 4
_TOOL_TOKENS = 2_000
"""What a map takes at least that an agent asks for."""


class CodebaseBrief:
    """The texts about the repository; empty where the settings have none, or nobody can read it."""

    def __init__(self, drawn: str = "", around_it: str = "") -> None:
        self._drawn = drawn
        self._around_it = around_it

    def list_parts(self) -> list[BriefPart]:
        """Return the parts of a brief about the repository, as data; the end of what is too long is left out."""
        parts = []
        for name, lead, label, text in (
            ("the map", "The repository as it is now: what matters most for this, by line\n", "map", self._drawn),
            ("history and tests", "Its history and tests\n", "repository", self._around_it),
        ):
            if text:
                parts.append(BriefPart(name, lead, partial(_fence_first_lines, label, text)))
        return parts


def _fence_first_lines(label: str, text: str, room: int) -> str:
    """Return the first lines of a text as data, in so many characters, and how many more there are."""
    left = room - len(fence_text(label, ""))
    if len(text) <= left:
        return fence_text(label, text)
    return fence_text(label, "\n".join(fit_lines(text.split("\n"), left, "lines")))


async def describe_codebase(
    around: RoleContext, commit: CommitId | None, texts: Iterable[str], *, has_baseline: bool = True
) -> CodebaseBrief:
    """Return what a planner is shown of a commit, for a slice that `texts` describe.

    Unless it `has_baseline`, the gate still runs on the base: then nothing is said of the tests in that run.
    """
    codebase, tokens = around.codebase, around.config.map.tokens
    if codebase is None or commit is None or not tokens:
        return CodebaseBrief()
    try:
        drawn = await codebase.draw_map(MapRequest(commit, tuple(texts), tokens))
    except ToolRefused:
        return CodebaseBrief()  # a repository without all of its objects has none; the planner looks for itself
    lines = []
    hot = await codebase.list_hot_files()
    if hot:
        words = []
        for file in hot:
            words.append(f"{to_one_line(file.path)} ({file.commits})")
        lines.append(f"Changed most often lately (commits): {', '.join(words)}")
    lines += await _describe_tests(around.ledger, codebase, commit, has_baseline)
    return CodebaseBrief(drawn, "\n".join(lines))


async def _describe_tests(ledger: Ledger, codebase: Codebase, commit: CommitId, has_baseline: bool) -> list[str]:
    """Return the test files with what they import, and how many tests the gate found in each on the base."""
    count, files = await codebase.list_tests(commit, _MAX_TEST_FILES)
    if not count:
        return ["No file of tests was found by its name."]
    total, counted, told = 0, Counter[str](), "; the gate's run on the base is still under way"
    if has_baseline:
        total, counted = await _count_tests(ledger, files)
        told = f", with {format_count(total, 'test')} in the gate's run on the base" if total else ""
    lines = [f"Tests: {format_count(count, 'file')}{told}"]
    ordered = sorted(files, key=lambda file: (-counted[file.path], file.path))
    for file in ordered[:_LISTED_TESTS]:
        line = f"  {to_one_line(file.path)}"
        if counted[file.path]:
            line += f" ({counted[file.path]:,})"
        if file.imports:
            line += f": {join_limited(map(to_one_line, file.imports), _MAX_IMPORTS)}"
        lines.append(line)
    if count > _LISTED_TESTS:
        lines.append(f"  … {count - _LISTED_TESTS:,} more; `tests` tells which concern a path")
    return lines


async def _count_tests(ledger: Ledger, files: Sequence[TestFile]) -> tuple[int, Counter[str]]:
    """Return how many tests the baseline's receipts have, in all and of each of these files."""
    total, paths, counted = 0, set[str](), Counter[str]()
    for file in files:
        paths.add(file.path)
    for receipt in ledger.state.get_baseline_receipts().values():
        with suppress(BlobLost):
            for test in await read_outcomes(ledger, receipt) or ():
                total += 1
                found = find_test_file(test, paths)
                if found is not None:
                    counted[found] += 1
    return total, counted


def build_looking_tools(around: RoleContext, commit: CommitId | None) -> list[AnyTool]:
    """Return the tools that look around in a commit; none where the settings have none, or nobody can read it."""
    if around.codebase is None or commit is None or not around.config.map.tools:
        return []
    return build_codebase_tools(around.codebase, commit, max(around.config.map.tokens, _TOOL_TOKENS))
