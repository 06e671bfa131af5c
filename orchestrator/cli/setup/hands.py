"""`orchestrate hands`."""

import json
import math
import shlex
import sys
from collections.abc import Iterator
from typing import Unpack

import anyio
import click

from orchestrator.app.hands_exec import open_sandbox_command
from orchestrator.cli import arguments
from orchestrator.cli.documents import HandsExecDocument
from orchestrator.cli.flags import build_options
from orchestrator.cli.output import CommandOutput, exit_with, print_lines, print_message, print_object, warn_if_unsafe
from orchestrator.domain.sandbox.tier import Tier
from orchestrator.errors import UsageProblem
from orchestrator.ports.hands import CommandEnding, CommandResult, PolicyExplanation
from orchestrator.project.options import Options

_CODES = {
    CommandEnding.TIMED_OUT: 124,
    CommandEnding.OUTPUT_LIMIT: 125,
    CommandEnding.LIMIT: 125,
    CommandEnding.KILLED: 137,
    CommandEnding.NOT_STARTED: 7,
}
"""The exit code when the command did not end by itself; 124 and 137 as timeout(1) does."""


@click.group("hands")
def hands_command() -> None:
    """Look into the sandbox that workers' commands run in.

    \b
    orchestrate hands exec -- python3 -m pytest -q
    """


def _require_finite_seconds(_ctx: click.Context, _param: click.Parameter, value: float | None) -> float | None:
    """Return the seconds as they are, unless they are no number or have no end."""
    if value is not None and not math.isfinite(value):
        raise click.BadParameter(f"{value} is no time limit: write a number of seconds, for example 60")
    return value


@hands_command.command("exec", context_settings={"ignore_unknown_options": True})
@click.argument("words", nargs=-1, metavar="-- CMD...", type=click.UNPROCESSED)
@click.option("--tier", type=click.IntRange(1, 3), default=1, show_default=True, help="What it may reach.")
@click.option(
    "--timeout",
    type=click.FloatRange(min=0, min_open=True),
    callback=_require_finite_seconds,
    metavar="SECONDS",
    help="Longest run.",
)
@click.option("--explain", is_flag=True, help="Print the policy: what stands where, variables, limits.")
@arguments.read_only_option
@arguments.no_sandbox_option
@arguments.repository_options
@arguments.config_options
@arguments.json_option
def exec_command(
    words: tuple[str, ...], *, tier: int, timeout: float | None, explain: bool, **given: Unpack[arguments.VerbArguments]
) -> None:
    """Run one command in the sandbox of a worker, and exit with its exit code.

    It runs in a checkout of HEAD that is thrown away afterwards. A single word is a line for the shell. Tiers: 1 no
    network, 2 your package registries, 3 the whole network. Leaves with 124 after the time limit, 125 after too much
    output or when it used up more than it may, 137 if it was killed, 7 if it could not be started.

    \b
    orchestrate hands exec -- ls -la ~
    orchestrate hands exec --tier 2 -- pip download --no-deps click
    orchestrate hands exec 'env | sort; cat /etc/passwd'
    orchestrate hands exec --explain
    """
    if not words and not explain:
        raise UsageProblem("nothing to run: write the command behind --, or ask for --explain alone")
    line = words[0] if len(words) == 1 else shlex.join(words)
    exit_with(anyio.run(_run_command, build_options(given), line, Tier(tier), timeout, explain, given["as_json"]))


async def _run_command(
    options: Options, line: str, tier: Tier, timeout_s: float | None, explain: bool, as_json: bool
) -> int:
    async with open_sandbox_command(options, line, tier, timeout_s, _print_notice) as command:
        warn_if_unsafe(command.explanation.unsafe)
        if explain and not as_json:
            print_lines(_render_policy(command.explanation))
        result = None
        if line:
            screen = CommandOutput(sys.stderr if as_json else sys.stdout)
            result = await command.run(screen.write_chunk)
            screen.finish_output()
    if as_json:
        print_object(_build_document(line, command.explanation if explain else None, result).as_object())
    return _choose_exit_code(result) if result else 0


async def _print_notice(text: str) -> None:
    print_message(text)


def _choose_exit_code(result: CommandResult) -> int:
    if result.ending == CommandEnding.EXITED and result.exit_code is not None:
        return result.exit_code
    print_message(f"the command was ended: {result.ending} after {result.seconds:.1f} s {result.detail}".rstrip())
    return _CODES[result.ending]


def _build_document(
    line: str, explanation: PolicyExplanation | None, result: CommandResult | None
) -> HandsExecDocument:
    if result is None:
        return HandsExecDocument(command=line, policy=explanation)
    fields = {**dict(result), "exit": _CODES.get(result.ending, result.exit_code)}
    return HandsExecDocument.model_validate({"command": line, "policy": explanation, **fields})


def _render_policy(explanation: PolicyExplanation) -> Iterator[str]:
    yield f"repository  {explanation.repository} (a workspace stands in its place)"
    yield f"policy      {explanation.policy}"
    for name, text in explanation.in_words.items():
        yield f"{name:11} {text}"
    yield "what stands where:"
    for mount in explanation.places:
        line = f"  {mount.kind:9}  {mount.path}"
        if mount.source not in ("", mount.path):
            line += f"  {mount.source}"
        yield line
    yield "variables that a command sees:"
    yield from (f"  {name}={text}" for name, text in sorted(explanation.variables.items()))
    yield "rules as hashed:"
    yield from (f"  {name} = {json.dumps(value)}" for name, value in explanation.rules.items())
