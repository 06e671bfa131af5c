"""`init`: draft a first AGENTS.md from what the repository's files show, where nothing speaks to agents yet."""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from anyio import to_thread
from pydantic import Field

from orchestrator.config.layers import load_config
from orchestrator.migrate.survey.findings import Findings, TestCommand
from orchestrator.project.options import Options, open_repository
from orchestrator.report.read_model import ReadModel
from orchestrator.scaffold.environment import survey_project
from orchestrator.scaffold.recipe_file import write_new_file

AGENTS_FILE = "AGENTS.md"
_OTHER_FILES = ("CLAUDE.md",)
_REPORT_PLACE = "{report}"
_LONGEST_ENTRY = 300
_HEAD = """# For agents that work on this project

"""


class AgentsFile(ReadModel):
    """A first AGENTS.md. It is not `written` while it is only proposed; `existing` is the file that speaks already."""

    file: Path
    is_written: bool = Field(alias="written")
    text: str
    existing: str | None = None


async def draft_agents_file(options: Options) -> AgentsFile:
    """Return a draft of the file, or the name of the one that is there already. Nothing is written.

    Raises:
        UsageProblem: it is no repository.
    """
    repository = await to_thread.run_sync(open_repository, options.repository)
    file = repository.root / AGENTS_FILE
    existing = await to_thread.run_sync(_find_existing, repository.root)
    if existing:
        return AgentsFile(file=file, is_written=False, text="", existing=existing)
    findings, _ = await survey_project(repository)
    loaded = await to_thread.run_sync(load_config, repository.root, options.values)
    text = render_agents_file(findings, loaded.config.gate.command)
    return AgentsFile(file=file, is_written=False, text=text)


async def write_agents_file(draft: AgentsFile) -> AgentsFile:
    """Write a draft; a file that is there by now is not overwritten.

    Raises:
        UsageProblem: there is one.
    """
    await to_thread.run_sync(write_new_file, draft.file, draft.text, False)
    return draft.model_copy(update={"is_written": True})


def _find_existing(root: Path) -> str | None:
    """Return the name of a file that speaks to agents already; a link that leads nowhere is one, too. Blocks."""
    for name in (AGENTS_FILE, *_OTHER_FILES):
        if os.path.lexists(root / name):
            return name
    return None


def render_agents_file(findings: Findings, gate: str = "") -> str:
    """Return the text of the file; `gate` is the configured command of the tests, empty for the one that was found."""
    return _HEAD + "\n".join((*_iterate_commands(findings, gate), "", *_iterate_layout(findings))).rstrip() + "\n"


def _iterate_commands(findings: Findings, gate: str) -> Iterator[str]:
    yield "## Commands"
    yield ""
    command = gate or _get_found_command(findings.command)
    if command:
        yield f"- Tests: {_quote_code(describe_for_people(command))}. They have to pass before a change is done."
    else:
        yield "- Tests: (the command was not found: write it here)"


def _get_found_command(command: TestCommand | None) -> str:
    if command is None:
        return ""
    return command.run.replace("{tests}", command.all)


def describe_for_people(command: str) -> str:
    """Return a gate's command without what only asks for its report."""
    words: list[str] = []
    for word in command.split():
        if _REPORT_PLACE not in word:
            words.append(word)
        elif word == _REPORT_PLACE and words and words[-1].startswith("-"):
            words.pop()
    return " ".join(words)


def _iterate_layout(findings: Findings) -> Iterator[str]:
    entries: Sequence[tuple[str, Sequence[str]]] = (
        ("Sources", findings.sources),
        ("Tests", findings.tests),
        ("Not ours, leave alone", findings.exclude),
        ("Dependencies are declared in", findings.manifests),
    )
    lines = [f"- Language: {findings.language}"] if findings.language else []
    for name, values in entries:
        if values:
            lines.append(f"- {name}: {', '.join(map(_quote_code, values))}")
    if lines:
        yield "## Layout"
        yield ""
        yield from lines


def _quote_code(text: str) -> str:
    """Return a text of the repository as code of one line: it ends nothing and hides nothing."""
    letters = []
    for letter in text[:_LONGEST_ENTRY]:
        letters.append(letter if letter.isprintable() and letter != "`" else "?")
    return f"`{''.join(letters)}`"
