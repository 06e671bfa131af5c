"""`orchestrate completion`."""

import click

from orchestrator.cli.completion import COMPLETION_VARIABLE, PROGRAM

_PLACES = {
    "bash": "~/.local/share/bash-completion/completions/orchestrate",
    "zsh": "~/.zfunc/_orchestrate",
    "fish": "~/.config/fish/completions/orchestrate.fish",
}
"""Shell → the file in which it looks for completions; zsh needs its directory in `fpath`."""
_NOTES = {"zsh": "with `fpath+=~/.zfunc; autoload -Uz compinit; compinit` in ~/.zshrc"}


@click.command("completion")
@click.argument("shell", type=click.Choice(list(_PLACES)))
def completion_command(shell: str) -> None:
    """Print the script that completes verbs, options, runs, tasks and questions in SHELL.

    \b
    orchestrate completion bash > ~/.local/share/bash-completion/completions/orchestrate
    orchestrate completion zsh > ~/.zfunc/_orchestrate
    orchestrate completion fish > ~/.config/fish/completions/orchestrate.fish

    In zsh the directory has to be in fpath: put `fpath+=~/.zfunc; autoload -Uz compinit; compinit` into ~/.zshrc.
    A new shell knows the completions.
    """
    from click.shell_completion import get_completion_class

    kind = get_completion_class(shell)
    if kind is None:
        raise click.UsageError(f"no script for {shell} is known")
    command = click.get_current_context().find_root().command
    click.echo(kind(command, {}, PROGRAM, COMPLETION_VARIABLE).source().rstrip("\n"))
    note = _NOTES.get(shell, "")
    click.echo(f"# Save this as {_PLACES[shell]} {note}".rstrip())
