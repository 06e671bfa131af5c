"""Render one line for one event, for `logs` and for runs without a terminal."""

from collections.abc import Mapping

from orchestrator.domain.event import RecordedEvent
from orchestrator.domain.ids import QuestionId
from orchestrator.domain.text.sanitization import strip_controls
from orchestrator.ports.journal_search import SearchHit
from orchestrator.report.log.event_descriptions import describe_event_with_questions

DETAIL_KINDS = frozenset(
    {
        "tool.called", "model.called", "turn.ended", "workspace.leasing", "workspace.leased", "candidate.taking",
        "landing.started", "pr.opening", "merge.started", "close.started", "effect.abandoned",
        "hook.started", "notification.sending", "notification.sent", "push.started",
        "snapshot.taking", "snapshot.taken", "ref.setting", "ref.set",
    }
)  # fmt: skip
"""Events that only `logs --all` shows."""

_SHOWN = 400
_LOOKED_AT = 4_000
"""Characters of an event's words that are looked at for one line: an agent may say megabytes."""


def render_event_line(recorded: RecordedEvent, question_ids: Mapping[str, QuestionId] = {}) -> str:
    """Return `10:17:05  parser  attempt 1 (fresh) on openai/gpt-5`, without control characters.

    `question_ids` are the short names of questions by their items, as far as they are known.
    """
    text = _flatten(describe_event_with_questions(recorded.event, question_ids)[:_LOOKED_AT])[:_SHOWN]
    return f"{recorded.at.astimezone():%H:%M:%S}  {_format_task(recorded.event.task)}{text}"


def render_hit_line(hit: SearchHit) -> str:
    """Return `10:17:05  parser  turn 4  tool.returned  … 2 «failed» …`, without control characters."""
    turn = "" if hit.turn is None else f"turn {hit.turn + 1}  "
    return f"{hit.at.astimezone():%H:%M:%S}  {_format_task(hit.task)}{turn}{hit.kind}  {_flatten(hit.snippet)}"


def _format_task(task: str | None) -> str:
    return f"{task:20}  " if task else ""


def _flatten(text: str) -> str:
    return strip_controls(text).replace("\n", " ⏎ ")
