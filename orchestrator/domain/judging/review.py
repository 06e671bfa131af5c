"""Reviews: what a lens shows of a change, the points that a reviewer has to speak of, and what counts as evidence."""

from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from operator import attrgetter

from orchestrator.domain.frozen_model import FrozenModel
from orchestrator.domain.judging.verdict import PointFinding
from orchestrator.domain.run.task import Task
from orchestrator.domain.text.lazy_pattern import compile_lazily

OUTCOME_POINT = "outcome"
"""The id of the point that every task has."""
_CITATION = compile_lazily(r"(?P<path>.+?):(?P<first>[0-9]{1,9})(?:-(?P<last>[0-9]{1,9}))?")

LineRange = tuple[int, int]
"""The first and the last of some lines, counted from 1."""


class LensView(StrEnum):
    """diff: the change as it is. code: without comments, docstrings and hidden characters. codebase: the changed files
    as they are now, and what lies around them.
    """

    DIFF = "diff"
    CODE = "code"
    CODEBASE = "codebase"


class ReviewMaterial(FrozenModel):
    """The part of a change that a reviewer gets to see.

    `places` are the lines that can be cited: the shown ones of either side by path, none where the file has no lines
    to show; then its path alone can be.
    """

    text: str
    places: Mapping[str, tuple[LineRange, ...]]


def get_review_points(task: Task) -> Mapping[str, str]:
    """Return the points of a task by id: its outcome, and `A1`, `A2`, … for its acceptance points."""
    numbered = {f"A{number}": text for number, text in enumerate(task.acceptance, start=1)}
    return {OUTCOME_POINT: task.outcome} | numbered


def find_approval_problems(
    task: Task, findings: Sequence[PointFinding], material: ReviewMaterial, checks: Sequence[str]
) -> Iterator[str]:
    """Yield the reasons why findings are no approval: each point needs one that is met, with evidence that exists.

    Args:
        task: what was asked for.
        findings: what the reviewer says.
        material: what it saw.
        checks: the ids of the checks that it was told of.
    """
    points = get_review_points(task)
    ids = list(map(attrgetter("id"), findings))
    yield from (f"there is no finding for point {name}" for name in points if name not in ids)
    yield from (f"there are two findings for point {name}" for name in points if ids.count(name) > 1)
    for name in dict.fromkeys(ids):
        if name not in points:
            yield f"there is no point {name}: the points are {', '.join(points)}"
    for finding in findings:
        if not finding.met:
            yield f"approve contradicts the unmet point {finding.id}"
        elif not finding.evidence:
            yield f"point {finding.id} has no evidence: give path:line, or one of {', '.join(checks) or 'no check'}"
        for text in finding.evidence:
            if problem := _find_citation_problem(text, material.places, checks):
                yield f"point {finding.id}: {problem}"


def _find_citation_problem(text: str, places: Mapping[str, tuple[LineRange, ...]], checks: Sequence[str]) -> str:
    """Return the reason why a text is no evidence; empty if it names a check, a shown line, or a file without lines."""
    if text in checks or places.get(text) == ():
        return ""
    citation = _CITATION.fullmatch(text)
    if citation is None:
        return f"{text[:200]!r} is neither path:line nor one of the checks {', '.join(checks) or '(none ran)'}"
    spans = places.get(citation["path"])
    if spans is None:
        return f"{citation['path'][:200]!r} is no file that you were shown"
    first, last = int(citation["first"]), int(citation["last"] or citation["first"])
    if any(start <= first <= last <= end for start, end in spans):
        return ""
    lines = ", ".join(f"{start}-{end}" for start, end in spans[:12]) or "none"
    numbers = str(first) if first == last else f"{first}-{last}"
    return f"line {numbers} of {citation['path']} was not shown (shown: {lines})"
