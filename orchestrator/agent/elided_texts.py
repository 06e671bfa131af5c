"""Notes that stand in a request in the place of old, long texts: the output of tools, and what was written to files."""

import json

from orchestrator.domain.chat import ToolCall
from orchestrator.domain.text.lazy_pattern import compile_lazily

ELIDED_ABOVE_CHARS = 200
"""Shorter texts stay: a note is hardly shorter."""
_WRITING_TOOLS = frozenset({"write", "edit"})
"""Tools whose arguments hold what the workspace holds since."""
_NOTE = compile_lazily(r"\[\w+ of step \d+, \d+ characters, left out; (?:run it again|read the file) if you need it\]")


def elide_output(text: str, step: int) -> str:
    """Return the output of a tool as an old turn shows it; `step` counts turns from 1."""
    if len(text) <= ELIDED_ABOVE_CHARS:
        return text
    return f"[output of step {step}, {len(text)} characters, left out; run it again if you need it]"


def elide_call(call: ToolCall, step: int) -> ToolCall:
    """Return a call as an old turn shows it: long texts of `write` and `edit` are notes.

    The arguments stay JSON that fits the tool. Those that never were JSON are left out as a whole.
    """
    if call.name not in _WRITING_TOOLS or len(call.arguments) <= ELIDED_ABOVE_CHARS:
        return call
    written = _elide_arguments(call.arguments, step)
    if len(written) >= len(call.arguments):
        return call
    return call.model_copy(update={"arguments": written})


def has_elision_note(arguments: str) -> bool:
    """Return True if arguments hold such a note: a model took it for the text that it stands for."""
    return _NOTE.search(arguments) is not None


def _elide_arguments(arguments: str, step: int) -> str:
    try:
        read = json.loads(arguments)
    except (ValueError, RecursionError):
        read = None
    if not isinstance(read, dict):
        return json.dumps({"note": _describe_text("arguments", arguments, step)})
    for name, value in read.items():
        if isinstance(value, str) and len(value) > ELIDED_ABOVE_CHARS:
            read[name] = _describe_text(name if name.isidentifier() else "text", value, step)
    return json.dumps(read, ensure_ascii=True)


def _describe_text(name: str, text: str, step: int) -> str:
    return f"[{name[:40]} of step {step}, {len(text)} characters, left out; read the file if you need it]"
