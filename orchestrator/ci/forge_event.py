"""The job that an event of a forge asks for: by hand, by a label, by a comment, by a schedule.

The texts of issues and comments are anybody's. They become a goal, which is data for models, or one of a few words;
nothing else of them is acted on. Whether their author may ask at all is the workflow's business, before this.
"""

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from orchestrator.domain.commands.catalog import OLD_VERBS
from orchestrator.domain.text.lazy_pattern import compile_lazily
from orchestrator.domain.text.money import UNLIMITED
from orchestrator.domain.text.sanitization import strip_controls, to_one_line
from orchestrator.errors import UsageProblem

_COMMAND = compile_lazily(r"/orchestrate[ \t]+(run|resume|approve|send-back|reject|deny)(?![\w-])(.*)", re.DOTALL)
_COMMENT = compile_lazily(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_RUN = compile_lazily(r"[0-9a-f-]{4,60}")
_QUESTION = compile_lazily(r"q[1-9][0-9]{0,8}|[a-z-]+/[\w./@-]{1,200}", re.ASCII)
_NOTE_CHARS = 2_000
_NUMBER = compile_lazily(r"[0-9]{1,12}")
_TIME = compile_lazily(r"(?:(\d{1,3})h)?(?:(\d{1,4})m)?(?:(\d{1,7})s?)?")
_MOST_BYTES = 60_000
"""Of a goal, which may have to be one argument of a command."""
_CUT = "\n\n(The text goes on; it was cut here.)"


@dataclass(frozen=True)
class JobOrder:
    """The order of a job: `goal` or `run` is what to work on; without either, what the key's jobs have begun.

    `answer` is `approve`, `send-back` or `reject`, then the question if one was named, then words for whoever asked.
    `time_limit_s` is the job's. `is_restart`: somebody asked for a new run, whatever the key's last one was.
    """

    key: str
    goal: str = ""
    run: str = ""
    answer: str = ""
    issue: str = ""
    budget_usd: str = ""
    time_limit_s: int = 0
    dry_run: bool = False
    is_restart: bool = False

    def build_outputs(self, *, is_again: bool = False) -> dict[str, str]:
        """Return the outputs for the steps that follow. A job that is done again goes on with what it has begun."""
        return {
            "key": self.key,
            "run": self.run,
            "answer": self.answer,
            "issue": self.issue,
            "budget_usd": self.budget_usd,
            "time_limit": f"{self.time_limit_s}s",
            "dry_run": str(self.dry_run).lower(),
            "restart": str(self.is_restart and not is_again).lower(),
        }


@dataclass(frozen=True)
class JobDefaults:
    """The values that hold where an event does not say otherwise; no event may ask for more than `time_limit_s`."""

    time_limit_s: int
    budget_usd: str = ""
    scheduled_goal: str = ""


def parse_event(kind: str, payload: Mapping[str, Any], job: str, usual: JobDefaults) -> JobOrder:
    """Return what an event asks for.

    Args:
        kind: its name, as GitHub calls it.
        payload: what came with it.
        job: what the CI system calls this job: the key, where nothing else is one.
        usual: what holds where nothing else is said.

    Raises:
        UsageProblem: nothing that can be done.
    """
    match kind:
        case "workflow_dispatch":
            return _read_dispatch(_get_part(payload, "inputs"), job, usual)
        case "repository_dispatch":
            return _read_dispatch(_get_part(payload, "client_payload"), job, usual)
        case "schedule":
            if not usual.scheduled_goal.strip():
                raise UsageProblem("a schedule needs a goal: set the repository's variable ORCHESTRATE_GOAL")
            return _build_order(f"run-{job}", usual, goal=usual.scheduled_goal)
        case "issues":
            issue = _read_issue_number(payload)
            return _build_order(f"issue-{issue}", usual, goal=_join_issue_text(payload["issue"]), issue=issue)
        case "issue_comment":
            return _read_comment(payload, usual)
    raise UsageProblem(f"no run is started by the event {kind!r}: it may bring code or words of anybody")


def _read_dispatch(inputs: Mapping[str, Any], job: str, usual: JobDefaults) -> JobOrder:
    goal, run, issue = _get_text(inputs, "goal"), _get_text(inputs, "resume_run"), _get_text(inputs, "issue")
    _require_match(_NUMBER, issue, "issue", "the number of an issue")
    _require_match(_RUN, run, "resume_run", "the id of a run, or its last four letters")
    if bool(goal) == bool(run):
        raise UsageProblem("say either a goal, or a run to go on with")
    time_limit_s, budget_usd = _parse_seconds(_get_text(inputs, "time_limit"), usual), _get_text(inputs, "budget_usd")
    key, is_dry = "", False
    if not run:
        key, is_dry = f"run-{job}", str(inputs.get("dry_run", "")).lower() == "true"
        budget_usd = budget_usd or usual.budget_usd
    if issue:
        key = f"issue-{issue}"
    return _build_order(key, JobDefaults(time_limit_s, budget_usd), goal=goal, run=run, issue=issue, dry_run=is_dry)


def _read_comment(payload: Mapping[str, Any], usual: JobDefaults) -> JobOrder:
    issue, text = _read_issue_number(payload), _get_text(_get_part(payload, "comment"), "body")
    found = _COMMAND.match(text)
    if found is None:
        raise UsageProblem("the comment asks for nothing: /orchestrate run, resume, approve, send-back or reject")
    verb, rest = found[1], found[2].strip()
    key = f"issue-{issue}"
    if verb == "run":
        return _build_order(key, usual, goal=rest or _join_issue_text(payload["issue"]), issue=issue, is_restart=True)
    word = rest.split()[0] if rest else ""
    usual = JobDefaults(usual.time_limit_s)  # a run that goes on has its budget
    if verb == "resume":
        _require_match(_RUN, word, "resume", "the id of a run, or its last four letters")
        return _build_order("" if word else key, usual, run=word, issue=issue)
    return _build_order(key, usual, answer=_read_answer(OLD_VERBS.get(verb, verb), rest), issue=issue)


def _read_answer(verb: str, rest: str) -> str:
    """Return the answer that a comment gives: what stands behind an approval, or behind a question, is one line."""
    word = rest.split()[0] if rest else ""
    is_note = verb != "approve" and not word.isdecimal() and "/" not in word and not word.startswith("-")
    if not is_note:
        _require_match(_QUESTION, word, verb, "a question of the run: name it as q1, or as the run names its item")
    if verb == "approve":
        return f"{verb} {word}".strip()
    return f"{verb} {to_one_line(strip_controls(rest), _NOTE_CHARS)}".strip()


def _read_issue_number(payload: Mapping[str, Any]) -> str:
    issue = _get_part(payload, "issue")
    if issue.get("pull_request"):
        raise UsageProblem("a pull request is no goal: write an issue")
    number = _get_text(issue, "number")
    if not _NUMBER.fullmatch(number):
        raise UsageProblem("the event names no issue")
    return number


def _get_part(payload: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """Return what stands under a name; nothing, if that is not what the forge would write there."""
    found = payload.get(name)
    return found if isinstance(found, Mapping) else {}


def _join_issue_text(issue: Mapping[str, Any]) -> str:
    return f"{_get_text(issue, 'title')}\n\n{_get_text(issue, 'body')}"


def _build_order(key: str, usual: JobDefaults, *, goal: str = "", **more: Any) -> JobOrder:  # noqa: ANN401
    goal = goal and _extract_goal(goal)
    if not goal and not more.get("run") and not more.get("answer") and not more.get("issue"):
        raise UsageProblem("there is no goal: what people see of the text is empty")
    budget_usd = _parse_dollars(usual.budget_usd)
    return JobOrder(key=key, goal=goal, time_limit_s=usual.time_limit_s, budget_usd=budget_usd, **more)


def _extract_goal(text: str) -> str:
    """Return what people see of a text: without comments of HTML and characters that do not show."""
    text = strip_controls(_COMMENT.sub("", text.replace("\r\n", "\n"))).strip()
    if not text:
        raise UsageProblem("there is no goal: what people see of the text is empty")
    cut = text.encode()[:_MOST_BYTES].decode(errors="ignore")
    return text if cut == text else cut + _CUT


def _get_text(values: Mapping[str, Any], name: str) -> str:
    value = values.get(name)
    return str(value).strip() if isinstance(value, str | int | float) else ""


def _require_match(pattern: re.Pattern[str], value: str, name: str, what: str) -> None:
    if value and not pattern.fullmatch(value):
        raise UsageProblem(f"{name}: {json.dumps(value[:80])} is not {what}")


def _parse_seconds(text: str, usual: JobDefaults) -> int:
    parts = _TIME.fullmatch(text)
    if parts is None:
        raise UsageProblem(f"time_limit: {json.dumps(text[:80])} is no duration: write for example 5h30m or 90m")
    hours, minutes, seconds = (int(part or 0) for part in parts.groups())
    wanted = hours * 3600 + minutes * 60 + seconds
    if wanted > usual.time_limit_s:
        problem = f"time_limit: the workflow's jobs may work for {usual.time_limit_s} s at most"
        raise UsageProblem(f"{problem}; a longer run goes on in the next job by itself")
    return wanted or usual.time_limit_s


def _parse_dollars(text: str) -> str:
    if text in ("", UNLIMITED):
        return text
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < math.inf:
        raise UsageProblem(f"budget_usd: {json.dumps(text[:80])} is no amount of dollars above 0, nor {UNLIMITED}")
    return f"{value:g}"
