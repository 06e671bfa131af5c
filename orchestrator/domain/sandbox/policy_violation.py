"""Policy violations of agents, found in a tool's use by its words, by what refused it, or by the kernel."""

import json
from collections.abc import Iterator
from functools import lru_cache
from typing import Literal

from orchestrator.domain.argument_names import OTHER_ARGUMENT_NAMES
from orchestrator.domain.event.work import ToolCalled, ToolReturned
from orchestrator.domain.frozen_model import FrozenModel
from orchestrator.domain.ids import TaskId
from orchestrator.domain.sandbox import violation_patterns
from orchestrator.domain.sandbox.network import describe_refused_hosts
from orchestrator.domain.sandbox.tier import Tier, ToolReach
from orchestrator.domain.text.encoding import decode_json
from orchestrator.domain.text.lazy_pattern import compile_lazily
from orchestrator.domain.text.sanitization import to_one_line

ViolationEvidence = Literal["words", "refusal", "kernel"]
MAX_VIOLATIONS = 1_000
"""Of more in one run only the first are kept."""

_WHAT_CHARS = 300
_HEAD = compile_lazily(r"\A\[([^\]\n]{1,80})\]")
_LINK_REFUSAL = compile_lazily(
    r"symbolic link, which file tools do not follow|leads out of the workspace|lies in git's own directory"
)
_CACHE_SIZE = 1_000
"""So many shell commands are looked at once only: agents run the same ones over and over."""
_REACH_BY_NAME = {
    **dict.fromkeys(("read", "write", "edit", "list", "search"), ToolReach.FILES),
    **dict.fromkeys(("shell", "program"), ToolReach.COMMAND),
    "request_tier": ToolReach.TIER,
}
"""For old journals, whose events do not tell what a tool works on, and for tools that a session does not have."""


class PolicyViolation(FrozenModel):
    """One try. `attempt` is 0 for a planner; `turn` counts from 0; `what` quotes it in one line.

    By `evidence` it is known: `words` means that a command or path says so and nothing else is known, `refusal` that a
    tool did not let it happen, `kernel` that packets had no way out. `outcome` is what became of it.
    """

    task: TaskId | None
    attempt: int
    turn: int
    kind: violation_patterns.ViolationKind
    what: str
    outcome: str
    evidence: ViolationEvidence


def find_policy_violations(
    call: ToolCalled, result: ToolReturned, attempt: int, repository: str
) -> Iterator[PolicyViolation]:
    """Yield the policy violations that one use of a tool tried, each kind once; none for almost every use.

    Args:
        call: the tool with its arguments, of which a long text's beginning is looked at.
        result: what it gave back.
        attempt: the number of the task's attempt, 0 for a planner.
        repository: where the user's checkout lies; paths below it are no way out.
    """
    for kind, what, outcome, evidence in _find_violations(call, result, repository):
        yield PolicyViolation(
            task=call.task,
            attempt=attempt,
            turn=call.turn,
            kind=kind,
            what=to_one_line(what, _WHAT_CHARS),
            outcome=to_one_line(outcome, _WHAT_CHARS),
            evidence=evidence,
        )


_ViolationFields = tuple[violation_patterns.ViolationKind, str, str, ViolationEvidence]


def _find_violations(call: ToolCalled, result: ToolReturned, repository: str) -> Iterator[_ViolationFields]:
    reach = call.reach or _REACH_BY_NAME.get(call.name)
    if reach == ToolReach.COMMAND:
        yield from _find_in_shell(call, result)
    elif reach == ToolReach.TIER:
        evidence: ViolationEvidence = "words" if result.ok else "refusal"
        yield "tier", f"asked for {_format_arguments(call)}", result.observation.head, evidence
    elif reach == ToolReach.FILES and not result.ok:
        yield from _find_in_file_tool(call, result, repository)


def _find_in_shell(call: ToolCalled, result: ToolReturned) -> Iterator[_ViolationFields]:
    for host in describe_refused_hosts(result.network):
        yield ("network", host, "refused by the proxy", "refusal")
    command, violations = _parse_shell_call(call.arguments.head)
    packets = result.stray_packets
    if not (violations or packets):
        return
    quotes = {kind: words for kind, words in violations if not _is_allowed(kind, call.tier)}
    outcome = _describe_end(result)
    if packets and "network" not in quotes:
        yield "network", command, f"{outcome}; {_format_packets(packets)}", "kernel"
    for kind, words in quotes.items():
        if kind == "network" and packets:
            yield kind, words, f"{outcome}; {_format_packets(packets)}", "kernel"
        else:
            yield kind, words, outcome, "words"


@lru_cache(_CACHE_SIZE)
def _parse_shell_call(arguments: str) -> tuple[str, tuple[violation_patterns.QuotedViolation, ...]]:
    """Return the command of a shell, or the program, in a tool's arguments, and the violations that its words show."""
    command = _read_argument(arguments, "command") or _read_argument(arguments, "code")
    return command, violation_patterns.find_command_violations(command)


def _is_allowed(kind: violation_patterns.ViolationKind, tier: Tier | None) -> bool:
    """Return True if the user granted that to this command."""
    return tier == Tier.EVERYTHING and kind in {"network", "push"}


def _format_packets(count: int) -> str:
    return f"{count} packet{'s' * (count != 1)} had no way out"


def _find_in_file_tool(call: ToolCalled, result: ToolReturned, repository: str) -> Iterator[_ViolationFields]:
    path = _read_argument(call.arguments.head, "path") or _read_argument(call.arguments.head, "glob")
    kind = violation_patterns.find_path_violation(path, repository)
    if kind is None and _LINK_REFUSAL.search(result.observation.head):
        kind = "outside-path"
    if kind:
        yield kind, f"{call.name} {path}", f"refused: {result.observation.head}", "refusal"


def _describe_end(result: ToolReturned) -> str:
    """Return the shell tool's first words on the command's end."""
    head = _HEAD.match(result.observation.head)
    if head is None:
        if result.ok:
            return "it ran behind the walls"
        return f"not run: {result.observation.head}"
    return f"it ran behind the walls: {head[1]}"


def _format_arguments(call: ToolCalled) -> str:
    tier, reason = _read_argument(call.arguments.head, "tier"), _read_argument(call.arguments.head, "reason")
    return f"tier {tier}: {reason}" if tier else call.arguments.head


def _read_argument(head: str, name: str) -> str:
    """Return an argument as text, whatever name it has; of arguments cut short in the event, the text that is left."""
    for text in (head, f'{head}"}}', f'{head[:-1]}"}}'):
        try:
            arguments = decode_json(text)
        except ValueError:
            continue
        if not isinstance(arguments, dict):
            return ""
        for known in (name, *OTHER_ARGUMENT_NAMES.get(name, ())):
            if known in arguments:
                value = arguments[known]
                return value if isinstance(value, str) else json.dumps(value)
        return ""
    return head
