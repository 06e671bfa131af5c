"""`orchestrate prompts`."""

import difflib
from collections.abc import Iterator, Sequence
from pathlib import Path

import anyio
import click

from orchestrator.app.configured_prompts import load_configured_prompts
from orchestrator.cli.arguments import DIRECTORY, config_options, json_option
from orchestrator.cli.documents import PromptDiff, PromptDiffDocument, PromptDocument, PromptRow, PromptsDocument
from orchestrator.cli.flags import Flags
from orchestrator.cli.output import print_document
from orchestrator.cli.run_lookup import find_project_root
from orchestrator.config.layers import load_config
from orchestrator.config.model import Config
from orchestrator.errors import UsageProblem
from prompts import SHIPPED_PROMPTS, PromptSource
from prompts.loader import list_prompt_names

_SHIPPED = "shipped"


@click.group("prompts")
def prompts_command() -> None:
    """Show what the roles are told, and how your own prompts differ from the shipped ones.

    Yours lie in the directory that dir under [prompts] names, each under the name of the one that it replaces.

    \b
    orchestrate prompts show
    orchestrate prompts show worker > ~/prompts/worker.md
    orchestrate prompts diff
    """


@prompts_command.command("show")
@click.argument("name", required=False)
@click.option("--repo", type=DIRECTORY, default=Path(), help="The repository.")
@config_options
@json_option
def show_command(name: str | None, repo: Path, settings: tuple[str, ...], trust_project: bool, as_json: bool) -> None:
    """List the prompts, or print one as it is in force, with its head: a copy of it can be changed and used.

    \b
    orchestrate prompts show
    orchestrate prompts show worker
    orchestrate prompts show judge --set prompts.dir=~/prompts --json
    """
    config = load_config(find_project_root(repo), Flags(settings).values, trust_project=trust_project).config
    source = anyio.run(load_configured_prompts, config)
    if name is None:
        rows = tuple(_build_row(config, source, known) for known in list_prompt_names())
        lines = (f"{row.name:24} {row.version:>3}  {row.sha}  {row.source}" for row in rows)
        print_document(PromptsDocument(prompts=rows), lines, as_json)
        return
    _require_prompt(name)
    prompt, row = source.load_prompt(name), _build_row(config, source, name)
    inputs, text = tuple(sorted(prompt.inputs)), prompt.source
    print_document(PromptDocument(**dict(row), inputs=inputs, text=text), text.splitlines(), as_json)


@prompts_command.command("diff")
@click.argument("name", required=False)
@click.option("--repo", type=DIRECTORY, default=Path(), help="The repository.")
@config_options
@json_option
def diff_command(name: str | None, repo: Path, settings: tuple[str, ...], trust_project: bool, as_json: bool) -> None:
    """Print how the prompts in force differ from the shipped ones; nothing where they are the same.

    \b
    orchestrate prompts diff
    orchestrate prompts diff worker
    """
    config = load_config(find_project_root(repo), Flags(settings).values, trust_project=trust_project).config
    source = anyio.run(load_configured_prompts, config)
    names = [name] if name is not None else list_prompt_names()
    diffs = []
    for wanted in names:
        _require_prompt(wanted)
        if lines := list(_diff_prompt(config, source, wanted)):
            diffs.append(PromptDiff(name=wanted, diff="\n".join(lines) + "\n"))
    text = "".join(diff.diff for diff in diffs)
    print_document(PromptDiffDocument(prompts=tuple(diffs)), text.splitlines(), as_json)


def _build_row(config: Config, source: PromptSource, name: str) -> PromptRow:
    prompt = source.load_prompt(name)
    return PromptRow(name=name, version=prompt.version, sha=prompt.sha, source=_name_source(config, source, name))


def _name_source(config: Config, source: PromptSource, name: str) -> str:
    if name not in source.replaced:
        return _SHIPPED
    return str(Path(config.prompts.dir).expanduser() / f"{name}.md")


def _diff_prompt(config: Config, source: PromptSource, name: str) -> Iterator[str]:
    shipped, current = SHIPPED_PROMPTS.load_prompt(name), source.load_prompt(name)
    names = (f"{_SHIPPED}/{name}.md", _name_source(config, source, name))
    yield from difflib.unified_diff(_split_lines(shipped.source), _split_lines(current.source), *names, lineterm="")


def _split_lines(text: str) -> Sequence[str]:
    return text.split("\n")


def _require_prompt(name: str) -> None:
    known = list_prompt_names()
    if name not in known:
        raise UsageProblem(f"there is no prompt {name!r}; there are {', '.join(known)}")
