"""A carryover: what a conversation that fills its context leaves to the fresh one in which the session goes on."""

from collections.abc import Iterator, Sequence

from pydantic import Field

from orchestrator.agent.context_size import CHARS_PER_TOKEN
from orchestrator.agent.elided_texts import ELIDED_ABOVE_CHARS
from orchestrator.agent.tools.argument_names import rename_arguments
from orchestrator.agent.tools.base import Tool, ToolArguments, ToolResult
from orchestrator.agent.turn import Turn
from orchestrator.domain.chat import ToolCall
from orchestrator.domain.text.encoding import decode_json
from orchestrator.domain.text.truncation import truncate_text
from prompts import PromptSource, fence_text

CARRY_OVER = "carry_over"
"""The name of the tool."""
_SHARE = 1 / 8
"""Share of the context that a carryover may fill; more of it is cut in the middle."""
_LATEST_WORDS = 6
_LATEST_CALLS = 12
_WORDS_CHARS = 600
_EARLIER_CHARS = 4_000
_LISTED_PATHS = 40
_BY_MODEL = "These are your own words from the end of it:"
_BY_HARNESS = (
    "You gave no report of it, so the harness lists what it saw you do. The list may lack files that commands changed: "
    "look at them first, with `git status` and `git diff` where you can run commands."
)


class CarryoverReport(ToolArguments):
    """Arguments of `carry_over`."""

    state: str = Field(min_length=1, description="Where the work stands, in a few sentences.")
    done: tuple[str, ...] = Field((), description="What is finished, with its files.")
    findings: tuple[str, ...] = Field((), description="Facts that were found out, each with file and line; commands.")
    failed: tuple[str, ...] = Field((), description="What was tried and did not work, and why.")
    remaining: tuple[str, ...] = Field((), description="What is left to do, in order.")
    decisions: tuple[str, ...] = Field((), description="What was decided or said that has to be gone by.")
    questions: tuple[str, ...] = Field((), description="What is open, or believed and not checked.")

    @property
    def text(self) -> str:
        """The report as Markdown, without parts that are empty."""
        return "\n".join(self._iterate_lines())

    def _iterate_lines(self) -> Iterator[str]:
        yield self.state.strip()
        lists = self.model_dump(exclude={"state"})
        for name, items in lists.items():
            if items:
                yield f"\n{name}:"
            for item in items:
                yield f"- {item.strip()}"


def build_carryover_tool() -> Tool[CarryoverReport]:
    """Return the one tool that is there while a carryover is asked for."""

    async def accept_report(arguments: CarryoverReport) -> ToolResult:
        return ToolResult("accepted", final=arguments)

    what = "Leave to the fresh context in which this conversation goes on what you need to know there."
    return Tool(CARRY_OVER, what, CarryoverReport, accept_report, is_final=True)


def summarize_turns(turns: Sequence[Turn], earlier: str = "") -> str:
    """Return what the harness saw of turns: files that were written, the latest calls and the latest words.

    `earlier` are the words of a carryover before them, of which the beginning and the end are kept.
    """
    calls, words = list[str](), list[str]()
    for turn in turns:
        if turn.text.strip():
            words.append(truncate_text(turn.text, _WORDS_CHARS).text)
        for call in turn.tool_calls:
            calls.append(_describe_call(call, turn))
    paths = dict.fromkeys(_iterate_written_paths(turns))
    parts = [
        _list_lines("Files written with `write` and `edit`", list(paths)[-_LISTED_PATHS:]),
        _list_lines("The latest calls", calls[-_LATEST_CALLS:]),
        _list_lines("The latest words", words[-_LATEST_WORDS:]),
    ]
    if earlier:
        parts.append(f"What was carried over before:\n{truncate_text(earlier, _EARLIER_CHARS).text}")
    return "\n\n".join(parts)


def write_carryover(prompts: PromptSource, text: str, context_tokens: int, *, is_by_harness: bool) -> str:
    """Return the words with which the fresh context begins after the task; `text` is fenced as data."""
    limit = int(context_tokens * CHARS_PER_TOKEN * _SHARE)
    who = _BY_HARNESS if is_by_harness else _BY_MODEL
    words = fence_text("carryover", truncate_text(text, limit).text)
    return prompts.load_prompt("session-carryover-brief").render_text(who=who, words=words)


def estimate_most_tokens(context_tokens: int) -> float:
    """Return how many tokens a carryover may have, roughly."""
    return context_tokens * _SHARE


def _iterate_written_paths(turns: Sequence[Turn]) -> Iterator[str]:
    for turn in turns:
        for call in turn.tool_calls:
            path = rename_arguments({"path"}, _read_arguments(call)).get("path")
            if call.name in {"write", "edit"} and isinstance(path, str) and call.id in turn.observations:
                yield path


def _describe_call(call: ToolCall, turn: Turn) -> str:
    ended = "not executed"
    if call.id in turn.observations:
        ended = turn.observations[call.id].partition("\n")[0][:ELIDED_ABOVE_CHARS]
    shown = []
    for name, value in _read_arguments(call).items():
        shown.append(f"{name}={str(value)[:80]!r}")
    return f"{call.name}({', '.join(shown)}): {ended}"


def _read_arguments(call: ToolCall) -> dict[str, object]:
    try:
        read = decode_json(call.arguments)
    except (ValueError, RecursionError):
        return {}
    return read if isinstance(read, dict) else {}


def _list_lines(title: str, lines: Sequence[str]) -> str:
    listed = "\n".join(f"- {line}" for line in lines) or "- none"
    return f"{title}:\n{listed}"
