"""`orchestrate mcp`."""

from pathlib import Path

import click

from orchestrator.cli.arguments import DollarLimit, repository_options
from orchestrator.cli.run_lookup import find_checkout_root

_PERMISSIONS = ("start", "answer", "stop")


@click.command("mcp")
@click.option(
    "--allow",
    type=click.Choice(_PERMISSIONS),
    multiple=True,
    help="Beyond looking: start and resume runs, answer their questions, pause and continue them. Repeatable.",
)
@click.option("--budget-usd", type=DollarLimit(), metavar="USD", help="The budget of each run that is started.")
@repository_options
def mcp_command(*, allow: tuple[str, ...], budget_usd: float | str | None, repo: Path, state: str) -> None:
    """Serve the runs of a repository to a chat agent, by the Model Context Protocol on standard input and output.

    Without --allow it can only look. A client starts this command by itself; by hand it waits for one.

    \b
    orchestrate mcp --repo ~/src/shop
    orchestrate mcp --allow start --allow answer --budget-usd 5
    """
    import anyio

    from orchestrator.cli.mcp.server import serve_runs
    from orchestrator.cli.mcp.tools import PERMISSIONS, select_tools

    root = find_checkout_root(repo)
    place = ["--repo", str(root), *(["--state", str(Path(state).expanduser().absolute())] if state else [])]
    options = ["--budget-usd", str(budget_usd)] if budget_usd is not None else []
    allowed = frozenset(one for one in PERMISSIONS if one in allow)
    anyio.run(serve_runs, select_tools(allowed), place, options)
