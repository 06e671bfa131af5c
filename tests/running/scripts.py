"""Scripts for scripted models, written from items."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from orchestrator.domain.chat import Role
from orchestrator.llm.scripted_model.script import ScriptedReply
from tests.loopback.builders import call, reply


def write_script(path: Path, items: Iterable[ScriptedReply]) -> str:
    """Write a script file; the name of the model that plays it."""
    replies = [item.model_dump(mode="json", exclude_defaults=True) for item in items]
    path.write_text(json.dumps({"schema": 1, "reply": replies}))
    return f"scripted:{path}"


def uses(role: Role, task: str, tool: str, **arguments: Any) -> ScriptedReply:
    """A reply that uses one tool."""
    return reply(role=role, task=task, call=[call(tool, **arguments)])


def plans(task: str, *drafts: Mapping[str, Any]) -> ScriptedReply:
    """A planner submits drafts."""
    tasks = [{"title": draft["key"], "outcome": f"{draft['key']} is done"} | dict(draft) for draft in drafts]
    return uses("planner", task, "submit_plan", rationale="because", tasks=tasks)


def planner_ends(task: str = "root", summary: str = "done") -> ScriptedReply:
    """A planner finishes its slice."""
    return uses("planner", task, "finish", summary=summary)


def planner_is_done(task: str = "root") -> list[ScriptedReply]:
    """A planner needs nothing more, however often it is asked while its tasks end."""
    return [planner_ends(task)] * 50


def writes(task: str, path: str, text: str) -> ScriptedReply:
    """A worker writes a file."""
    return uses("worker", task, "write", path=path, text=text)


def edits(task: str, path: str, old: str, new: str) -> ScriptedReply:
    """A worker edits a file."""
    return uses("worker", task, "edit", path=path, old=old, new=new)


def worker_ends(task: str, summary: str = "done") -> ScriptedReply:
    """A worker finishes."""
    return uses("worker", task, "finish", summary=summary)


def reviews(task: str, decision: str = "approve", *reasons: str, points: int = 0) -> ScriptedReply:
    """A reviewer votes. To approve, it finds the outcome and so many acceptance points met, and cites the gate."""
    ids = ["outcome", *(f"A{number}" for number in range(1, points + 1))]
    findings = [{"id": name, "met": True, "evidence": ["gate"]} for name in ids] if decision == "approve" else []
    return uses("judge", task, "submit_verdict", decision=decision, reasons=list(reasons), findings=findings)


def judges(decision: str = "done", *reasons: str) -> ScriptedReply:
    """The verdict on an iteration."""
    met = decision == "done"
    findings = [{"id": name, "met": met, "evidence": "the receipts of gate"} for name in ("goal", "gate")]
    return uses("judge", "root", "submit_verdict", decision=decision, reasons=list(reasons), findings=findings)
