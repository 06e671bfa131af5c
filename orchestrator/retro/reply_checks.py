"""Check what a reply alone shows of a fault: the harness's own rules on the file that it would write, walls, verdicts.

A check counts only where it finds the fault in the recorded reply too; else nothing is known and nothing is claimed.
"""

import difflib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from orchestrator.agent.edits.editor import EditResult, apply_edit
from orchestrator.domain.chat import Reply, ToolCall
from orchestrator.domain.judging.verdict import Finding
from orchestrator.domain.run.grant import AnyGrant
from orchestrator.domain.run.task import Exit, Task
from orchestrator.domain.sandbox.violation_patterns import find_command_violations, find_path_violation
from orchestrator.domain.text.encoding import decode_json
from orchestrator.judge.files.changed_file import AddedLine, ChangedFile, DiffHunk
from orchestrator.judge.rules.change_facts import ChangeFacts
from orchestrator.judge.rules.registry import check_change
from orchestrator.report.judging.lens_accuracy import VETOES
from orchestrator.retro.decisions import CauseKind, DecisionCause
from orchestrator.retro.run_reading import ESCAPED_APPROVAL, FALSE_VETO

_FILE_MODE = "100644"
_WRITING_TOOLS = frozenset({"write", "edit"})


@dataclass(frozen=True)
class ReplyContext:
    """The world of one reply: its task, the repository's path, and one file on the base and as it stood by then."""

    task: Task | None = None
    repository: str = ""
    path: str = ""
    base: bytes | None = None
    current: bytes | None = None


def has_fault(reply: Reply, cause: DecisionCause, context: ReplyContext) -> bool | None:
    """Return True if a reply shows this fault, False if it decides the same matter without it; None if neither."""
    match cause.kind:
        case CauseKind.RULE:
            found = find_rule_faults(reply, context)
            return None if found is None else any(finding.rule == cause.name for finding in found)
        case CauseKind.VIOLATION:
            return cause.name in set(_iterate_violations(reply, context))
        case CauseKind.EXIT if cause.name == Exit.MALFORMED:
            return is_malformed(reply)
        case CauseKind.REVIEW:
            decision = read_decision(reply)
            if decision is None:
                return None
            approves = decision == "approve"
            return approves if cause == ESCAPED_APPROVAL else not approves and cause == FALSE_VETO
    return None


def find_rule_faults(reply: Reply, context: ReplyContext) -> tuple[Finding, ...] | None:
    """Return what would keep the file from landing as the reply leaves it; None if it does not write the file."""
    after = write_file(reply, context)
    if after is None:
        return None
    findings = check_change(_build_facts(context, after))
    return tuple(finding for finding in findings if finding.is_blocking)


def write_file(reply: Reply, context: ReplyContext) -> bytes | None:
    """Return the file as a reply leaves it; None if no call of it writes that file, or none that fits."""
    content, is_written = context.current, False
    for call in reply.tool_calls:
        arguments = _read_arguments(call)
        if call.name not in _WRITING_TOOLS or str(arguments.get("path", "")).removeprefix("./") != context.path:
            continue
        changed = _apply_call(call.name, arguments, content)
        if changed is not None:
            content, is_written = changed, True
    return content if is_written else None


def list_written_paths(reply: Reply) -> tuple[str, ...]:
    """Return the files that a reply writes with the file tools."""
    paths = []
    for call in reply.tool_calls:
        if call.name in _WRITING_TOOLS and isinstance(path := _read_arguments(call).get("path"), str):
            paths.append(path.removeprefix("./"))
    return tuple(dict.fromkeys(paths))


def is_malformed(reply: Reply) -> bool:
    """Return True if a reply uses no tool, or one with arguments that are no JSON object."""
    if not reply.tool_calls:
        return True
    return any(not _is_object(call) for call in reply.tool_calls)


def read_decision(reply: Reply) -> str | None:
    """Return the decision of a reviewer's reply; None if it gives none."""
    for call in reply.tool_calls:
        if call.name == "submit_verdict":
            decision = _read_arguments(call).get("decision")
            if decision == "approve" or decision in VETOES:
                return str(decision)
    return None


def is_worse(recorded: Reply, new: Reply, context: ReplyContext) -> bool:
    """Return True if a new reply is worse than a healthy recorded one: malformed, beyond the walls, or to be refused.

    A reviewer's is worse if it decides otherwise.
    """
    if is_malformed(new):
        return True
    decided = read_decision(recorded)
    if decided is not None:
        now = read_decision(new)
        return now is None or (now == "approve") != (decided == "approve")
    if any(_iterate_violations(new, context)):
        return True
    return bool(find_rule_faults(new, context))


def _iterate_violations(reply: Reply, context: ReplyContext) -> Iterator[str]:
    for call in reply.tool_calls:
        arguments = _read_arguments(call)
        if call.name == "shell":
            for kind, _ in find_command_violations(str(arguments.get("command", ""))):
                yield kind
        elif call.name == "request_tier":
            yield "tier"
        elif outside := find_path_violation(str(arguments.get("path", "")), context.repository):
            yield outside


def _apply_call(name: str, arguments: Mapping[str, Any], content: bytes | None) -> bytes | None:
    if name == "write":
        text = arguments.get("text")
        return text.encode("utf-8", "replace") if isinstance(text, str) else None
    old, new = arguments.get("old"), arguments.get("new")
    if content is None or not isinstance(old, str) or not isinstance(new, str):
        return None
    edited = apply_edit(content, old, new, bool(arguments.get("replace_all")))
    return edited.content if isinstance(edited, EditResult) else None


def _build_facts(context: ReplyContext, after: bytes) -> ChangeFacts:
    """Return the facts of a change of one file, as far as its content tells them."""
    old_mode = None
    if context.base is not None:
        old_mode = _FILE_MODE
    hunks = tuple(_iterate_hunks(context.path, context.base or b"", after))
    lines = []
    for hunk in hunks:
        for place, text in enumerate(hunk.added):
            lines.append(AddedLine(hunk.path, hunk.line + place, text))
    grants: tuple[AnyGrant, ...] = ()
    if context.task is not None:
        grants = context.task.grants
    return ChangeFacts(
        files=(ChangedFile(context.path, context.base, after, old_mode=old_mode, new_mode=_FILE_MODE),),
        lines=lines,
        hunks=hunks,
        sizes={context.path: len(lines)},
        grants=grants,
        task=context.task,
    )


def _iterate_hunks(path: str, before: bytes, after: bytes) -> Iterator[DiffHunk]:
    old = before.decode("utf-8", "replace").split("\n")
    new = after.decode("utf-8", "replace").split("\n")
    for kind, first, last, start, end in difflib.SequenceMatcher(a=old, b=new, autojunk=False).get_opcodes():
        if kind != "equal":
            yield DiffHunk(path, start + 1, tuple(old[first:last]), tuple(new[start:end]))


def _read_arguments(call: ToolCall) -> Mapping[str, Any]:
    try:
        value = decode_json(call.arguments)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _is_object(call: ToolCall) -> bool:
    try:
        return isinstance(decode_json(call.arguments or "{}"), dict)
    except (ValueError, RecursionError):
        return False
