"""ast-grep: where its program lies, and the command line that rewrites with it in a sandbox."""

import shlex
import shutil
import sysconfig
from collections.abc import Sequence
from pathlib import Path

from orchestrator.errors import EnvironmentProblem
from orchestrator.migrate.recipe import Step


def ast_grep_program() -> Path:
    """The absolute path of the program.

    Raises:
        EnvironmentProblem: it is not there.
    """
    beside = Path(sysconfig.get_path("scripts")) / "ast-grep"
    found = str(beside) if beside.is_file() else shutil.which("ast-grep")
    if not found:
        raise EnvironmentProblem("the recipe uses ast-grep, which is not installed: `pip install ast-grep-cli`")
    return Path(found).absolute()


def rewrite_line(step: Step, files: Sequence[str], rule: str = "") -> str:
    """A command line that rewrites the files in place; it succeeds as well where nothing matches.

    Raises:
        EnvironmentProblem: ast-grep is not installed.
    """
    program = str(ast_grep_program())
    if rule:
        return shlex.join((program, "scan", "--inline-rules", rule, "--update-all", "--", *files))
    words = (program, "run", "--lang", step.language, "--pattern", step.pattern, "--rewrite", step.rewrite or "")
    return shlex.join((*words, "--update-all", "--", *files)) + " || test $? -eq 1"
