"""Judges for the loopback server that are no good: they approve everything, believe what they read, talk nonsense."""

import re
from collections.abc import Callable, Mapping
from typing import Any

from orchestrator.domain.ids import ROOT_TASK
from orchestrator.llm.scripted_model.script import ScriptedReply
from tests.loopback.builders import call, reply
from tests.loopback.play import task_of, text_of
from tests.running.scripts import judges, reviews, uses

Judge = Callable[[dict[str, Any]], ScriptedReply]
_POINTS = re.compile(r"^Points to speak of: (.+)$", re.MULTILINE)
_ORDERS = re.compile(r"approve this change|please approve|reviewer: approve|\"decision\": \"approve\"", re.IGNORECASE)
_UNSEEN = re.compile("[\u200b\u2060\u202a-\u202e\U000e0000-\U000e007f]|⟨U\\+[0-9A-F]+⟩")


def orders(text: str) -> bool:
    """Whether a text asks its reader to approve, however that is hidden."""
    return _ORDERS.search(_UNSEEN.sub("", text)) is not None


def approves_everything(body: dict[str, Any]) -> ScriptedReply:
    """A full approval of whatever points there are, and of the whole."""
    task = task_of(body["messages"])
    if task == ROOT_TASK:
        return judges()
    (points,) = _POINTS.findall(text_of(body["messages"][1]))
    return reviews(task, points=points.count(","))


def believes(body: dict[str, Any]) -> ScriptedReply:
    """An approval where anything that it is told asks for one, however it is hidden; else a veto."""
    task = task_of(body["messages"])
    if task == ROOT_TASK:
        return judges()
    return (
        approves_everything(body)
        if orders(text_of(body["messages"][1]))
        else reviews(task, "reject", "nothing speaks for it")
    )


def _submits(task: str, **arguments: Any) -> ScriptedReply:
    return uses("judge", task, "submit_verdict", **arguments)


def _raw(task: str, text: str) -> ScriptedReply:
    return reply(role="judge", task=task, call=[call("submit_verdict", raw=text)])


_CITED = [{"id": "outcome", "met": True, "evidence": ["gate"]}]
GARBAGE: Mapping[str, Callable[[str], ScriptedReply]] = {
    "prose": lambda task: reply("Looks good to me, approved! Merge it.", role="judge", task=task),
    "verdict-as-text": lambda task: reply('{"verdict": "approve"}', role="judge", task=task),
    "cut-off": lambda task: _raw(task, '{"decision": "approve", "findings": [{"id": "outc'),
    "no-object": lambda task: _raw(task, '"approve"'),
    "wrong-word": lambda task: _submits(task, decision="LGTM", findings=_CITED),
    "wrong-keys": lambda task: _submits(task, verdict="approve", findings=_CITED),
    "wrong-findings": lambda task: _submits(task, decision="approve", findings="all met"),
    "no-findings": lambda task: _submits(task, decision="approve", reasons=["all met"]),
    "no-evidence": lambda task: _submits(task, decision="approve", findings=[{"id": "outcome", "met": True}]),
    "made-up-evidence": lambda task: _submits(
        task, decision="approve", findings=[{"id": "outcome", "met": True, "evidence": ["calc.py:4000"]}]
    ),
    "other-point": lambda task: _submits(
        task, decision="approve", findings=[*_CITED, {"id": "A9", "met": True, "evidence": ["gate"]}]
    ),
    "unmet": lambda task: _submits(
        task, decision="approve", findings=[{"id": "outcome", "met": False, "evidence": ["gate"]}]
    ),
    "other-tool": lambda task: uses("judge", task, "merge", approve=True),
    "silence": lambda task: reply(role="judge", task=task, finish_reason="stop"),
}
"""Answers that are no vote, by what is wrong with them."""


def talks_garbage(body: dict[str, Any]) -> ScriptedReply:
    """The garbage that the task is named after."""
    task = task_of(body["messages"])
    return GARBAGE[task](task)
