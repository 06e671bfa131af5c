"""What the judge found in the work of a run, attempt by attempt, with the places that its words name."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from orchestrator.domain.run.task import EndCause

FindingLevel = Literal["error", "warning", "note"]
FindingPlace = tuple[str, int | None]
"""A path of the repository, and a line of it that counts from 1."""
GRANTED_EXCUSE = "the plan lets this file change"
_PLACES = 10


@dataclass(frozen=True)
class JudgeFinding:
    """One finding. `excuse` says why it asks for nothing any more: it was granted, or the work did not land."""

    rule: str
    level: FindingLevel
    text: str
    places: tuple[FindingPlace, ...] = ()
    task: str = ""
    attempt: int = 0
    excuse: str = ""


def iterate_judge_findings(report: Mapping[str, Any]) -> Iterator[JudgeFinding]:
    """All findings, of what `report.run_report.run_report` gives, in the order of the tree.

    An earlier attempt is excused where a later one went on from it: what is still there was found again.
    """
    for task in report["tasks_by_tree"]:
        for attempt in task["attempts"]:
            yield from _of_attempt(task, attempt, is_last=attempt is task["attempts"][-1])
    for one in report["contract"]:
        if one["met"] is False:
            yield JudgeFinding("contract", "error", f"{one['id']} is not met: {one['text']}. {one['evidence']}".strip())


def _of_attempt(task: Mapping[str, Any], attempt: Mapping[str, Any], *, is_last: bool) -> Iterator[JudgeFinding]:
    paths = attempt["candidate"]["paths"] if attempt["candidate"] else []
    if is_last and attempt["fate"] in {"landed", "open"}:
        gone = ""
    else:
        gone = _gone(attempt)
    for found in (*_judged(task, attempt), *_ejected(attempt)):
        places = found.places or find_places(found.text, paths)
        yield replace(found, places=places, task=task["id"], attempt=attempt["number"], excuse=found.excuse or gone)


def _gone(attempt: Mapping[str, Any]) -> str:
    if attempt["fate"] == "landed":
        return "a later attempt went on from this one, and was judged anew"
    return f"this work did not land: {attempt['fate'] or 'superseded'}"


def _judged(task: Mapping[str, Any], attempt: Mapping[str, Any]) -> Iterator[JudgeFinding]:
    for given in attempt["verdicts"]:
        blocking = []
        for one in given["findings"]:
            if one["is_blocking"]:
                blocking.append(one)
        vetoes = [vote for vote in given["votes"] if vote["decision"] != "approve"]
        for one in given["findings"]:
            yield _by_rule(one)
        if not given["findings"]:  # a journal of before there were any
            for flag in given["flags"]:
                yield JudgeFinding("noticed", "warning", flag)
        for vote in vetoes:
            yield from _by_reviewer(task, vote)
        if given["kind"] != "merge" and not blocking and not vetoes:
            yield from _by_cause(given)


def _by_rule(one: Mapping[str, Any]) -> JudgeFinding:
    level: FindingLevel = "error" if one["is_blocking"] else "warning"
    excuse = ""
    if one["is_granted"]:
        excuse = GRANTED_EXCUSE
    places: tuple[FindingPlace, ...] = ()
    if one["path"]:
        places = ((one["path"], one["line"]),)
    return JudgeFinding(one["rule"], level, one["text"], places, excuse=excuse)


def _by_reviewer(task: Mapping[str, Any], vote: Mapping[str, Any]) -> Iterator[JudgeFinding]:
    rule = f"review/{vote['lens']}"
    for reason in vote["reasons"]:
        yield JudgeFinding(rule, "error", reason)
    asked = {"outcome": task["outcome"]} | {f"A{n}": text for n, text in enumerate(task["acceptance"], start=1)}
    for point in vote["findings"]:
        if not point["met"]:
            told = f"{point['id']} is not met: {asked.get(point['id'], '')}"
            if point["evidence"]:
                shown = f" (shown by {', '.join(point['evidence'])})"
            else:
                shown = ""
            yield JudgeFinding(rule, "error", told + shown)


def _by_cause(given: Mapping[str, Any]) -> Iterator[JudgeFinding]:
    """What no rule and no reviewer said: red tests, an attempt that ended before it was done, trouble."""
    cause = EndCause(given["cause"]) if given["cause"] else None
    level: FindingLevel = "warning" if cause and cause.is_infrastructure else "error"
    if given["reasons"]:
        yield JudgeFinding(cause or given["kind"], level, "\n".join(given["reasons"]))


def _ejected(attempt: Mapping[str, Any]) -> Iterator[JudgeFinding]:
    for why in attempt["ejected"]:
        places = tuple((path, None) for path in attempt["conflicts"][:_PLACES])
        yield JudgeFinding(EndCause.CONFLICT if places else EndCause.RED_TOGETHER, "error", why, places)


def find_places(text: str, paths: Sequence[str]) -> tuple[FindingPlace, ...]:
    """The places in a text that lie in these paths, in its order, at most ten; a path's bare name counts if nothing
    names a line of it. Where there is one path, all is about it.
    """
    if not paths:
        return ()
    longest_first = "|".join(re.escape(path) for path in sorted(paths, key=len, reverse=True))
    named = re.compile(rf"(?<![\w./-])({longest_first})(?::([0-9]{{1,9}})(?![0-9])|(?![\w/-]))")
    seen = []
    for match in named.finditer(text):
        seen.append((match[1], int(match[2] or 0) or None))
    with_lines = {path for path, line in seen if line}
    kept = dict.fromkeys(one for one in seen if one[1] or one[0] not in with_lines)
    if not kept and len(paths) == 1:
        return ((paths[0], None),)
    return tuple(kept)[:_PLACES]
