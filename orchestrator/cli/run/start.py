"""`orchestrate run` and `orchestrate resume`."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import click

from orchestrator.cli import arguments
from orchestrator.run_control.prepared_engine import PreparedEngine

if TYPE_CHECKING:
    from orchestrator.domain.run.state import RunState
    from orchestrator.project.options import Options
    from orchestrator.run_control.control import RunLocation


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


class _StartArguments(arguments.VerbArguments):
    """The values of the options of `run`."""

    dry_run: bool
    plan_file: Path | None


@click.command("run", cls=GoalOrSubcommand)
@click.argument("goal")
@arguments.repository_options
@arguments.goal_options
@arguments.add_role_options(
    "planner, worker, judge, worker.VARIANT or judge.LENS.", "Attempts that run at the same time."
)
@click.option("--dry-run", is_flag=True, help="Let the planner plan, print the plan, change nothing.")
@click.option(
    "--plan", "plan_file", type=arguments.FILE, metavar="FILE", help="Begin with this plan; see `plan --edit`."
)
@arguments.detach_option
@arguments.run_options
def run_command(goal: str, **given: Unpack[_StartArguments]) -> None:
    """Carry GOAL through planner, workers and judge to a PR branch (`-` reads the goal from standard input).

    The work is done by an engine in a process of its own; this terminal only follows it. Ctrl-C once finishes what is
    running, twice stops at once; closing the terminal stops nothing.

    Your checkout is never touched: work happens in worktrees elsewhere, and only refs/orchestrate/* and the PR branch
    are new afterwards.

    \b
    orchestrate run "add OAuth login" --gate "python3 -m pytest -q"
    orchestrate run "add OAuth login" --must "python3 tools/check_docs.py" --criterion "docs: every option is explained"
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
    goal = arguments.read_goal(goal)
    if not goal:
        raise click.UsageError("the goal is empty")
    if given["dry_run"]:
        _print_plan(goal, given)
        return
    if given["plan_file"] is not None:
        from orchestrator.cli.run.plan_run import run_plan_file

        run_plan_file(goal, given["plan_file"], given)
    with PreparedEngine(given["repo"], given["state"]) as engine:  # it loads while this process does
        from orchestrator.cli.flags import build_options
        from orchestrator.cli.run_lifecycle import run_with_engine

        run_with_engine(partial(_create_run, build_options(given), goal, engine), given, engine)


def _print_plan(goal: str, given: "_StartArguments") -> None:
    from orchestrator.cli.flags import build_options
    from orchestrator.cli.run.plan import print_plan

    print_plan(build_options(given), goal, given["as_json"])


def _create_run(options: "Options", goal: str, engine: PreparedEngine) -> "tuple[RunLocation, RunState]":
    # It takes its time to load, and a mistake is told without it.
    import anyio

    from orchestrator.app.run_creation import create_goal_run
    from orchestrator.journal.state.derivation import read_state

    location = anyio.run(create_goal_run, options, goal, engine.load_models)
    return location, read_state(location.directory.journal)


_WORDS = {"export": "export_command", "import": "import_command"}


@click.command("resume")
@click.argument("run", required=False)
@arguments.repository_options
@arguments.resume_options
@arguments.json_option
def resume_command(run: str | None, **given: Unpack[arguments.VerbArguments]) -> None:
    """Go on with RUN (the latest by default) from wherever it stopped, also after kill -9.

    Nothing recorded is lost and nothing lands twice. A model call that was under way is made again. A run that ended
    because its work could not be judged is judged again.

    \b
    orchestrate resume
    orchestrate resume 7f3a --budget-usd 20
    """
    from orchestrator.cli.flags import build_rerun_options
    from orchestrator.cli.run_lifecycle import run_with_engine
    from orchestrator.cli.run_lookup import locate_named_run
    from orchestrator.run_control.control import prepare_resume

    run, given["repo"], given["state"] = locate_named_run(run, given["repo"], given["state"])
    run_with_engine(partial(prepare_resume, build_rerun_options(given), run), given)
