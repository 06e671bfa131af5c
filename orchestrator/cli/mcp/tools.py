"""The tools that a chat agent gets: each is a verb of the command line with arguments that are checked first."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal, get_args

from pydantic import Field

from orchestrator.domain.frozen_model import FrozenModel

Permission = Literal["start", "answer", "stop"]
"""What the user may allow beyond looking: to start and resume runs, to answer their questions, to pause and cancel."""
PERMISSIONS: tuple[Permission, ...] = get_args(Permission)
_TEXT_CHARS = 20_000
_NAME = r"^[A-Za-z0-9][A-Za-z0-9_@./-]{0,199}$"
"""Names of runs, tasks and questions; none looks like an option."""
RunName = Annotated[str, Field(pattern=_NAME, description="The run: its id, a unique beginning of it, or `latest`.")]


class RunChoice(FrozenModel):
    """The arguments of a tool that looks at a run."""

    run: RunName = "latest"


class RunsChoice(FrozenModel):
    """The arguments of the list of runs."""

    limit: int = Field(20, ge=1, le=200, description="At most so many, the latest.")
    waiting: bool = Field(default=False, description="Only runs that ask a person something.")


class TaskChoice(RunChoice):
    """The arguments of a tool that looks at a task, or at the goal as a whole."""

    task: str = Field("", pattern=rf"^$|{_NAME}", description="The task; empty for the goal as a whole.")


class LogSearch(RunChoice):
    """The arguments of a search in a run's log."""

    query: str = Field(min_length=1, max_length=200, description='Words that must all occur; "a phrase", begin*.')
    limit: int = Field(20, ge=1, le=100)


class GoalText(FrozenModel):
    """The arguments of a new run."""

    goal: str = Field(min_length=1, max_length=_TEXT_CHARS, description="What is to be done, whole and in words.")


class Answer(RunChoice):
    """The arguments of an answer to a question."""

    question: str = Field(pattern=_NAME, description="The question's id, such as q1.")
    note: str = Field("", max_length=_TEXT_CHARS, description="What is to be changed; for `send_back` it is needed.")


@dataclass(frozen=True)
class McpTool:
    """A tool: its name and description, the model of its arguments, and the words of the verb for checked ones.

    One with a `permission` is only there if the user gave that. `stdin` returns what the verb reads.
    """

    name: str
    description: str
    arguments: type[FrozenModel]
    build_words: Callable[[Any], Sequence[str]]
    permission: Permission | None = None
    read_stdin: Callable[[Any], str] = lambda _arguments: ""


def _build_show_words(given: TaskChoice) -> Sequence[str]:
    return ["show", given.run, *([given.task] if given.task else []), "--no-pager"]


def _build_runs_words(given: RunsChoice) -> Sequence[str]:
    return ["runs", "--json", "--limit", str(given.limit), *(["--waiting"] if given.waiting else [])]


def _build_search_words(given: LogSearch) -> Sequence[str]:
    return ["logs", given.run, f"--search={given.query}", "--limit", str(given.limit), "--no-pager"]


def _build_note_words(given: Answer, option: str) -> Sequence[str]:
    return [f"{option}={given.note}"] if given.note else []


TOOLS: tuple[McpTool, ...] = (
    McpTool(
        "list_runs",
        "List the runs of this repository: state, age, cost, open questions.",
        RunsChoice,
        _build_runs_words,
    ),
    McpTool("get_status", "Tell where a run stands.", RunChoice, lambda given: ["status", given.run]),
    McpTool(
        "get_report",
        "Return the report of a run in Markdown.",
        RunChoice,
        lambda given: ["report", given.run, "--md", "-"],
    ),
    McpTool("show_task", "Tell why a task landed or not, or how the goal was judged.", TaskChoice, _build_show_words),
    McpTool("search_log", "Search what was said and done in a run.", LogSearch, _build_search_words),
    McpTool(
        "list_questions", "List what a run asks a person.", RunChoice, lambda given: ["inbox", given.run, "--json"]
    ),
    McpTool(
        "start_run",
        "Start a run that carries a goal to a pull request, in the background. It costs money and may take days.",
        GoalText,
        lambda _given: ["run", "-", "--detach", "--json"],
        "start",
        lambda given: given.goal,
    ),
    McpTool(
        "resume_run",
        "Go on with a run that stopped, in the background.",
        RunChoice,
        lambda given: ["resume", given.run, "--detach", "--json"],
        "start",
    ),
    McpTool(
        "approve",
        "Answer yes to a question of a run. Only if the person said so.",
        Answer,
        lambda given: ["approve", given.run, given.question, "--json"],
        "answer",
    ),
    McpTool(
        "reject",
        "Answer no to a question of a run. Only if the person said so.",
        Answer,
        lambda given: ["reject", given.run, given.question, *_build_note_words(given, "--reason"), "--json"],
        "answer",
    ),
    McpTool(
        "send_back",
        "Send back what a question of a run is about, with a note on what is to be changed.",
        Answer,
        lambda given: ["send-back", given.run, given.question, *_build_note_words(given, "--note"), "--json"],
        "answer",
    ),
    McpTool(
        "pause_run",
        "Stop a run at its next model call.",
        RunChoice,
        lambda given: ["pause", given.run, "--json"],
        "stop",
    ),
    McpTool(
        "continue_run", "Go on with a paused run.", RunChoice, lambda given: ["continue", given.run, "--json"], "stop"
    ),
)


def select_tools(allowed: frozenset[Permission]) -> dict[str, McpTool]:
    """Return the tools that look, and those that the user allows, by their names."""
    return {tool.name: tool for tool in TOOLS if tool.permission is None or tool.permission in allowed}
