"""Findings on a change as a whole: its size, its flaky tests, and what the snapshot of its workspace told."""

from collections.abc import Collection, Iterator, Mapping, Sequence

from orchestrator.domain.judging.verdict import Finding, RuleId
from orchestrator.domain.text.listing import join_limited
from orchestrator.judge.files.changed_file import ChangedFile
from orchestrator.judge.files.classification import count_reviewed_lines
from orchestrator.judge.files.mechanical_changes import find_mechanical_files
from orchestrator.judge.rules.change_facts import ChangeFacts, build_flag

MAX_CHANGED_LINES = 5_000
_MAX_FILES_SHOWN = 10
_MAX_TESTS_SHOWN = 12


def check_empty_change(facts: ChangeFacts) -> Iterator[Finding]:
    """Yield a blocking finding if the change's tree is the base's: that is no answer to a task."""
    if facts.is_empty:
        yield Finding(rule=RuleId.EMPTY, text="nothing was changed", is_blocking=True)


def check_change_size(facts: ChangeFacts) -> Iterator[Finding]:
    """Yield a blocking finding if somebody would have to read more than `MAX_CHANGED_LINES` changed lines.

    If it is less because of files that nobody has to read, a flag names these.
    """
    explained = facts.regenerated_files
    counted, uncounted = count_reviewed_lines(facts.files, facts.sizes, explained)
    if counted > MAX_CHANGED_LINES:
        mechanical = find_mechanical_files(facts.files)
        explained |= mechanical
        counted, uncounted = count_reviewed_lines(facts.files, facts.sizes, explained)
        if counted <= MAX_CHANGED_LINES:
            yield build_flag(
                RuleId.SIZE, f"only names were exchanged, the same everywhere: {_join_files(sorted(mechanical))}"
            )
    elif explained:
        yield build_flag(RuleId.SIZE, f"the task's command makes these files just so: {_join_files(sorted(explained))}")
    if counted > MAX_CHANGED_LINES:
        rest = f", {uncounted} of data, lock and generated files not counted" if uncounted else ""
        limit = f"more than a reviewer can read ({MAX_CHANGED_LINES})"
        text = f"{counted} changed lines{rest} are {limit}: do less at once"
        yield Finding(rule=RuleId.SIZE, text=text, is_blocking=True)


def count_read_lines(files: Sequence[ChangedFile], sizes: Mapping[str, int], explained: Collection[str] = ()) -> int:
    """Return how many changed lines somebody has to read, without files in which only names were exchanged. Blocks."""
    counted, _ = count_reviewed_lines(files, sizes, explained)
    if counted > MAX_CHANGED_LINES:
        counted, _ = count_reviewed_lines(files, sizes, {*explained, *find_mechanical_files(files)})
    return counted


def check_leaked_secrets(facts: ChangeFacts) -> Iterator[Finding]:
    """Yield a blocking finding that names the files with secrets, and the secrets by their names."""
    if facts.leaks:
        text = f"{_join_files(facts.leaks)}: take it out, and name the variable in its place"
        yield Finding(rule=RuleId.SECRET, text=text, is_blocking=True)


def check_left_out_files(facts: ChangeFacts) -> Iterator[Finding]:
    """Yield a finding that names the first of the files that the snapshot left out, with reasons; it blocks nothing."""
    if facts.left_out_files:
        yield build_flag(RuleId.DROPPED, f"left out: {_join_files(facts.left_out_files)}")


def check_flagged_files(facts: ChangeFacts) -> Iterator[Finding]:
    """Yield a finding that names the first files that a reviewer should know of, with reasons; it blocks nothing."""
    if facts.flagged_files:
        yield build_flag(RuleId.FLAGGED, f"to be looked at: {_join_files(facts.flagged_files)}")


def _join_files(files: Sequence[str]) -> str:
    return join_limited(files, _MAX_FILES_SHOWN, "; ")


def check_flaky(facts: ChangeFacts) -> Iterator[Finding]:
    """Yield a finding that names the flaky tests of the change's tree; it blocks nothing.

    Reviewers are told, since nobody but them may see why these tests pass and fail on one tree.
    """
    if facts.difference is None or not facts.difference.flaky:
        return
    rates = {looks.test: f" ({looks.rates_text})" for looks in facts.difference.looks}
    named = [test + rates.get(test, "") for test in facts.difference.flaky]
    why = "it may be this change that makes them so"
    yield build_flag(RuleId.FLAKY, f"seen both ways on this tree: {join_limited(named, _MAX_TESTS_SHOWN)}; {why}")
