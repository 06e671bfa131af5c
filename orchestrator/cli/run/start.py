"""`orchestrate run`."""

from functools import partial
from typing import Any, Unpack

import anyio
import click

from orchestrator.cli.flags import Flags
from orchestrator.cli.options import (
    CommonArguments,
    ConfigArguments,
    ContractArguments,
    EngineLimitArguments,
    config_options,
    contract_options,
    detach_option,
    engine_limit_options,
    json_option,
    no_sandbox_option,
    read_goal,
    repository_options,
)
from orchestrator.cli.output import exit_with
from orchestrator.cli.run_lifecycle import run_with_engine
from orchestrator.cli.run_lookup import format_location_options
from orchestrator.domain.run.state import RunState
from orchestrator.journal.state.derivation import read_state
from orchestrator.project.options import Options
from orchestrator.run_control.location import RunLocation


class GoalOrSubcommand(click.Command):
    """A command whose first word may be one of a few that stand for a command of their own."""

    def make_context(
        self,
        info_name: str | None,
        args: list[str],
        parent: click.Context | None = None,
        **extra: Any,  # noqa: ANN401
    ) -> click.Context:
        """Return the context of the command that the first word selects."""
        if args and args[0] in _WORDS:
            from orchestrator.cli.run import transfer

            word: click.Command = getattr(transfer, _WORDS[args[0]])
            return word.make_context(f"{info_name} {args[0]}", args[1:], parent, **extra)
        return super().make_context(info_name, args, parent, **extra)


class RunArguments(CommonArguments, ConfigArguments, ContractArguments, EngineLimitArguments):
    """The values of the options that `run` and `ci run` share."""

    gate: str | None
    target: str | None
    models: tuple[str, ...]
    max_workers: int | None
    budget_usd: float | None
    approval: str | None
    unsafe_no_sandbox: bool


class _StartArguments(RunArguments):
    """The values of the options of `run`."""

    dry_run: bool
    detach: bool


@click.command("run", cls=GoalOrSubcommand)
@click.argument("goal")
@repository_options
@click.option("--gate", metavar="COMMAND", help="What a tree must pass before it may land, e.g. 'python -m pytest -q'.")
@contract_options
@click.option("--target", metavar="BRANCH", help="Branch the pull request is meant for.")
@click.option(
    "--model",
    "models",
    multiple=True,
    metavar="ROLE=MODEL",
    help="planner, worker, judge, worker.VARIANT or judge.LENS.",
)
@click.option("--max-workers", type=click.IntRange(1), help="Attempts that run at the same time.")
@click.option("--budget-usd", type=click.FloatRange(0), help="Hard stop for the cost of model calls.")
@click.option("--approval", type=click.Choice(["auto", "review", "pr"]), help="When to ask you, see [approval].")
@click.option("--dry-run", is_flag=True, help="Let the planner plan, print the plan, change nothing.")
@detach_option
@engine_limit_options
@no_sandbox_option
@config_options
@json_option
def run_command(goal: str, **given: Unpack[_StartArguments]) -> None:
    """Carry GOAL through planner, workers and judge to a PR branch (`-` reads the goal from standard input).

    The work is done by an engine in a process of its own; this terminal only follows it. Ctrl-C once finishes what is
    running, twice stops at once; closing the terminal stops nothing.

    Your checkout is never touched: work happens in worktrees elsewhere, and only refs/orchestrate/* and the PR branch
    are new afterwards.

    \b
    orchestrate run "add OAuth login" --gate "python -m pytest -q"
    orchestrate run "add OAuth login" --must "python tools/check_docs.py" --criterion "docs: every option is explained"
    orchestrate run - --budget-usd 5 --time-limit 2h < goal.md
    orchestrate run "port the parser" --model planner=anthropic/claude-opus-4-5 --model worker=openai/gpt-5-mini

    \b
    orchestrate run export RUN FILE               take a run to another machine (--help tells more)
    orchestrate run import FILE                   and go on with it there

    \b
    Exit codes: 0 done, 3 partial, 4 nothing landed, 2 usage, 5 limit reached and resumable, 6 waits for you
    or only models, providers or tests stood in the way, 7 environment or credentials, 8 locked, 75 provider down,
    130/143 stopped after a checkpoint.
    """
    goal = read_goal(goal)
    if not goal:
        raise click.UsageError("the goal is empty")
    options = build_run_options(given, given["time_limit"])
    if given["dry_run"]:
        from orchestrator.cli.run.plan import print_plan

        print_plan(options, goal, given["as_json"])
        return
    where = format_location_options(given["repo"], given["state"])
    exit_with(run_with_engine(partial(_create_run, options, goal), given["as_json"], where, given["detach"]))


def _create_run(options: Options, goal: str) -> tuple[RunLocation, RunState]:
    # It takes its time to load, and a mistake is told without it.
    from orchestrator.app.run_creation import create_goal_run

    location = anyio.run(create_goal_run, options, goal)
    return location, read_state(location.directory.journal)


def build_run_options(given: RunArguments, time_limit: float | None) -> Options:
    """Return the command's options as `Options`; `time_limit` is the run's, in seconds."""
    flags = Flags(given["settings"], given["state"])
    flags.set_models(given["models"])
    flags.add_criteria(given["criteria"], given["musts"])
    flags.set_value("gate.command", given["gate"])
    flags.set_value("pr.target", given["target"])
    flags.set_value("run.max_workers", given["max_workers"])
    flags.set_value("budget.usd", given["budget_usd"])
    flags.set_value("approval.mode", given["approval"])
    flags.set_value("run.time_limit_s", time_limit)
    flags.set_no_sandbox(given["unsafe_no_sandbox"])
    return Options(given["repo"], flags.values, given["read_only"], given["trust_project"])


_WORDS = {"export": "export_command", "import": "import_command"}
