"""`orchestrate run`."""

from functools import partial
from typing import Any

import anyio
import click

from orchestrator.cli.options import (
    add_criteria,
    add_models,
    config_options,
    contract_options,
    detach_option,
    disable_sandbox,
    engine_limit_options,
    json_option,
    no_sandbox_option,
    parse_settings,
    read_goal,
    repository_options,
)
from orchestrator.cli.output import exit_with
from orchestrator.cli.run_lifecycle import run_with_engine
from orchestrator.cli.run_lookup import format_location_options
from orchestrator.config.flag_values import set_nested_value
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
def run_command(goal: str, **given: Any) -> None:  # noqa: ANN401
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
    options = build_run_options(given)
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


def build_run_options(given: dict[str, Any]) -> Options:
    """Return the command's options as `Options`."""
    flags = parse_settings(given["settings"])
    add_models(given["models"], flags)
    add_criteria(given["criteria"], given["musts"], flags)
    for key, path in _FLAGS.items():
        if given[key] not in (None, ""):
            set_nested_value(flags, path, given[key])
    disable_sandbox(flags, given["unsafe_no_sandbox"])
    return Options(
        repository=given["repo"],
        flags=flags,
        read_only=given["read_only"],
        trust_project=given["trust_project"],
    )


_WORDS = {"export": "export_command", "import": "import_command"}
_FLAGS = {
    "state": ("state", "dir"),
    "gate": ("gate", "command"),
    "target": ("pr", "target"),
    "max_workers": ("run", "max_workers"),
    "budget_usd": ("budget", "usd"),
    "approval": ("approval", "mode"),
    "time_limit": ("run", "time_limit_s"),
}
