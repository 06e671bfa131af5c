"""ast-grep: its program, and the command lines that search and rewrite with it in a sandbox."""

import shlex
import shutil
import sysconfig
from collections.abc import Sequence
from pathlib import Path

from orchestrator.domain.recipe.model import Recipe, Site
from orchestrator.domain.recipe.step import RewriteStep
from orchestrator.errors import EnvironmentProblem

PROGRAM = "ast-grep"
NO_MATCH_EXIT = 1
"""The exit code with which a search says that it found nothing."""


def locate_ast_grep() -> Path:
    """Return the absolute path of the program, which is installed with this package.

    Raises:
        EnvironmentProblem: it is not there.
    """
    if (program := find_ast_grep()) is None:
        raise EnvironmentProblem(
            f"the recipe uses ast-grep, and its program {PROGRAM} is neither beside {_scripts()}/python nor on PATH: "
            "install it with `pip install ast-grep-cli`"
        )
    return program


def find_ast_grep() -> Path | None:
    """Return the same path, or None."""
    beside = _scripts() / PROGRAM
    if beside.is_file():
        return beside
    other = shutil.which(PROGRAM)
    return Path(other).absolute() if other else None


def _scripts() -> Path:
    return Path(sysconfig.get_path("scripts"))


def list_needed_programs(recipe: Recipe) -> tuple[str, ...]:
    """Return what the sandbox has to hold beside the user's tools: a path, or none if nothing needs it.

    It is there for recipes that do not use it as well, where it is installed: a later revision may.

    Raises:
        EnvironmentProblem: it is needed and not installed.
    """
    uses_it = any(site.engine == "ast-grep" for site in recipe.scope.site)
    rewrites_by_it = any(step.kind == "rewrite" and not step.runs_in_process for step in recipe.step)
    program = locate_ast_grep() if uses_it or rewrites_by_it else find_ast_grep()
    return (str(program),) if program else ()


def build_search_command(site: Site, files: Sequence[str]) -> str:
    """Return a command line that prints each match in the files as one line of JSON.

    Exits with `NO_MATCH_EXIT` if there is none.

    Files whose names do not belong to the language, and files that are not UTF-8, are passed over by ast-grep.

    Raises:
        EnvironmentProblem: ast-grep is not installed.
    """
    words = (str(locate_ast_grep()), "run", "--json=stream", "--lang", site.language, "--pattern", site.pattern)
    return shlex.join((*words, "--", *files))


def build_rewrite_command(step: RewriteStep, files: Sequence[str], rule: str = "") -> str:
    """Return a command line that rewrites the files in place; it succeeds as well where nothing matches.

    Args:
        step: one with the engine `ast-grep`.
        files: paths from the root of the workspace.
        rule: the text of the step's rule, where it has one.

    Raises:
        EnvironmentProblem: ast-grep is not installed.
    """
    program = str(locate_ast_grep())
    if rule:
        return shlex.join((program, "scan", "--inline-rules", rule, "--update-all", "--", *files))
    words = (program, "run", "--lang", step.language, "--pattern", step.pattern, "--rewrite", step.rewrite or "")
    return shlex.join((*words, "--update-all", "--", *files)) + f" || test $? -eq {NO_MATCH_EXIT}"
